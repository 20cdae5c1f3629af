"""Transcript files of agents: finding them below a root, reading their lines within limits, parsing each line.

Used by the operations transcripts_search, transcripts_digest and transcripts_open.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import orjson

from clew.canonical import Json
from clew.errors import ClewError, invalid, shorten
from clew.ids import CONTROL
from clew.settings import project_root
from clew.surroundings import directory, environment, home_directory, placed

LONGEST_LINE = 4 << 20
"""Longer lines are skipped: no message is that long, and one line must not fill the memory of the server."""
MOST_PLACES = 50_000
"""Maximum number of directory entries per call."""


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    path: Path
    name: str
    """Relative to the root, with forward slashes."""
    size: int


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    byte: int
    raw: bytes


@dataclass
class Allowance:
    """Bytes that may still be read in this call."""

    left: int
    used: int = 0
    ran_out: bool = False

    def take(self, count: int) -> None:
        self.used += count
        self.left -= count

    @contextmanager
    def share(self, most: int) -> Iterator[Allowance]:
        """A part of the allowance for one file; what the file used of it is deducted at the end."""
        part = Allowance(min(self.left, most))
        try:
            yield part
        finally:
            self.take(part.used)
            # Never cleared: a later file that fits must not hide that an earlier one was truncated.
            self.ran_out = self.ran_out or part.ran_out


def default_roots() -> list[Path]:
    """The directories where Codex and Claude Code keep their sessions on this machine, Codex first."""
    home, known = home_directory(), environment()
    codex, claude = known.get("CODEX_HOME"), known.get("CLAUDE_CONFIG_DIR")
    return [
        (Path(codex) if codex else home / ".codex") / "sessions",
        (Path(claude) if claude else home / ".claude") / "projects",
    ]


def root_directory(given: str | None, anywhere: bool) -> Path:
    """The directory to read. Only a call from this machine's shell may name any directory (`anywhere`)."""
    if given is not None:
        if not given.strip() or CONTROL.search(given):
            raise invalid("root_dir", "must be the path of a directory", kind="value")
        folder = placed(given)
        if not anywhere and not _is_agent_directory(folder):
            # Does not reveal whether it exists, so that a caller cannot probe.
            message = f"root_dir {shorten(given, 120)}: not a directory of agent sessions"
            recovery = "Leave root_dir out; only a call from this machine's shell (clew call) reads other directories."
            raise ClewError("NOT_FOUND", message, recovery)
        return _directory(folder)
    for folder in default_roots():
        if folder.is_dir():
            return _directory(folder)
    names = " nor ".join(str(folder) for folder in default_roots())
    raise ClewError("NOT_FOUND", f"neither {names} exists", "Give root_dir, the directory that holds transcripts.")


def _is_agent_directory(folder: Path) -> bool:
    """Whether a directory is one of `default_roots`, or inside of one."""
    try:
        # Resolved, because a link in an agent's directory may point anywhere. A loop of links raises RuntimeError.
        wanted = folder.resolve()
        return any(wanted.is_relative_to(known.resolve()) for known in default_roots())
    except (OSError, RuntimeError):
        return False


def _directory(folder: Path) -> Path:
    try:
        resolved = folder.resolve(strict=True)
    except (OSError, RuntimeError) as problem:
        message = f"root_dir {folder}: {_reason(problem)}"
        raise ClewError("NOT_FOUND", message, "Give a directory that exists.") from None
    if not resolved.is_dir():
        raise invalid("root_dir", f"{folder} is not a directory", "Give a directory.")
    return resolved


def transcript_files(root: Path) -> tuple[list[TranscriptFile], bool]:
    """Every *.jsonl below the root, newest first, and whether the search was cut short. Links are not followed."""
    found: list[tuple[int, str, TranscriptFile]] = []
    seen, folders = 0, [root]
    while folders:
        for entry in _entries(folders.pop()):
            seen += 1
            if seen > MOST_PLACES:
                return _newest_first(found), True
            details = _details(entry)
            if details is None:
                continue
            if stat.S_ISDIR(details.st_mode):
                folders.append(Path(entry.path))
            elif stat.S_ISREG(details.st_mode) and entry.name.endswith(".jsonl"):
                path = Path(entry.path)
                name = path.relative_to(root).as_posix()
                found.append((details.st_mtime_ns, name, TranscriptFile(path, name, details.st_size)))
    return _newest_first(found), False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return []  # a directory we may not read is treated as empty


def _details(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _newest_first(found: list[tuple[int, str, TranscriptFile]]) -> list[TranscriptFile]:
    # Ties on time are broken by name, so that the order is the same for every call.
    return [file for _, _, file in sorted(found, key=lambda item: (-item[0], item[1]))]


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading. A pipe or a device is refused, because reading it could block."""
    try:
        if not path.is_file():
            raise ClewError("NOT_FOUND", f"{path} is not a file", "Copy ref.path from a search or a digest.")
        return path.open("rb")
    except OSError as problem:
        raise ClewError("IO_ERROR", f"{path}: {_reason(problem)}", "Make the file readable.") from problem


def lines(file: BinaryIO, allowance: Allowance, number: int = 1) -> Iterator[Line]:
    """Lines from the file's position on, until the allowance is used up. Overlong lines are skipped but numbered."""
    while True:
        byte, most = file.tell(), min(LONGEST_LINE, allowance.left)
        raw = file.readline(most) if most > 0 else b""
        allowance.take(len(raw))
        if not raw or (len(raw) == most and not raw.endswith(b"\n") and _is_more(file)):
            # Three cases: the allowance is used up, the file has ended, or this line is too long.
            if not raw or allowance.left <= 0:
                allowance.ran_out = allowance.left <= 0 and _is_more(file)
                return
            _skip_line(file, allowance)
        else:
            yield Line(number, byte, raw)
        number += 1


def _is_more(file: BinaryIO) -> bool:
    here = file.tell()
    more = bool(file.read(1))
    file.seek(here)
    return more


def _skip_line(file: BinaryIO, allowance: Allowance) -> None:
    while allowance.left > 0:
        raw = file.readline(min(LONGEST_LINE, allowance.left))
        allowance.take(len(raw))
        if not raw or raw.endswith(b"\n"):
            return


def _reason(problem: Exception) -> str:
    return problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)


# The rest of this module parses lines: the message in a line, and which session and project a file belongs to.
#
# Codex writes `{"type": "session_meta", "payload": {...}}` and `{"type": "response_item", "payload": {"type":
# "message", ...}}`; older versions wrote the payloads alone. Claude Code writes `{"type": "user", "sessionId": ...,
# "cwd": ..., "message": {...}}` and `{"type": "summary", ...}`. A line is recognised by its keys; others are skipped.

_HINTS = (
    re.compile(r"<cwd>\s*([^<\n]{1,1000}?)\s*</cwd>"),
    re.compile(r"AGENTS\.md instructions for ([^\n<]{1,1000})"),
)
MOST_HINTS = 20


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    role: str
    text: str
    ts: str | None
    summary: bool = False


def parse(line: bytes) -> Json | None:
    """The line as an object; None if it is broken JSON or not an object."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def spoken_in(line: Line) -> TranscriptMessage | None:
    """The message that a line holds."""
    record = parse(line.raw)
    return message(record) if record else None


def message(record: Json) -> TranscriptMessage | None:
    ts = _text(record.get("timestamp"))
    if record.get("type") == "summary" and isinstance(record.get("summary"), str):
        return TranscriptMessage("assistant", record["summary"], ts, summary=True)
    wrapped = record.get("message")
    inner: Json = wrapped if isinstance(wrapped, dict) else _payload(record)
    role, text = inner.get("role"), _content(inner.get("content"))
    if not isinstance(role, str) or not text:
        return None
    return TranscriptMessage(role, text, ts or _text(inner.get("timestamp")))


def session_info_in(record: Json) -> SessionInfo | None:
    """The session, time and working directory that a line names."""
    if isinstance(record.get("sessionId"), str):
        return SessionInfo(record["sessionId"], _text(record.get("timestamp")), _text(record.get("cwd")))
    payload = _payload(record)
    # Older versions wrote the header alone.
    bare = "type" not in record and "id" in record and ("instructions" in record or "timestamp" in record)
    if record.get("type") == "session_meta" or bare:
        hints = path_hints(payload.get("instructions"))
        ts = _text(payload.get("timestamp")) or _text(record.get("timestamp"))
        return SessionInfo(_text(payload.get("id")), ts, _text(payload.get("cwd")), hints)
    return None


def path_hints(text: Any) -> tuple[str, ...]:
    """Directories that a text names as the working directory."""
    if not isinstance(text, str):
        return ()
    found = [match.strip() for pattern in _HINTS for match in pattern.findall(text)]
    paths = [path for path in found if path.startswith(("/", "~")) or path[1:3] == ":\\"]
    return tuple(dict.fromkeys(paths))[:MOST_HINTS]


def _payload(record: Json) -> Json:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else record


def _content(content: Any) -> str:
    """The text parts of a message, without tool calls, results and images."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = ("text", "input_text", "output_text")
    parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") in texts]
    return "\n".join(part for part in parts if isinstance(part, str))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# How much of a file is read to find its session and directory, which are in its first lines.
HEAD_BYTES = 256 << 10
HEAD_LINES = 40
EARLY = ("user", "developer")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    id: str | None = None
    ts: str | None = None
    cwd: str | None = None
    hints: tuple[str, ...] = ()

    def joined(self, other: SessionInfo) -> SessionInfo:
        """Merge fields from another line; existing values are kept."""
        hints = tuple(dict.fromkeys([*self.hints, *other.hints]))
        return SessionInfo(self.id or other.id, self.ts or other.ts, self.cwd or other.cwd, hints)

    def works_below(self, prefix: str) -> bool:
        """Whether the session worked below this directory, by its recorded directory or by a hint. '' matches all."""
        return not prefix or _any_below(prefix.rstrip("/"), (self.cwd, *self.hints))

    def belongs_to(self, project: str) -> bool:
        """Whether it is a session of this project. Any text can name a directory, so a recorded one has precedence."""
        return _any_below(project, (self.cwd,) if self.cwd else self.hints)

    def project(self) -> Json:
        """The session's project; `confidence` is of 100, by BranchMind's figures."""
        place = self.cwd or next(iter(self.hints), None)
        if place is None:
            return {"id": "unknown", "name": "unknown", "confidence": 0}
        name = PurePosixPath(place.replace("\\", "/")).name or place
        return {"id": place, "name": name, "confidence": 95 if self.cwd else 60}

    def to_json(self) -> Json:
        return {"id": self.id, "ts": self.ts}


def _any_below(folder: str, places: Iterable[str | None]) -> bool:
    return any(place == folder or place.startswith(f"{folder}/") for place in places if place)


def session_info(path: Path, allowance: Allowance) -> SessionInfo:
    """Read the session's id, time and directory from the first lines of a file."""
    found = SessionInfo()
    with allowance.share(HEAD_BYTES) as part:
        with open_file(path) as file:
            for line in lines(file, part):
                record = parse(line.raw) or {}
                found = found.joined(session_info_in(record) or SessionInfo())
                spoken = message(record)
                if spoken is not None and spoken.role in EARLY:
                    found = found.joined(SessionInfo(hints=path_hints(spoken.text)))
                if line.number >= HEAD_LINES:
                    break
        part.ran_out = False  # only the beginning was wanted, so nothing is missing
    return found


def default_prefix() -> str:
    """The directory of the project that this server works in."""
    return str(project_root(directory()))
