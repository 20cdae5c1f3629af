"""The files of a project as git sees them: which belong to it, which changed, and which commit is checked out."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.files import MOST_FILES, git_head

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
