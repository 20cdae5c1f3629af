"""The training of the encoder in small: two steps on two projects, and what Clew reads of what came out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.model.encoder import Encoder
from clew.model.files import WeightFile
from clew.model.transformer import transformer
from clew_memory_model import PAIRS

torch = pytest.importorskip("torch", reason="training needs PyTorch, which no test environment has by default")

from benchmarks.training.export import export, state_from  # noqa: E402
from benchmarks.training.network import LAYERS, PASSAGE, SIZE, WIDE, network_from  # noqa: E402
from benchmarks.training.prepare import ProjectTables, Texts, words_of  # noqa: E402
from benchmarks.training.projects import read_project  # noqa: E402
from benchmarks.training.train import Data, Options, train  # noqa: E402

PROJECT = """\
R-1\trule\t2026-01-02T10:00\tana\tactive\t-\tHives are opened above fifteen degrees only.
D-1\tdecision\t2026-01-03T10:00\tana\tsuperseded\t-\tHoney is sold in glasses of 500 grams.
D-2\tdecision\t2026-02-03T10:00\tben\tactive\tD-1\tHoney is sold in glasses of 250 grams.
F-1\tfact\t2026-02-04T10:00\tben\tactive\t-\tThe extractor holds nine frames.
Q\tparaphrase\tR-1\t-\tMay I look into the boxes on a cold day?
Q\tupdate\tD-2\tD-1\tWhich jar do customers get?
U\tF-1\tWho built the extractor?
"""


def drawn_layer(random: np.random.Generator, number: int) -> dict[str, Any]:
    at = f"encoder.layer.{number}."
    found: dict[str, Any] = {}
    squares = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    shapes = dict.fromkeys(squares, (SIZE, SIZE))
    shapes |= {"intermediate.dense": (WIDE, SIZE), "output.dense": (SIZE, WIDE)}
    for name, (rows, columns) in shapes.items():
        found[f"{at}{name}.weight"] = random.normal(0, 0.05, (rows, columns))
        found[f"{at}{name}.bias"] = np.zeros(rows)
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        found |= {f"{at}{name}.weight": np.ones(SIZE), f"{at}{name}.bias": np.zeros(SIZE)}
    return found


def write_drawn_base(folder: Path) -> None:
    """Weights drawn at random in the form of the base model, with the word table that Clew has."""
    random, file = np.random.default_rng(1), WeightFile(PAIRS)
    found: dict[str, Any] = {
        "embeddings.position_embeddings.weight": random.normal(0, 0.05, (256, SIZE)),
        "embeddings.token_type_embeddings.weight": random.normal(0, 0.05, (2, SIZE)),
        "embeddings.LayerNorm.weight": np.ones(SIZE),
        "embeddings.LayerNorm.bias": np.zeros(SIZE),
        "words": file.array("words"),
        "word_scales": file.array("word_scales"),
    }
    for number in range(LAYERS):
        found |= drawn_layer(random, number)
    folder.mkdir()
    np.savez(folder / "base.npz", **found)
    (folder / "words.json").write_text(json.dumps(file.facts["words"]))


def write_texts(folder: Path, project: Path) -> None:
    texts = Texts({word: at for at, word in enumerate(words_of(folder))})
    tables = ProjectTables(texts)
    for number in range(2):
        tables.add(number, read_project(project))
    arrays: dict[str, Any] = {**texts.arrays(), **tables.arrays()}
    np.savez(folder / "texts.npz", **arrays)


def test_two_steps_of_training_make_an_encoder_that_clew_reads_as_it_was_trained(tmp_path: Path) -> None:
    folder, out, project = tmp_path / "data", tmp_path / "out", tmp_path / "hives.txt"
    project.write_text(PROJECT, encoding="utf-8")
    write_drawn_base(folder)
    write_texts(folder, project)
    options = Options(steps=2, threads=1)
    network = network_from(folder / "base.npz")
    before = network.state_dict()["layers.5.feed_up.weight"].numpy().copy()
    train(folder, out, options)
    state = state_from(out)
    assert not np.allclose(state["layers.5.feed_up.weight"], before, atol=1e-5)

    export(state, tmp_path / "encoder.bin")
    encoder = Encoder(transformer(WeightFile(tmp_path / "encoder.bin")))
    network.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    data = Data(folder, options)
    with torch.no_grad():
        trained = network.eval().embed(*data.batch(data.record_texts[:4], PASSAGE, 0.0)).numpy()
    texts = [line.split("\t")[-1] for line in PROJECT.splitlines()[:4]]
    assert np.einsum("ij,ij->i", trained, encoder.passages(texts)).min() > 0.99
