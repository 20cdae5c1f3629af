"""Snapshots: the files that an apply changes, as they were before, beside its receipt.

Clew rolls back from the store's versions and needs no copies. They are made for people, and for Mind-Mem, which rolls a
receipt back by putting the files of its folder in their places.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from clew.canonical import canonical_bytes
from clew.errors import ClewError
from clew.memory.files.directory import WRITE_ONLY, Directory, State, reported
from clew.memory.files.late import own_folder
from clew.memory.files.markdown import listed, parse_block

APPLIED = "intelligence/applied"
RECEIPT = "APPLY_RECEIPT.md"
MANIFEST = "MANIFEST.json"
WHOLE_FOLDERS = ("decisions", "tasks", "entities", "summaries")
"""Folders that early versions of Mind-Mem replace as a whole: their other files have to stand in the snapshot too."""
MOST_COPIED = 1_000_000
"""Bytes of a neighbouring file that is copied; a larger one is linked, which costs nothing."""


def receipt_time(path: str) -> str | None:
    """The timestamp of the receipt that a path is the file of."""
    folder, _, name = path.rpartition("/")
    return folder.removeprefix(f"{APPLIED}/") if name == RECEIPT and folder.startswith(f"{APPLIED}/") else None


def take(directory: Directory, state: State, ts: str, seq: int, receipt: str) -> None:
    """Keep the files that a receipt names, which must not be rendered since; otherwise there is nothing to keep, and
    nothing in a directory into which the store is rendered for the first time.

    A file that is about to be rendered is replaced by another one, so a second name for it is a copy of it as it was.
    """
    folder = directory.root / APPLIED / ts
    touched = listed(parse_block(receipt).fields.get("FilesTouched"))
    if not state.files or folder.exists() or not all(_unchanged(directory, state, path, seq) for path in touched):
        return
    with reported(folder):
        draft = own_folder(directory.own, f"snapshot/{ts}")
        manifest = canonical_bytes(_fill(directory, draft, touched))
        (draft / MANIFEST).write_bytes(manifest + b"\n")
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(folder)  # half a snapshot would be taken for a whole one


def _fill(directory: Directory, folder: Path, touched: list[str]) -> dict[str, Any]:
    """Put the files into the folder; what Mind-Mem has to know about them."""
    kept = [path for path in touched if (directory.root / path).is_file()]
    for path in kept:
        _link(directory.root / path, folder / path)
    tops = sorted({path.split("/")[0] for path in touched})
    inventory = {top: _below(directory, top) for top in tops}
    for path in (path for top in tops if top in WHOLE_FOLDERS for path in inventory[top] if path not in kept):
        _copy(directory.root / path, folder / path)
    return {"version": 2, "files": kept, "cleanup_inventory": inventory}


def _unchanged(directory: Directory, state: State, path: str, seq: int) -> bool:
    """Whether a file is as it was rendered before the receipt, or is not there yet."""
    stamp, entry = directory.stamp(path), state.files.get(path)
    if stamp is None:
        return entry is None
    if entry is None or entry.seq >= seq or directory.oddity(path) is not None:
        return False
    return entry.trusts(stamp) or directory.read(path) == directory.base(path)


def _below(directory: Directory, top: str) -> list[str]:
    """Every file of a folder, as Mind-Mem lists them: what is not in this list it removes when it rolls back."""
    found = []
    for place, _, names in os.walk(directory.root / top):
        inside = Path(place).relative_to(directory.root).as_posix()
        found += [f"{inside}/{name}" for name in names if not f"{inside}/".startswith(WRITE_ONLY)]
    return sorted(found)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink() or not source.is_file():
        return
    if source.stat().st_size > MOST_COPIED:
        _link(source, target)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def found(directory: Directory) -> list[str]:
    """The timestamps of the receipts that stand in the directory, oldest first."""
    try:
        names = os.listdir(directory.root / APPLIED)  # noqa: PTH208
    except OSError:
        return []
    return sorted(name for name in names if (directory.root / APPLIED / name / RECEIPT).is_file())


def text(directory: Directory, path: str) -> str | None:
    """What a file below the receipts holds; None when there is none, or it is no ordinary file of text."""
    whole = f"{APPLIED}/{path}"
    try:
        data = directory.read(whole) if directory.oddity(whole) is None else None
        return data.decode().replace("\r\n", "\n") if data is not None else None
    except (UnicodeDecodeError, ClewError):
        return None
