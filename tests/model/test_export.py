"""What the training writes is what Clew reads: the same weights, rounded to eight bits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.training.export import HEADS, LAYERS, export, state_from

from clew.model.files import WeightFile
from clew.model.transformer import Floats, transformer

SIZE, WIDE = 384, 1536
SHAPES = {"query_key_value": (3 * SIZE, SIZE), "attention_output": (SIZE, SIZE), "feed_up": (WIDE, SIZE)}
SHAPES["feed_down"] = (SIZE, WIDE)
NORMS = ("attention", "output")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights as `train` saves them."""
    chance, folder = np.random.default_rng(1), tmp_path_factory.mktemp("trained")
    shapes: dict[str, tuple[int, ...]] = {"positions": (256, SIZE), "segments": (3, SIZE)}
    for name in ("embedding_norm", *(f"layers.{at}.{norm}_norm" for at in range(LAYERS) for norm in NORMS)):
        shapes |= {f"{name}.weight": (SIZE,), f"{name}.bias": (SIZE,)}
    for name, shape in SHAPES.items():
        for at in range(LAYERS):
            shapes |= {f"layers.{at}.{name}.weight": shape, f"layers.{at}.{name}.bias": shape[:1]}
    state = {name: chance.standard_normal(shape, np.float32).astype(np.float16) for name, shape in shapes.items()}
    held: dict[str, Any] = state
    np.savez(folder / "weights.npz", **held)
    return folder


def test_weights_are_read_as_they_were_trained(trained: Path, tmp_path: Path) -> None:
    state = state_from(trained)
    export(state, tmp_path / "encoder.bin")
    read = transformer(WeightFile(tmp_path / "encoder.bin"))
    assert (len(read.layers), read.heads) == (LAYERS, HEADS)
    assert np.array_equal(read.segments, state["segments"])
    for at, layer in enumerate(read.layers):
        for name in SHAPES:
            linear, expected = getattr(layer, name), state[f"layers.{at}.{name}.weight"].copy()
            if name == "query_key_value":
                expected[:SIZE] /= math.sqrt(SIZE / HEADS)
            _is_rounded(linear.weights * linear.scales, expected.T, linear.scales)
        assert np.array_equal(layer.output_norm.scales, state[f"layers.{at}.output_norm.weight"])


def _is_rounded(found: Floats, expected: Floats, scales: Floats) -> None:
    assert (np.abs(found - expected) <= scales * 0.501).all()


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="weights"):
        state_from(tmp_path)
