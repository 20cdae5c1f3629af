"""What the training prints of an encoder: where the evidence stands by itself and in the plain hybrid."""

from __future__ import annotations

import numpy as np
from benchmarks.recall.data import training_project
from benchmarks.training.evaluate import measure
from benchmarks.training.projects import Project, Question, Record

from clew.recall.recent_vectors import Floats

OLD = Record("D-1", "decision", "2026-01-03T10:00", "ana", "superseded", "-", "Honey is sold in glasses of 500 grams.")
NEW = Record("D-2", "decision", "2026-02-03T10:00", "ben", "active", "D-1", "Customers get jars of 250 grams.")
OTHER = Record("R-1", "rule", "2026-01-02T10:00", "ana", "active", "-", "Hives are opened above fifteen degrees.")


class OfHoney:
    """An encoder that knows one subject."""

    id, dimensions = "honey", 2

    def embed(self, texts: list[str]) -> Floats:
        return np.array([[float("Honey" in text), 0.1] for text in texts], np.float32)

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self.embed([text])[0]
        return vector


def test_what_replaced_a_record_is_first_in_the_hybrid_and_not_by_the_encoder_alone() -> None:
    project = Project("bees", [OLD, OTHER, NEW], [Question("update", ("D-2",), ("D-1",), "Honey in which glasses?")])
    found = measure(OfHoney(), [training_project(project, "bees")])
    assert found == {"alone": "1.000 / 1.000 / 0.333", "hybrid": "1.000 / 1.000 / 1.000"}
