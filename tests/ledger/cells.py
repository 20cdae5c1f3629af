"""Notebooks with code in them, and the processes that their cells leave."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Any

from tests.conftest import Caller


def made(call: Caller, *codes: str, **more: Any) -> tuple[str, list[str]]:
    """A notebook with code cells; returns its id and theirs."""
    notebook = call("notebook_create", name="Trial", **more)["notebookId"]
    cells = [call("notebook_add_cell", notebookId=notebook, type="code", content=code)["cell"]["id"] for code in codes]
    return notebook, cells


def ran(call: Caller, code: str, language: str = "typescript", /, **more: Any) -> dict[str, Any]:
    notebook, cells = made(call, code, language=language)
    return call("notebook_run_cell", notebookId=notebook, cellId=cells[0], **more)


def runtimes_below(parent: int) -> list[int]:
    """Processes that run a cell for a server, by id."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, owner = stat.read_text().rsplit(")", 1)[1].split()[:2]
            command = (stat.parent / "cmdline").read_text()
        except OSError:
            continue
        if int(owner) == parent and state != "Z" and ("deno" in command or "monty" in command):
            found.append(int(stat.parent.name))
    return found


def await_end(pid: int, seconds: float = 30) -> bool:
    """Whether a process that need not be our child ends in time."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], seconds)[0])
    finally:
        os.close(watched)
