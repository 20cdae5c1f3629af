"""Evaluates an encoder by itself and in the plain hybrid: `python -m benchmarks.training.evaluate [FOLDER [WEIGHTS]]`.

Without arguments it is the encoder that ships, run as Clew runs it. FOLDER holds what `prepare` wrote, WEIGHTS are
folders with what `train` saved (none: the base model); those run in PyTorch. Sets: the projects of the benchmarks, the
held-out projects, and BEAM and LoCoMo where CLEW_BEAM and CLEW_LOCOMO name them; CLEW_SETS names some of them. The
hybrid is that of `benchmarks/recall/hybrid.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_recall import CACHE
from benchmarks.recall.data import Collection, agentmem, beam, locomo, training_project
from benchmarks.recall.hybrid import hybrid, passage
from benchmarks.recall.locomo import DEPTHS, Search, Tally
from benchmarks.recall.vectors import KeptVectors
from benchmarks.report import Report
from benchmarks.training.prepare import words_of
from benchmarks.training.projects import held_out_projects
from clew.model.word_pieces import pieces
from clew.recall.models import Embedder, OwnEmbedder

DATA = Path(__file__).parents[1] / "data"
FIGURES = ("recall@5", "recall@10", "mrr@10")


def sets() -> Iterator[tuple[str, list[Collection]]]:
    for folder in ("agentmem", "projects", "young"):
        yield folder, agentmem(DATA / folder, folder)
    yield "held out", [training_project(project, "held out") for project in held_out_projects()]
    for shape in sorted((DATA / "shapes").glob("*.json")):
        yield shape.stem, agentmem(shape, shape.stem)
    for name, variable, reader in (("locomo", "CLEW_LOCOMO", locomo), ("beam", "CLEW_BEAM", beam)):
        if path := os.environ.get(variable):
            yield name, reader(Path(path))


class TrainedEncoder:
    """Weights that were not exported yet, in PyTorch."""

    dimensions = 384

    def __init__(self, folder: Path, weights: Path | None) -> None:
        import torch

        from benchmarks.training.network import network_from

        self.id = weights.name if weights is not None else "base"
        self._vocabulary = {word: at for at, word in enumerate(words_of(folder))}
        self._network = network_from(folder / "base.npz").eval()
        if weights is not None:
            held = np.load(weights / "weights.npz")
            state = {name: torch.tensor(held[name].astype(np.float32)) for name in held.files}
            self._network.load_state_dict(state)

    def embed(self, texts: list[str]) -> NDArray[Any]:
        from benchmarks.training.network import PASSAGE

        return np.stack([self._vector(text, PASSAGE) for text in texts])

    def embed_query(self, text: str) -> NDArray[Any]:
        from benchmarks.training.network import QUESTION

        return self._vector(text, QUESTION)

    def _vector(self, text: str, segment: int, most: int = 254) -> NDArray[Any]:
        import torch

        begin, end = self._vocabulary["[CLS]"], self._vocabulary["[SEP]"]
        ids = torch.tensor([[begin, *pieces(text, self._vocabulary)[:most], end]])
        with torch.no_grad():
            found = self._network.embed(ids, torch.full_like(ids, segment), torch.ones_like(ids, dtype=torch.bool))
        vector: NDArray[Any] = found[0].numpy()
        return vector


def nearest(collection: Collection, model: Embedder) -> Search:
    """By the encoder only."""
    records = collection.records
    vectors = model.embed([passage(record) for record in records])

    def search(query: str) -> list[str]:
        order = np.argsort(-(vectors @ model.embed_query(query)), kind="stable")[: DEPTHS[-1]]
        return [records[int(at)].id for at in order]

    return search


def measure(model: Embedder, collections: list[Collection]) -> dict[str, str]:
    """recall@5 / recall@10 / MRR@10 by itself and in the hybrid."""
    tallies = {"alone": Tally(), "hybrid": Tally()}
    for collection in collections:
        searches = {"alone": nearest(collection, model), "hybrid": hybrid(collection, model)}
        for question in collection.questions:
            for arm, search in searches.items():
                tallies[arm].add(collection.name, question, search(question.text))
    found = {arm: tally.summary() for arm, tally in tallies.items()}
    return {arm: " / ".join(f"{figures[name]:.3f}" for name in FIGURES) for arm, figures in found.items()}


def main(folder: str = "", *weights: str) -> None:
    names = (weights or ("",)) if folder else ()
    trained: list[Embedder] = [TrainedEncoder(Path(folder), Path(name) if name else None) for name in names]
    only = os.environ.get("CLEW_SETS")
    report = Report("encoder", "recall@5 / recall@10 / MRR@10 of the encoder")
    for encoder in trained or [OwnEmbedder()]:
        model = KeptVectors(encoder, CACHE)
        for name, collections in sets():
            if not only or name in only.split(","):
                report.row(encoder=model.id, set=name, **measure(model, collections))
                model.save()
    report.save()


if __name__ == "__main__":
    main(*sys.argv[1:])
