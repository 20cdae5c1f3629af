"""Transcript files below a root: found, ordered and read line by line, within limits."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from clew.errors import ClewError, invalid, shorten
from clew.ids import CONTROL
from clew.surroundings import environment, home_directory, placed

LONGEST_LINE = 4 << 20
"""Longer lines are passed over: no message is that long, and one must not fill the memory."""
MOST_PLACES = 50_000
"""Most directory entries that one call looks at."""


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

    def share(self, most: int) -> Allowance:
        """A part of it for one file; `settle` takes what was used of it."""
        return Allowance(min(self.left, most))

    def settle(self, part: Allowance) -> None:
        self.take(part.used)
        self.ran_out = self.ran_out or part.ran_out


def default_roots() -> list[Path]:
    """Where agents keep their sessions on this machine, Codex first."""
    home, known = home_directory(), environment()
    codex, claude = known.get("CODEX_HOME"), known.get("CLAUDE_CONFIG_DIR")
    return [
        (Path(codex) if codex else home / ".codex") / "sessions",
        (Path(claude) if claude else home / ".claude") / "projects",
    ]


def root_directory(given: str | None, anywhere: bool) -> Path:
    """The directory to read. Only a person at this machine's shell may name one `anywhere`."""
    if given is not None:
        if not given.strip() or CONTROL.search(given):
            raise invalid("root_dir", "must be the path of a directory", kind="value")
        folder = placed(given)
        if not anywhere and not _is_of_an_agent(folder):
            raise _outside(given)
        return _directory(folder)
    for folder in default_roots():
        if folder.is_dir():
            return _directory(folder)
    names = " nor ".join(str(folder) for folder in default_roots())
    raise ClewError("NOT_FOUND", f"neither {names} exists", "Give root_dir, the directory that holds transcripts.")


def _is_of_an_agent(folder: Path) -> bool:
    """Whether a directory is one of those that agents keep their sessions in, or lies below one."""
    try:
        wanted = folder.resolve()
        return any(wanted.is_relative_to(known.resolve()) for known in default_roots())
    except (OSError, RuntimeError):
        return False


def _outside(given: str) -> ClewError:
    """The same whether the directory exists or not, so that nobody can feel for directories."""
    return ClewError(
        "NOT_FOUND",
        f"root_dir {shorten(given, 120)}: not a directory of agent sessions",
        "Leave root_dir out; only a call from this machine's shell (clew call) reads other directories.",
    )


def _directory(folder: Path) -> Path:
    try:
        resolved = folder.resolve(strict=True)
    except (OSError, RuntimeError) as problem:
        raise ClewError(
            "NOT_FOUND", f"root_dir {folder}: {_reason(problem)}", "Give a directory that exists."
        ) from None
    if not resolved.is_dir():
        raise invalid("root_dir", f"{folder} is not a directory", "Give a directory.")
    return resolved


def transcript_files(root: Path) -> tuple[list[TranscriptFile], bool]:
    """Every *.jsonl below the root, newest first; links are not followed. Says whether the search was cut short."""
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
        return []  # a directory that may not be read holds nothing for us


def _details(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _newest_first(found: list[tuple[int, str, TranscriptFile]]) -> list[TranscriptFile]:
    return [file for _, _, file in sorted(found, key=lambda item: (-item[0], item[1]))]


def open_file(path: Path) -> BinaryIO:
    """For reading; a file only, never a pipe or a device, which could block."""
    try:
        if not path.is_file():
            raise ClewError("NOT_FOUND", f"{path} is not a file", "Copy ref.path from a search or a digest.")
        return path.open("rb")
    except OSError as problem:
        raise ClewError("IO_ERROR", f"{path}: {_reason(problem)}", "Make the file readable.") from problem


def lines(file: BinaryIO, allowance: Allowance, number: int = 1) -> Iterator[Line]:
    """Lines from where the file stands, as far as the allowance goes. Overlong ones are left out."""
    while True:
        byte, most = file.tell(), min(LONGEST_LINE, allowance.left)
        raw = file.readline(most) if most > 0 else b""
        allowance.take(len(raw))
        if not raw or (len(raw) == most and not raw.endswith(b"\n") and _is_more(file)):
            # Out of bytes, at the end of the file, or in the middle of a long line.
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
