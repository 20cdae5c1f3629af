"""Everything that the training reads, as numbers: `python -m benchmarks.training.prepare BASE OUT`.

BASE is a folder with the weights of all-MiniLM-L6-v2 (`model.safetensors`, `vocab.txt`). OUT gets `base.npz` (its
weights; the word table in whole numbers, because it is not trained), `words.json` and `texts.npz` (texts as numbers of
word pieces, and what belongs to what). Training then needs PyTorch and these files, no tokenizer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.training.projects import Project, training_projects
from clew.model.word_pieces import pieces

Arrays = dict[str, NDArray[Any]]
MOST_PIECES = 126
POSITIONS = 256


class Texts:
    """Each distinct text once, as numbers of word pieces."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary
        self._numbers: dict[str, int] = {}
        self.pieces: list[list[int]] = []

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.pieces)
            self.pieces.append(pieces(text, self._vocabulary)[:MOST_PIECES])
        return self._numbers[text]

    def arrays(self) -> Arrays:
        flat = np.array([number for text in self.pieces for number in text], np.uint16)
        ends = np.cumsum([len(text) for text in self.pieces])
        return {"pieces": flat, "ends": ends.astype(np.int32)}


def vocabulary_of(base: Path) -> dict[str, int]:
    """The words that `pairs.bin` has, in its order, with their rows in the base model's table."""
    words = (base / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return {word: at for at, word in enumerate(words) if word.isascii() and not word.startswith("[unused")}


def words_of(folder: Path) -> list[str]:
    words: list[str] = json.loads((folder / "words.json").read_text())
    return words


def base_weights(base: Path, rows: list[int]) -> Arrays:
    from safetensors.numpy import load_file

    weights = load_file(str(base / "model.safetensors"))
    table = weights.pop("embeddings.word_embeddings.weight").astype(np.float32)[rows]
    scales = np.abs(table).max(axis=1) / 127
    found = {
        name: array.astype(np.float16)
        for name, array in weights.items()
        if array.dtype.kind == "f" and not name.startswith("pooler")
    }
    positions = "embeddings.position_embeddings.weight"
    found[positions] = found[positions][:POSITIONS]
    return {**found, "words": np.round(table / scales[:, None]).astype(np.int8), "word_scales": scales}


class ProjectTables:
    """Records by project; questions with the rows of their evidence and of records that must not count against them."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._records: list[tuple[int, int]] = []
        self._questions: list[tuple[int, int]] = []
        self._evidence: list[tuple[int, int]] = []
        self._ignored: list[tuple[int, int]] = []

    def add(self, number: int, project: Project) -> None:
        first = len(self._records)
        row = {record.id: first + place for place, record in enumerate(project.records)}
        self._records += [(number, self._texts.number(record.text)) for record in project.records]
        versions = [{row[r.supersedes], row[r.id]} for r in project.records if r.supersedes in row]
        for question in project.questions:
            answers = {row[id] for id in question.evidence}
            others = {other for pair in versions if answers & pair for other in pair}
            others |= {row[id] for id in question.stale}
            asked = len(self._questions)
            self._questions.append((number, self._texts.number(question.text)))
            self._evidence += [(asked, answer) for answer in sorted(answers)]
            self._ignored += [(asked, other) for other in sorted(others - answers)]

    def arrays(self) -> Arrays:
        tables = {
            "records": self._records,
            "questions": self._questions,
            "evidence": self._evidence,
            "ignored": self._ignored,
        }
        return {name: np.array(rows, np.int32) for name, rows in tables.items()}


def prepare(base: Path, out: Path, projects: list[Project]) -> None:
    vocabulary = vocabulary_of(base)
    out.mkdir(parents=True, exist_ok=True)
    _save(out / "base.npz", base_weights(base, list(vocabulary.values())))
    texts = Texts({word: at for at, word in enumerate(vocabulary)})
    tables = ProjectTables(texts)
    for number, project in enumerate(projects):
        tables.add(number, project)
    _save(out / "texts.npz", {**texts.arrays(), **tables.arrays()})
    (out / "words.json").write_text(json.dumps(list(vocabulary)))


def _save(path: Path, arrays: dict[str, Any]) -> None:
    np.savez_compressed(path, **arrays)


def main(base: str, out: str) -> None:
    projects = list(training_projects())
    prepare(Path(base), Path(out), projects)
    questions = sum(len(project.questions) for project in projects)
    records = sum(len(project.records) for project in projects)
    print(f"{len(projects)} projects, {records} records, {questions} questions")


if __name__ == "__main__":
    main(*sys.argv[1:])
