"""Loading many modules or records at once, faster."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """For what makes many objects that stay, such as imports of modules and the readings of thousands of statements:
    the collector would look through them again and again (an eighth of a start). It leaves them alone from then on;
    they end when nothing refers to them any more, as everything does."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@contextmanager
def collecting_later() -> Iterator[None]:
    """For a batch whose objects end with it and without a cycle: the collector would look through thousands of them for
    nothing, again and again. It runs as before when the batch is done."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """For imports of what does without these libraries where they are not installed; a later import gets it."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: the import system's own word for it
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)
