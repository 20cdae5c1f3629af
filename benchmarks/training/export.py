"""Exports trained weights to the file that Clew reads: `python -m benchmarks.training.export FROM [TO]`.

FROM is a folder with what `train` saved (`weights.npz`), or the `base.npz` of `prepare`, which needs PyTorch. TO is by
default the encoder of `packages/clew-memory-model`. Weights of matrix products are quantized to 8-bit integers. The
word table is not written: the encoder reads the one in `pairs.bin`.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew_memory_model import ENCODER

Floats = NDArray[np.float32]
LAYERS, HEADS = 6, 12
PRODUCTS = ("attention_output", "feed_up", "feed_down")
NORMS = ("attention_norm", "output_norm")


class WeightWriter:
    """Concatenated arrays, and the offset of each."""

    def __init__(self) -> None:
        self._arrays: dict[str, dict[str, object]] = {}
        self._data = bytearray()

    def put(self, name: str, array: Floats, type: str = "<f4") -> None:
        self._data += bytes(-len(self._data) % 64)
        self._arrays[name] = {"at": len(self._data), "shape": list(array.shape), "type": type}
        self._data += array.astype(type).tobytes()

    def linear(self, name: str, weights: Floats, bias: Floats) -> None:
        whole, scales = rounded(weights.T, 0)
        self.put(f"{name}.weights", whole, "|i1")
        self.put(f"{name}.scales", scales)
        self.put(f"{name}.bias", bias)

    def norm(self, name: str, scales: Floats, bias: Floats) -> None:
        self.put(f"{name}.scales", scales)
        self.put(f"{name}.bias", bias)

    def write(self, place: Path, **facts: object) -> None:
        head = json.dumps({**facts, "arrays": self._arrays}, separators=(",", ":")).encode()
        place.write_bytes(head + b" " * (-(len(head) + 1) % 64) + b"\n" + bytes(self._data))


def rounded(matrix: Floats, axis: int) -> tuple[Floats, Floats]:
    """Quantized integers from -127 to 127, and a scale for each column or row."""
    scales = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True) / 127, 1e-12)
    return np.round(matrix / scales), scales.squeeze(axis)


def state_from(place: Path) -> dict[str, Floats]:
    """The weights of the network by the names that `network.Network` gives them."""
    if place.is_file():
        from benchmarks.training.network import network_from

        return {name: item.detach().numpy() for name, item in network_from(place).state_dict().items()}
    saved = place / "weights.npz"
    if not saved.exists():
        raise SystemExit(f"{saved} is missing; benchmarks.training.train writes it")
    held = np.load(saved)
    return {name: held[name].astype(np.float32) for name in held.files}


def export(state: dict[str, Floats], place: Path) -> None:
    writer = WeightWriter()
    writer.put("positions", state["positions"])
    writer.put("segments", state["segments"])
    writer.norm("embedding_norm", *_ends(state, "embedding_norm"))
    for number in range(LAYERS):
        _export_layer(writer, state, number)
    writer.write(place, layers=LAYERS, heads=HEADS)


def _export_layer(writer: WeightWriter, state: dict[str, Floats], number: int) -> None:
    weights, bias = _ends(state, f"layers.{number}.query_key_value")
    size = len(bias) // 3
    # The query is scaled down here, so that no division is needed at inference.
    narrow = np.ones(len(bias), np.float32)
    narrow[:size] /= math.sqrt(size / HEADS)
    writer.linear(f"{number}.query_key_value", weights * narrow[:, None], bias * narrow)
    for name in PRODUCTS:
        writer.linear(f"{number}.{name}", *_ends(state, f"layers.{number}.{name}"))
    for name in NORMS:
        writer.norm(f"{number}.{name}", *_ends(state, f"layers.{number}.{name}"))


def _ends(state: dict[str, Floats], name: str) -> tuple[Floats, Floats]:
    return state[f"{name}.weight"], state[f"{name}.bias"]


if __name__ == "__main__":
    export(state_from(Path(sys.argv[1])), Path(sys.argv[2]) if sys.argv[2:] else ENCODER)
