"""How tests wait: for something to happen, as long as a busy machine needs, and never for a guessed moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE = 120.0
"""Seconds for anything that takes a moment on a quiet machine. Whoever waits in vain fails, so more costs nothing."""


def until(
    look: Callable[[], Found | None], why: str = "it did not happen in time", patience: float = PATIENCE
) -> Found:
    """Look again and again, and return the first thing that counts as true."""
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, why
        time.sleep(0.02)
    return found
