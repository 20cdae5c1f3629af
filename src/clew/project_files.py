"""The files of a project: as git sees them, their digests, and whether they are still what they were.

The content decides. Size, times and inode only save reading: a file whose stamp is the recorded one was not written
since, because every write sets the change time, and no program can set that time back.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from clew.canonical import sha256_hex

MOST_FILES = 10_000
MOST_BYTES = 50_000_000
"""Larger files are not read: their stamp represents their content, so that touching one counts as a change."""
FRESH_NS = 100_000_000
"""Kernels round times to some milliseconds. A file changed less than this ago may change again under the same stamp."""

Stamp = list[int]


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """Files as they were: digests by path, and stamps by which an untouched file is known without reading it."""

    files: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)


def take_snapshot(root: Path, paths: Iterable[str]) -> FileSnapshot:
    """The files below `root` that can be read, at most MOST_FILES of them."""
    files: dict[str, str] = {}
    stamps: dict[str, Stamp] = {}
    for path in sorted(path for path in set(paths) if _is_text(path)):
        if len(files) >= MOST_FILES:
            break
        stamp = _stamp(root, path)
        digest = _digest(root, path, stamp) if stamp is not None else None
        if stamp is None or digest is None:
            continue
        files[path] = digest
        # A fresh stamp is not kept, so the next look reads the file: a second write in the same tick would not show.
        if _settled(stamp):
            stamps[path] = stamp
    return FileSnapshot(files, stamps)


CHANGED = "changed while the command ran"
"""In place of a digest: what the file held when the command read it is not known, so nothing equals it."""


class FilesBefore:
    """Files of a project before a command runs. What is saved while it runs was not what it saw."""

    def __init__(self, root: Path, worked_on: Iterable[str], others: Iterable[str] = ()) -> None:
        """Only what was worked on is read; of the others it is enough to know whether they were touched."""
        self._root = root
        self._files = take_snapshot(root, worked_on).files
        self._stamps = {path: _stamp(root, path) for path in others if path not in self._files}

    def covered(self, paths: Iterable[str]) -> FileSnapshot:
        """These files after the run, those that changed meanwhile as they were before it."""
        wanted = set(paths)
        after = take_snapshot(self._root, wanted)
        was = {path: digest for path, digest in self._files.items() if path in wanted}
        was |= {path: CHANGED for path in wanted & self._stamps.keys() if self._touched(path)}
        stamps = {
            path: stamp for path, stamp in after.stamps.items() if was.get(path, after.files[path]) == after.files[path]
        }
        return FileSnapshot({**after.files, **was}, stamps)

    def _touched(self, path: str) -> bool:
        return _stamp(self._root, path) != self._stamps[path]


def changed_files(root: Path, files: Mapping[str, str], stamps: Mapping[str, Stamp]) -> list[str]:
    """The files that are gone or hold something else than they did."""
    base = str(root)
    found = []
    for path, digest in files.items():
        stamp = _stamp(base, path)
        # The digest is read only where the stamp differs: ten thousand untouched files cost their stats.
        if stamp is None or (stamp != stamps.get(path) and _digest(base, path, stamp) != digest):
            found.append(path)
    return found


def _is_text(path: str) -> bool:
    """Whether a name can be kept: one that is not UTF-8 comes with half a surrogate pair for each odd byte."""
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


def is_inside(path: str) -> bool:
    """Whether a relative path stays below its root by its form alone."""
    return bool(path) and not path.startswith("/") and ".." not in path.split("/")


def git_head(root: Path) -> str | None:
    """The commit that is checked out, read without starting git; None where there is no repository."""
    try:
        folder = _git_folder(root)
        head = (folder / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return head or None
        return _ref(folder, head.removeprefix("ref:").strip())
    except OSError:
        return None


def checkout_stamp(root: Path) -> str:
    """Changes whenever git writes files of the work tree: it notes each in its index. Without starting git."""
    try:
        folder = _git_folder(root)
        index = (folder / "index").stat()
        return f"{(folder / 'HEAD').read_text().strip()} {index.st_mtime_ns} {index.st_size} {index.st_ino}"
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class LastCommit:
    commit: str
    subject: str
    ts_ms: int


_REFLOG = re.compile(r"\S+ (?P<new>[0-9a-f]{40,64}) .*> (?P<time>\d+) [+-]\d{4}\t(?P<what>.*)")
_REFLOG_TAIL = 4_096


def last_commit(root: Path) -> LastCommit | None:
    """What was committed or checked out last here, read from git's own log of it without starting git."""
    try:
        with (_git_folder(root) / "logs" / "HEAD").open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - _REFLOG_TAIL))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    found = next((match for line in reversed(lines) if (match := _REFLOG.fullmatch(line))), None)
    if found is None or not found["what"].startswith("commit"):
        return None
    subject = found["what"].partition(": ")[2]
    return LastCommit(found["new"], subject, int(found["time"]) * 1_000)


def _git_folder(root: Path) -> Path:
    """`.git`, which is a file that names the folder in worktrees and submodules."""
    place = root / ".git"
    if place.is_dir():
        return place
    named = place.read_text().partition("gitdir:")[2].strip()
    return (root / named).resolve()


def _ref(folder: Path, name: str) -> str | None:
    common = folder / "commondir"
    folders = [folder, (folder / common.read_text().strip()).resolve()] if common.is_file() else [folder]
    for place in folders:
        if (place / name).is_file():
            return (place / name).read_text().strip()
    for place in folders:
        packed = place / "packed-refs"
        for line in packed.read_text().splitlines() if packed.is_file() else ():
            if line.endswith(f" {name}"):
                return line.split(" ")[0]
    return None


def _stamp(root: Path | str, path: str) -> Stamp | None:
    try:
        seen = os.stat(f"{root}/{path}")  # noqa: PTH116  ten thousand Path objects would cost half of the time
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None  # a folder holds nothing itself, and reading a pipe or a device may never end
    return [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino]


def _settled(stamp: Stamp) -> bool:
    return abs(time.time_ns() - stamp[2]) > FRESH_NS


def _digest(root: Path | str, path: str, stamp: Stamp) -> str | None:
    if stamp[0] > MOST_BYTES:
        return f"stamp:{'-'.join(map(str, stamp))}"
    name = f"{root}/{path}"
    return _digest_once(name, tuple(stamp)) if _settled(stamp) else _digest_now(name)


@lru_cache(maxsize=50_000)
def _digest_once(name: str, stamp: tuple[int, ...]) -> str | None:
    return _digest_now(name)


def _digest_now(name: str) -> str | None:
    try:
        return f"sha256:{sha256_hex(Path(name).read_bytes())}"
    except OSError:
        return None


_SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".tox"})


@dataclass(frozen=True, slots=True)
class RunScope:
    """What a run may cover. Asked before the run, so that what the command writes by the way is not taken for work."""

    listed: tuple[str, ...]
    """The files of the project."""
    named: tuple[str, ...] | None
    """Those that the globs name; None without globs."""
    changed: tuple[str, ...]
    """Those changed since the step began."""

    def covered(self, opened: set[str] | None) -> list[str]:
        """The files that a run covers: those that the globs name, else those that it opened, else the changed ones.

        A run that opened none of the changed files, such as a test of what was built before, covers these too. When
        nothing is known, all files count: a proof that covers nothing would never become stale.
        """
        if self.named is not None:
            return list(self.named)
        if not opened:
            return list(self.changed or self.listed)
        # Nothing of what was worked on was opened: then the run may rest on something built from it, which is not
        # known.
        apart = opened.isdisjoint(self.changed)
        return sorted(opened | set(self.changed)) if apart else sorted(opened)


def scope_of_run(root: Path, globs: Iterable[str], since_ms: int | None) -> RunScope:
    listed = project_files(root)
    patterns = [_pattern(glob) for glob in globs]
    named = tuple(path for path in listed if any(pattern.fullmatch(path) for pattern in patterns))
    changed = [path for path in listed if _changed_since(root / path, since_ms)] if since_ms is not None else []
    return RunScope(tuple(listed), named if patterns else None, tuple(changed))


def project_files(root: Path) -> list[str]:
    """The files that belong to the project: what git tracks or would track, else everything that is no cache."""
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        return sorted({path for path in listed.split("\0") if path and not _SKIPPED.intersection(path.split("/"))})
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        found += [str((Path(folder) / name).relative_to(root)) for name in sorted(names)]
        if len(found) > 2 * MOST_FILES:
            break
    return found


def git_state(root: Path) -> dict[str, Any]:
    """The commit that is checked out, and whether anything differs from it; nothing without a repository."""
    commit = git_head(root)
    if commit is None:
        return {}
    status = _git(root, "status", "--porcelain", "-z")
    return {"git_commit": commit, "git_dirty": bool(status)}


def commits_of(root: Path, file: str, line: int | None, most: int) -> list[tuple[str, str, str, str]]:
    """The commits that changed a file last, or a line of it: commit, author, day, subject."""
    lines = [f"-L{line},{line}:{file}", "--no-patch"] if line is not None else ["--", file]
    found = _git(root, "log", f"-{most}", "--format=%H%x1f%an%x1f%as%x1f%s", *lines) or ""
    parts = [entry.split("\x1f") for entry in found.splitlines() if entry.count("\x1f") == 3]
    return [(commit, author, day, subject) for commit, author, day, subject in parts]


def _git(root: Path, *arguments: str) -> str | None:
    """What git answers; None where it is missing, refuses, or there is no repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, timeout=30, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def changed_since(root: Path, paths: Iterable[str], since_ms: int) -> bool:
    """Whether any of these files was written after a time."""
    return any(_changed_since(root / path, since_ms) for path in paths)


def _changed_since(path: Path, since_ms: int) -> bool:
    try:
        return path.stat().st_mtime_ns >= since_ms * 1_000_000
    except OSError:
        return False


def _pattern(glob: str) -> re.Pattern[str]:
    """A glob as people write it: `*` stays within a folder, `**` does not, and a folder means all that is in it."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob.removeprefix("./").rstrip("/"))
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)
