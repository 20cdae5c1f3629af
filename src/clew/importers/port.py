"""The port of importers: a source finds its files and reads them as candidates with provenance.

A source never writes, never follows a path out of its roots, and never gives up: what it cannot read it reports by file
and line, and goes on behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

CandidateKind = Literal["rule", "preference", "decision", "rejected", "lesson", "fact"]
LONGEST_FILE = 4 << 20


@dataclass(frozen=True)
class Provenance:
    """Where a candidate was found; `id` is the source's own name for it, such as a commit."""

    source: str
    path: str
    line: int = 0
    id: str = ""
    day: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place} ({self.id})" if self.id else place


@dataclass(frozen=True)
class Candidate:
    """A statement that may be worth keeping. It is a proposal until a person approves it."""

    kind: CandidateKind
    text: str
    origin: Provenance
    why: str = ""
    title: str = ""
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class CandidateStep:
    title: str
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskCandidate:
    """Work that another tool keeps as open. What it keeps as done is left there: nothing proves it here."""

    title: str
    steps: tuple[CandidateStep, ...]
    origin: Provenance
    description: str = ""


@dataclass(frozen=True)
class Malformed:
    """A place that could not be read."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}" if self.line else f"{self.path}: {self.problem}"


Finding = Candidate | TaskCandidate | Malformed


@dataclass(frozen=True)
class Roots:
    """Where sources may look: the project, and the home directory for what clients keep there of this project."""

    project: Path
    home: Path

    def shown(self, path: Path) -> str:
        """A path as provenance names it: relative to the project, else to the home directory."""
        for root, prefix in ((self.project, ""), (self.home, "~/")):
            if path.is_relative_to(root):
                return prefix + path.relative_to(root).as_posix()
        return path.as_posix()


class ImportSource(Protocol):
    name: str
    title: str

    def detect(self, roots: Roots) -> list[Path]:
        """The files or folders of this source that are there; reads no content."""
        ...

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        """The candidates of one of them, in the order of the file."""
        ...


def files_matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    """Regular files below the root, sorted, each once; a link out of the root is left alone."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and path.resolve().is_relative_to(root.resolve()):
                found.setdefault(path)
    return list(found)


def read_text(roots: Roots, path: Path) -> str | Malformed:
    """The text of a file; a reason where it cannot be read."""
    shown = roots.shown(path)
    data = read_bytes(roots, path, LONGEST_FILE)
    try:
        return data if isinstance(data, Malformed) else data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        return Malformed(shown, 0, f"is not UTF-8 at byte {problem.start}")


def read_bytes(roots: Roots, path: Path, most: int) -> bytes | Malformed:
    try:
        if path.stat().st_size > most:
            return Malformed(roots.shown(path), 0, f"larger than {most >> 20} MiB")
        return path.read_bytes()
    except OSError as problem:
        return Malformed(roots.shown(path), 0, problem.strerror or str(problem))
