"""Loading many modules or records at once, faster."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Imports make objects that stay, yet the collector looks through them again and again: an eighth of a start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def collecting_later() -> Iterator[None]:
    """For a batch whose objects end without a cycle: the collector would look through thousands of them for nothing,
    again and again. What stays when the batch is done (readings that are kept) it leaves alone from then on; that ends
    when nothing refers to it any more, as everything does. All else is collected as before."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()
