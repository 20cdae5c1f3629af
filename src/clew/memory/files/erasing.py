"""Removes erased texts from files: renderings, snapshots of applies, late saves, spool and logs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from clew.memory.files.directory import Directory, directory_of
from clew.registry.context import Context
from clew.store.redaction import Redactor

MOST_BYTES = 64_000_000
_LIVE = ("", "-wal", "-shm")
_SKIPPED = frozenset({"lock", "models"})


@dataclass
class ErasedFiles:
    cleaned: list[str] = field(default_factory=list)
    holding: list[str] = field(default_factory=list)
    """Files that contain the text and are not changed: backups and other databases, and what cannot be written."""


def erase_in_files(ctx: Context, redactor: Redactor) -> ErasedFiles:
    """Clean the memory folder and the data directory; report what cannot be cleaned."""
    found = ErasedFiles()
    directory = directory_of(ctx)
    with directory.locked() if directory is not None else nullcontext():
        for path in _files(ctx, directory):
            _erase_in(path, redactor, found)
    return found


def _files(ctx: Context, directory: Directory | None) -> Iterator[Path]:
    home = ctx.settings.home
    live = {home / f"clew.db{ending}" for ending in _LIVE}
    tops = [home] if directory is None or home in directory.root.parents else [home, directory.root]
    for top in tops:
        for place, folders, names in os.walk(top):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            for name in names:
                path = Path(place, name)
                if path not in live and name not in _SKIPPED and path.is_file() and not path.is_symlink():
                    yield path


def _erase_in(path: Path, redactor: Redactor, found: ErasedFiles) -> None:
    try:
        data = path.read_bytes() if path.stat().st_size <= MOST_BYTES else b""
    except OSError:
        return
    text = data.decode("utf-8", "replace")
    # Line by line as well, because a line may be a separate JSON value.
    cleaned = "".join(redactor.without(line) for line in redactor.without(text).splitlines(keepends=True))
    if cleaned == text:
        return
    if "\0" in text or "\ufffd" in text or not _replace(path, cleaned):
        found.holding.append(str(path))
    else:
        found.cleaned.append(str(path))


def _replace(path: Path, text: str) -> bool:
    """Rewrite a file and keep its permissions. A snapshot may be a hard link to the same file: each is
    written separately."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        mode = path.stat().st_mode & 0o777
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        return False
    return True
