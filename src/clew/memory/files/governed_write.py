"""The frame of every governed write: hand edits in, one transaction, files out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from clew.errors import ClewError
from clew.hooks import HookPoint
from clew.memory.files.directory import directory_of
from clew.memory.files.sync import exclusive
from clew.registry.context import Context


@contextmanager
def governed_transaction(ctx: Context, numbered: str | None = None) -> Iterator[Context]:
    """Changes made inside are durable when the block ends, and rendered into the files.

    `numbered` is the file whose block ids are allocated inside; Mind-Mem, which allocates ids by file
    too, has to wait.
    """
    with _numbering(ctx, numbered), exclusive(ctx), ctx.writing() as bound:
        lay_out(bound)
        yield bound


def _numbering(ctx: Context, file: str | None) -> AbstractContextManager[None]:
    directory = directory_of(ctx)
    return nullcontext() if directory is None or file is None else directory.numbering(file)


laying_out: HookPoint[Callable[[Context], object]] = HookPoint("laying_out")
"""Before every governed write, in its transaction: the files that another program needs in the folder."""


def lay_out(ctx: Context) -> None:
    for prepare in laying_out.all():
        prepare(ctx)


@contextmanager
def failing(**shown: Any) -> Iterator[None]:
    """Add to an error the fields by which the seed's clients recognise it; `...` is replaced by the error message."""
    try:
        yield
    except ClewError as problem:
        said = {"message": problem.message, "log": f"refused: {problem.message}"}
        told = {name: said.get(name) if value is ... else value for name, value in shown.items()}
        problem.details = {**told, **problem.details}
        raise
