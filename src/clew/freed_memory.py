"""Giving freed memory back to the system, which the C library otherwise keeps for later."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    """`malloc_trim` of the C library; only GNU's has it, and only GNU's keeps so much freed memory."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None


def give_back() -> None:
    """Return freed memory to the system: loading a model leaves 65 MB behind, reading a large index as much."""
    trim = _trim()
    if trim is not None:
        trim(0)
