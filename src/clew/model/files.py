"""The files of weights: a line of JSON that says where each array is, then the numbers, mapped into memory."""

from __future__ import annotations

import math
import mmap
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLES, SAMPLE_BYTES = 64, 256


@cache
def file_id(place: Path) -> str:
    """Which weights a file holds: a digest of samples, so that the whole file need not be read. It needs no numpy."""
    data = _mapped(place)
    step = max(1, len(data) // SAMPLES)
    sampled = b"".join(data[at : at + SAMPLE_BYTES] for at in range(0, len(data), step))
    return sha256(sampled).hexdigest()[:16]


class WeightFile:
    def __init__(self, place: Path) -> None:
        self._data = _mapped(place)
        end = self._data.find(b"\n")
        self.facts = orjson.loads(self._data[:end])
        self._start = end + 1

    def array(self, name: str) -> NDArray[Any]:
        # Imported here: who asks for the id of a file only does not need numpy.
        import numpy as np

        place = self.facts["arrays"][name]
        count = math.prod(place["shape"])
        return np.frombuffer(self._data, place["type"], count, self._start + place["at"]).reshape(place["shape"])


def _mapped(place: Path) -> mmap.mmap:
    with place.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
