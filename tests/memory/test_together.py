"""Two servers and a person's editor on one workspace at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.memory import blocks
from clew.memory.files.markdown import parse_file
from tests.memory.conftest import Memory
from tests.memory.test_processes import WORKER, go

DECISIONS = "decisions/DECISIONS.md"
EDITOR = Path(__file__).with_name("editor.py")
EACH = 15


def start(script: Path, *arguments: str) -> subprocess.Popen[str]:
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started: subprocess.Popen[str] = subprocess.Popen([sys.executable, str(script), *arguments], text=True, **pipes)
    return started


@pytest.fixture
def flags(memory: Memory, database_flags: dict[str, Any]) -> str:
    return json.dumps({**{k: str(v) for k, v in database_flags.items()}, "memory_dir": str(memory.root)})


@pytest.fixture
def blocks_to_edit(memory: Memory) -> Iterator[list[str]]:
    """Decisions that stand in the file before anybody starts."""
    text = "".join(f"[D-20200101-{n:03d}]\nStatus: active\nStatement: Before {n}\n\n---\n\n" for n in range(10))
    memory.edit(DECISIONS, text)
    memory("list_proposals")
    yield [f"D-20200101-{n:03d}" for n in range(10)]


def test_an_editor_and_two_servers_lose_nothing(memory: Memory, flags: str, blocks_to_edit: list[str]) -> None:
    """Every save of the editor and every acknowledged apply is in the store and in the file at the end."""
    servers = [start(WORKER, flags, str(EACH), tag, "apply") for tag in ("left", "right")]
    editor = start(EDITOR, str(memory.root / DECISIONS), str(EACH), *blocks_to_edit)
    everybody = [*servers, editor]
    for process in everybody:
        go(process)
    told = [process.communicate(timeout=240) for process in everybody]  # the editor ends when both servers have
    assert [process.returncode for process in everybody] == [0, 0, 0], [err for _, err in told]
    heard = [json.loads(line) for out, _ in told[:2] for line in out.splitlines()]
    assert told[2][0], "the editor saved over what the servers wrote"
    saved = {item["block"]: item["text"] for item in map(json.loads, told[2][0].splitlines())}
    memory("scan")
    memory.agree()
    with memory.context().reading() as ctx:
        live = {block.id: block.get("Statement") for block in blocks.current(ctx, prefix="D")}
        undone = {item["undone"]["block_id"] for item in heard if "undone" in item}
        applied = {item["applied"]["block_id"] for item in heard if "applied" in item}
        assert applied - undone <= live.keys()
        assert not undone & live.keys()
        for id, text in saved.items():
            assert live[id] == text, "the person's last save is what counts"
            assert any(version.get("Statement") == text for version in blocks.history(ctx, id))
    assert len({part.id for part in parse_file(memory.read(DECISIONS)).parts}) == len(live)
    assert [path.name for path in (memory.root / "decisions").iterdir()] == ["DECISIONS.md"], "no drafts are left"
