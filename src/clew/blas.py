"""Keeps numpy's matrix products on the thread that asks for them.

OpenBLAS, which numpy's wheels bring along, divides even small products among all processors and lets its threads spin
while they wait. For the products here (a few hundred rows) that takes twice the processor time on a quiet machine and
ten times as much on a busy one, and it takes that time from the other calls.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from pathlib import Path

FOLDERS = ("../numpy.libs", ".libs", ".dylibs")
"""Where the wheels for Linux, Windows and macOS keep the library, seen from numpy's folder."""
SETTERS = ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "openblas_set_num_threads")


@cache
def use_one_thread() -> bool:
    """Whether the library was found. Another one, such as a system's own, keeps its threads."""
    found = False
    for library in _libraries():
        with suppress(OSError):
            found |= _limit(ctypes.CDLL(str(library)))
    return found


def _libraries() -> list[Path]:
    import numpy as np

    home = Path(np.__file__).parent
    return [file for folder in FOLDERS for file in sorted((home / folder).glob("*openblas*"))]


def _limit(library: ctypes.CDLL) -> bool:
    for name in SETTERS:
        setter = getattr(library, name, None)
        if setter is not None:
            setter(ctypes.c_int(1))
            return True
    return False
