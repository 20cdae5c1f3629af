"""Fictional projects with questions, written by hand for training: the format, and how it is read.

One file per project, tab-separated. A record is `id, kind, time, author, status, supersedes, text`; `Q` begins a
question (`Q, kind, evidence ids, stale ids, text`), `U` one that no record answers (`U, near ids, text`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).with_name("data")
HELD_OUT = "held_"
"""Projects whose file begins so are by other writers and are never trained on."""


@dataclass(frozen=True)
class Record:
    id: str
    kind: str
    time: str
    author: str
    status: str
    supersedes: str
    text: str


@dataclass(frozen=True)
class Question:
    kind: str
    evidence: tuple[str, ...]
    stale: tuple[str, ...]
    text: str


@dataclass
class Project:
    name: str
    records: list[Record] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    unanswerable: list[Question] = field(default_factory=list)


def read_project(path: Path) -> Project:
    project = Project(path.stem)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            _add_line(project, line.split("\t"))
    return project


def _add_line(project: Project, fields: list[str]) -> None:
    match fields:
        case ["Q", kind, evidence, stale, text]:
            project.questions.append(Question(kind, _ids(evidence), _ids(stale), text))
        case ["U", near, text]:
            project.unanswerable.append(Question("unanswerable", _ids(near), (), text))
        case [_, _, _, _, _, _, _]:
            project.records.append(Record(*fields))
        case _:
            raise ValueError(f"{project.name}: a line of {len(fields)} fields: {fields[0]!r}")


def _ids(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(part.strip() for part in text.split(","))


def training_projects() -> Iterator[Project]:
    for path in sorted(FOLDER.glob("*.txt")):
        if not path.name.startswith(HELD_OUT):
            yield read_project(path)


def held_out_projects() -> Iterator[Project]:
    for path in sorted(FOLDER.glob(f"{HELD_OUT}*.txt")):
        yield read_project(path)
