"""Memory that was needed once and is free again: given back to the system instead of kept for later."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    """The C library's own way; only GNU's has it, and only GNU's needs it."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None


def give_back() -> None:
    """Loading a model leaves 65 MB behind, reading a large index row by row as much."""
    trim = _trim()
    if trim is not None:
        trim(0)
