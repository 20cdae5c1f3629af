"""What a line of a transcript says, whichever agent wrote it, and which session and project a file belongs to.

Codex writes `{"type": "session_meta", "payload": {...}}` and `{"type": "response_item", "payload": {"type": "message",
...}}`, formerly the payloads alone. Claude Code writes `{"type": "user", "sessionId": ..., "cwd": ..., "message":
{...}}` and `{"type": "summary", ...}`. A line is recognised by what it holds; any other line says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from clew.reasoning.transcripts.files import Allowance, lines, open_file
from clew.settings import project_root
from clew.surroundings import directory

_HINTS = (
    re.compile(r"<cwd>\s*([^<\n]{1,1000}?)\s*</cwd>"),
    re.compile(r"AGENTS\.md instructions for ([^\n<]{1,1000})"),
)
MOST_HINTS = 20


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str
    ts: str | None
    summary: bool = False


@dataclass(frozen=True, slots=True)
class SessionMark:
    """What a line tells about the session it belongs to."""

    id: str | None
    ts: str | None
    cwd: str | None
    hints: tuple[str, ...] = ()


def parse(line: bytes) -> dict[str, Any] | None:
    """The line as an object; None when it is broken or anything else."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def message(record: dict[str, Any]) -> Message | None:
    ts = _text(record.get("timestamp"))
    if record.get("type") == "summary" and isinstance(record.get("summary"), str):
        return Message("assistant", record["summary"], ts, summary=True)
    wrapped = record.get("message")
    inner: dict[str, Any] = wrapped if isinstance(wrapped, dict) else _payload(record)
    role, text = inner.get("role"), _content(inner.get("content"))
    if not isinstance(role, str) or not text:
        return None
    return Message(role, text, ts or _text(inner.get("timestamp")))


def session_mark(record: dict[str, Any]) -> SessionMark | None:
    if isinstance(record.get("sessionId"), str):
        return SessionMark(record["sessionId"], _text(record.get("timestamp")), _text(record.get("cwd")))
    payload = _payload(record)
    if record.get("type") == "session_meta" or _is_old_header(record):
        hints = path_hints(payload.get("instructions"))
        ts = _text(payload.get("timestamp")) or _text(record.get("timestamp"))
        return SessionMark(_text(payload.get("id")), ts, _text(payload.get("cwd")), hints)
    return None


def path_hints(text: Any) -> tuple[str, ...]:
    """Directories that a text names as the place of work."""
    if not isinstance(text, str):
        return ()
    found = [match.strip() for pattern in _HINTS for match in pattern.findall(text)]
    return tuple(dict.fromkeys(path for path in found if path.startswith(("/", "~")) or path[1:3] == ":\\"))[
        :MOST_HINTS
    ]


def _payload(record: dict[str, Any]) -> dict[str, Any]:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else record


def _is_old_header(record: dict[str, Any]) -> bool:
    return "type" not in record and "id" in record and ("instructions" in record or "timestamp" in record)


def _content(content: Any) -> str:
    """The text parts of a message; calls, results and pictures are left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, dict) and _is_text(part.get("type"))]
    return "\n".join(part for part in parts if isinstance(part, str))


def _is_text(kind: Any) -> bool:
    return kind in ("text", "input_text", "output_text")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


HEAD_BYTES = 256 << 10
HEAD_LINES = 40
EARLY = ("user", "developer")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    id: str | None
    ts: str | None
    cwd: str | None
    hints: tuple[str, ...]

    def works_below(self, prefix: str) -> bool:
        """Whether any sign of the place of work lies in this directory; without a prefix everything does."""
        folder = prefix.rstrip("/")
        return not prefix or any(
            place == folder or place.startswith(f"{folder}/") for place in (self.cwd, *self.hints) if place
        )

    def belongs_to(self, project: str) -> bool:
        """Whether it is a session of this project. A text may name any directory, so the recorded place decides."""
        places = (self.cwd,) if self.cwd else self.hints
        return any(place == project or place.startswith(f"{project}/") for place in places)

    def project(self) -> dict[str, str]:
        place = self.cwd or next(iter(self.hints), None)
        if place is None:
            return {"id": "unknown", "name": "unknown", "confidence": "low"}
        name = PurePosixPath(place.replace("\\", "/")).name or place
        return {"id": place, "name": name, "confidence": "high" if self.cwd else "medium"}

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "ts": self.ts}


def session_info(path: Path, allowance: Allowance) -> SessionInfo:
    """Read the first lines of a file, within the allowance."""
    id = ts = cwd = None
    hints: list[str] = []
    part = allowance.share(HEAD_BYTES)
    with open_file(path) as file:
        for line in lines(file, part):
            record = parse(line.raw)
            mark = session_mark(record) if record else None
            if mark is not None:
                id, ts, cwd = id or mark.id, ts or mark.ts, cwd or mark.cwd
                hints += mark.hints
            said = message(record) if record else None
            if said is not None and said.role in EARLY:
                hints += path_hints(said.text)
            if line.number >= HEAD_LINES:
                break
    part.ran_out = False  # the beginning is enough
    allowance.settle(part)
    return SessionInfo(id, ts, cwd, tuple(dict.fromkeys(hints)))


def default_prefix() -> str:
    """The project that this server works in."""
    return str(project_root(directory()))
