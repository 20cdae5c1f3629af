"""Waiting for something outside of the store: a process, a client's model.

A call that waits does no work, and must not keep the others from theirs. It says so with `outside`, and the face that
lent it a thread may let another call run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    """What the face that runs a call offers to it; by itself a call runs alone and is never stopped."""

    left: Callable[[], None] = lambda: None
    """The call begins to wait: its place is free for another."""
    stopping: Callable[[], bool] = lambda: False
    """The server is about to end; whoever waits should stop."""


host: ContextVar[Host | None] = ContextVar("host", default=None)


@contextmanager
def outside() -> Iterator[Callable[[], bool]]:
    """Around a wait. Yields a function that says whether the server is about to end."""
    current = host.get() or Host()
    current.left()
    yield current.stopping
