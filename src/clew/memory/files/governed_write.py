"""The frame of every governed write: hand edits in, one transaction, files out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from clew.errors import ClewError
from clew.memory import validator
from clew.memory.files import places, plain_files
from clew.memory.files.directory import CONFIGURATION, KERNELS, directory_of
from clew.memory.files.sync import exclusive
from clew.memory.governance.policy import STATE_FILE, default_configuration_text, default_state_text
from clew.memory.kinds import TREE, preamble
from clew.registry.context import Context
from clew.store.database import placeholders


@contextmanager
def governed_transaction(ctx: Context, numbered: str | None = None) -> Iterator[Context]:
    """What is done inside is durable when the block ends, and shown in the files.

    `numbered` is the file for whose blocks numbers are drawn inside and by Mind-Mem too, which has to wait.
    """
    with _numbering(ctx, numbered), exclusive(ctx), ctx.writing() as bound:
        lay_out(bound)
        yield bound


def _numbering(ctx: Context, file: str | None) -> AbstractContextManager[None]:
    directory = directory_of(ctx)
    return nullcontext() if directory is None or file is None else directory.numbering(file)


def _named_for_mind_mem(ctx: Context) -> bool:
    """Whether whoever started the server named the folder in the variable that Mind-Mem reads."""
    return ctx.settings.origins.get("memory_dir") == "MIND_MEM_WORKSPACE"


def lay_out(ctx: Context) -> None:
    """Write what a folder lacks of the tree that Mind-Mem begins with, where that program uses it.

    Nothing that exists is touched, and elsewhere a file comes with the first block that it holds.
    """
    # Earlier versions wrote the default kernels here; with them Mind-Mem reads none of its own, and ranks otherwise.
    for path in plain_files.never_edited(ctx, KERNELS):
        plain_files.remove(ctx, path)
    if not (validator.applies(ctx) or _named_for_mind_mem(ctx)):
        return
    wanted: dict[str, Callable[[], str]] = {
        CONFIGURATION: default_configuration_text,
        STATE_FILE: default_state_text,
    }
    known = _ever(ctx, list(wanted))
    for path, text in wanted.items():
        if path not in known:
            plain_files.write(ctx, path, text(), "init")
    if STATE_FILE not in known:
        _lay_out_blocks(ctx)


def _lay_out_blocks(ctx: Context) -> None:
    known = {row["path"] for row in ctx.tx.all("SELECT path FROM block_file WHERE workspace = ?", ctx.workspace)}
    for path in TREE:
        if path not in known:
            places.set_preamble(ctx, path, preamble(path))


def _ever(ctx: Context, paths: list[str]) -> set[str]:
    """Which of these files the workspace has or ever had: what a person removed does not come back."""
    sql = f"SELECT DISTINCT path FROM plain_file WHERE workspace = ? AND path IN ({placeholders(len(paths))})"
    return {row["path"] for row in ctx.tx.all(sql, ctx.workspace, *paths)}


@contextmanager
def failing(**shown: Any) -> Iterator[None]:
    """A refusal carries the fields by which the seed's clients recognise it; `...` stands for what the refusal says."""
    try:
        yield
    except ClewError as problem:
        said = {"message": problem.message, "log": f"refused: {problem.message}"}
        told = {name: said.get(name) if value is ... else value for name, value in shown.items()}
        problem.details = {**told, **problem.details}
        raise
