"""The port of transcripts: a client finds its sessions of a project and reads them as steps.

A reader never writes and never gives up: a line that it cannot read is reported, and it goes on behind it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import orjson

from clew.surroundings import expanded

LONGEST_LINE = 32 << 20
"""Longer lines are left out: they hold pictures, not words."""


@dataclass(frozen=True, slots=True)
class ProjectPlaces:
    """Where transcripts are looked for: the project they are about, and the home directory of the clients."""

    project: Path
    home: Path

    @classmethod
    def of(cls, project: Path) -> ProjectPlaces:
        """Those of the caller."""
        return cls(project.resolve(), expanded("~"))

    def is_inside(self, directory: object) -> bool:
        """Whether a session that ran in this directory belongs to the project."""
        if not isinstance(directory, str) or not directory:
            return False
        project = str(self.project)
        return directory == project or directory.startswith(project + os.sep)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file, or a part of a database, that holds one session."""

    client: str
    path: Path
    session: str
    size: int
    """Bytes of the file, or another number that grows whenever something is added."""
    is_bytes: bool = True
    """Whether the size is one of bytes, which can be shown and added up."""

    @property
    def key(self) -> str:
        return f"{self.path}#{self.session}"


@dataclass(frozen=True, slots=True)
class SessionMessage:
    role: Literal["prompt", "answer", "summary"]
    text: str
    ts_ms: int = 0
    uid: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call. Its result comes as another step, perhaps much later."""

    id: str
    kind: Literal["command", "edit"]
    text: str
    files: tuple[str, ...] = ()
    ts_ms: int = 0


@dataclass(frozen=True, slots=True)
class ToolResult:
    id: str
    output: str
    exit_code: int | None = None
    """None where the client does not say."""


@dataclass(frozen=True, slots=True)
class UnreadableStep:
    problem: str


Step = SessionMessage | ToolCall | ToolResult | UnreadableStep


@dataclass(frozen=True, slots=True)
class Reading:
    """A step with its position, and the position from which reading can resume."""

    place: int
    end: int
    step: Step


class TranscriptSource(Protocol):
    name: str
    title: str

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        """The sessions of this project that are there, without reading them whole."""
        ...

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        """The steps behind a place that an earlier reading ended at; 0 is the beginning."""
        ...


@dataclass(frozen=True, slots=True)
class JsonLine:
    place: int
    end: int
    value: dict[str, Any] | None
    """None where the line is no JSON object."""


def json_lines(path: Path, start: int) -> Iterator[JsonLine]:
    """The whole lines behind a place. The last line is left for the next time while its end is still missing."""
    with path.open("rb") as file:
        file.seek(start)
        place = start
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            end = place + len(raw)
            if raw.strip() and len(raw) <= LONGEST_LINE:
                yield JsonLine(place, end, _object(raw))
            place = end


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def first_object(path: Path) -> dict[str, Any]:
    """The first line of a file of JSON lines; empty where there is none."""
    try:
        return next((line.value for line in json_lines(path, 0) if line.value), {})
    except OSError:
        return {}


def files_below(folder: Path, pattern: str) -> Iterator[tuple[Path, int]]:
    """Regular files with their sizes, sorted by name; links are not followed."""
    for path in sorted(folder.glob(pattern)):
        try:
            if path.is_file() and not path.is_symlink():
                yield path, path.stat().st_size
        except OSError:
            continue  # it was deleted meanwhile


def milliseconds(value: object) -> int:
    """A time as clients write it: ISO 8601, or a number of seconds or milliseconds. 0 where it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if value > 100_000_000_000 else int(value * 1000)
    if not isinstance(value, str):
        return 0
    try:
        return int(datetime.fromisoformat(value).timestamp() * 1000)
    except ValueError:
        return 0


def text_of(content: object) -> str:
    """The words of a message, whose parts may be plain texts or objects with a text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content"))
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in content)))
    return ""
