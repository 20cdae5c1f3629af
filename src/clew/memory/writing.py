"""The frame of every governed write: hand edits in, one transaction, files out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.errors import ClewError
from clew.memory import layout
from clew.memory.sync import publish, sync
from clew.registry.context import Context


@contextmanager
def governed(ctx: Context) -> Iterator[Context]:
    """What is done inside is durable when the block ends, and shown in the files."""
    sync(ctx)
    with ctx.writing() as bound:
        layout.ensure(bound)
        yield bound
    publish(ctx)


@contextmanager
def failing(**shown: Any) -> Iterator[None]:
    """A refusal carries the fields by which the seed's clients recognise it."""
    try:
        yield
    except ClewError as problem:
        problem.details = {**shown, **problem.details}
        raise
