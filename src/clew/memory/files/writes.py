"""The frame of every governed write: hand edits in, one transaction, files out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.errors import ClewError
from clew.memory.files import places, plain_files
from clew.memory.files.sync import publish, sync
from clew.memory.governance.policy import STATE_FILE, default_state_text
from clew.memory.kernel_defaults import DEFAULTS, kernel_text
from clew.memory.kinds import TREE, preamble
from clew.registry.context import Context


@contextmanager
def governed(ctx: Context) -> Iterator[Context]:
    """What is done inside is durable when the block ends, and shown in the files."""
    sync(ctx)
    with ctx.writing() as bound:
        lay_out(bound)
        yield bound
    publish(ctx)


def lay_out(ctx: Context) -> None:
    """Write the tree that a new workspace begins with. Nothing that exists is touched."""
    sql = "SELECT 1 FROM plain_file WHERE workspace = ? AND path = ? LIMIT 1"
    if ctx.tx.value(sql, ctx.workspace, STATE_FILE) is not None:
        return
    known = {row["path"] for row in ctx.tx.all("SELECT path FROM block_file WHERE workspace = ?", ctx.workspace)}
    for path in TREE:
        if path not in known:
            places.set_preamble(ctx, path, preamble(path))
    for name in DEFAULTS:
        if not plain_files.text(ctx, f"mind/{name}.mind"):
            plain_files.write(ctx, f"mind/{name}.mind", kernel_text(name), "init")
    plain_files.write(ctx, STATE_FILE, default_state_text(), "init")


@contextmanager
def failing(**shown: Any) -> Iterator[None]:
    """A refusal carries the fields by which the seed's clients recognise it."""
    try:
        yield
    except ClewError as problem:
        problem.details = {**shown, **problem.details}
        raise
