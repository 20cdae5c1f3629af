"""Example requests for each operation, and their vectors.

The examples are in `wishes.txt`. Their vectors are computed with the index (`clew.registry.build`), because that
takes seconds; if the file of vectors is missing or from another model, the process computes its own.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from clew.canonical import digest
from clew.model.encoder import encoder, encoder_id
from clew.model.files import WeightFile
from clew.model.transformer import Floats
from clew.registry.catalogue import catalogue

Bytes = NDArray[np.int8]

VECTORS = Path(__file__).with_name("wish_vectors.bin")
_ARRAY = "vectors"
_STEPS = 127


class ExampleWish(NamedTuple):
    operation: str
    text: str


@cache
def wishes() -> tuple[ExampleWish, ...]:
    """Each operation's summary and its example requests."""
    summaries = [ExampleWish(entry.name, entry.summary) for entry in catalogue().operations]
    return (*summaries, *_written())


def _written() -> list[ExampleWish]:
    found: list[ExampleWish] = []
    operation = ""
    for line in files("clew.registry").joinpath("wishes.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            found.append(ExampleWish(operation, line.strip()))
        elif not line.startswith("#"):
            operation = line
    return found


@cache
def wish_vectors() -> Floats:
    """A unit vector for each example, in the same order."""
    rows = _stored() if VECTORS.is_file() else None
    found = (_made() if rows is None else rows).astype(np.float32)
    unit: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def write_vectors() -> bool:
    """Write the file of vectors, unless it is current."""
    if VECTORS.is_file() and _stored() is not None:
        return False
    rows = _made()
    array = {"type": rows.dtype.name, "shape": rows.shape, "at": 0}
    VECTORS.write_bytes(orjson.dumps({"id": _id(), "arrays": {_ARRAY: array}}) + b"\n" + rows.tobytes())
    return True


def _stored() -> Bytes | None:
    file = WeightFile(VECTORS)
    return file.array(_ARRAY) if file.facts["id"] == _id() else None


def _made() -> Bytes:
    """8-bit numbers: a quarter of the size, and no example ranks differently for it."""
    found = encoder().passages([wish.text for wish in wishes()])
    steps: Bytes = np.rint(found * (_STEPS / np.abs(found).max(axis=1, keepdims=True))).astype(np.int8)
    return steps


def _id() -> str:
    return digest("\n".join([encoder_id(), *(f"{wish.operation}: {wish.text}" for wish in wishes())]), 16)
