"""Saves that a rendering took out of a file, kept in `.clew/late/` until they are in the store.

The folder holds drafts and files that were taken out, named `<path>~<inode>`. A draft is named after its own inode.
Once it has changed places with a file, the name tells that it holds what stood in the file's place instead, so a
process that was killed in between leaves nothing unclear. Beside a file that was taken out, `<name>.base` holds the
text that it was edited from (empty: not known), dated like the file, so that a later save into it is seen by a stat.
All lie in one folder, because making and removing folders costs milliseconds and every read of memory looks here.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from clew.canonical import sha256_hex
from clew.memory.files.swap import create, has_writer, read_saved

LATE, UNREAD = "late", "unread"
_NEW, _BASE, _PATH = "new", ".base", ".path"
LONGEST_NAME = 200
"""A longer path is named by its digest, and kept in a file beside it."""

BaseOf = Callable[[str], bytes | None]
"""The text that a file was last rendered as, by its path."""


@dataclass(frozen=True)
class LateSave:
    """A save that was taken out of a file: where it is now, its bytes, and the text it was edited from."""

    path: str
    out: Path
    data: bytes
    base: bytes | None


class LateSaves:
    def __init__(self, own: Path) -> None:
        self._own = own
        self._folder = own / LATE

    def new_draft(self, path: str) -> Path:
        folder = own_folder(self._own, LATE)
        name = quote(path, safe="")
        if len(name) > LONGEST_NAME:
            name = sha256_hex(path, 32)
            with create(folder / f"{name}{_PATH}") as file:
                file.write(path.encode())
        return folder / f"{name}~{_NEW}"

    def name_draft(self, draft: Path, inode: int) -> Path:
        return draft.replace(draft.with_name(draft.name.removesuffix(_NEW) + str(inode)))

    def take(self, path: str, out: Path, base: bytes | None, same: bool) -> LateSave | None:
        """What a person saved into a file that was taken out; None when nothing, and then the file goes.

        `same` says that its stamp is the expected one. A file that a process still has open for writing is kept: the
        process may be about to save into it.
        """
        if not same:
            data = read_saved(out)
            if data and data != base:
                self._note(out, base)
                return LateSave(path, out, data, base)
        if has_writer(out):
            self._note(out, base)
        else:
            self._forget(out)
        return None

    def stirred(self) -> bool:
        """Whether `found` has to look at anything; as a rule there is no file to look at."""
        return any(_restless(out) for out in self._taken_out())

    def found(self, base_of: BaseOf) -> list[LateSave]:
        """Saves that are not in the store: of a process that was killed, or written after the file was taken out."""
        again = [self._look_again(out, base_of) for out in self._taken_out()]
        return [late for late in again if late is not None]

    def settle(self, late: LateSave) -> None:
        """The save is in the store, so its file is removed, unless a process still has it open and may save again."""
        if has_writer(late.out):
            self._note(late.out, late.data)
        else:
            self._forget(late.out)

    def set_aside(self, late: LateSave) -> Path:
        """Keep a save that cannot be read as text where a person finds it."""
        place = own_folder(self._own, UNREAD) / late.out.name
        late.out.replace(place)
        self._forget(late.out)
        return place

    def _taken_out(self) -> list[Path]:
        """Drafts and files that were taken out; none as a rule."""
        try:
            found = sorted(self._folder.iterdir()) if not self._folder.is_symlink() else []
        except OSError:
            return []
        return [out for out in found if not out.name.endswith((_BASE, _PATH))]

    def _path_of(self, out: Path) -> str:
        name = out.name.rpartition("~")[0]
        long = self._folder / f"{name}{_PATH}"
        return long.read_text(encoding="utf-8") if long.exists() else unquote(name)

    def _look_again(self, out: Path, base_of: BaseOf) -> LateSave | None:
        if out.is_symlink() or out.name.rpartition("~")[2] in (_NEW, str(out.stat().st_ino)):
            self._forget(out)  # a draft that never got into place, or nothing of ours
            return None
        path = self._path_of(out)
        note = out.with_name(f"{out.name}{_BASE}")
        # Without a note the process died right after the swap, before it renewed the base of the file.
        base = (note.read_bytes() or None) if note.exists() else base_of(path)
        data = read_saved(out)
        if data and data != base:
            return LateSave(path, out, data, base)
        if not has_writer(out):
            self._forget(out)
        return None

    def _note(self, out: Path, base: bytes | None) -> None:
        note = out.with_name(f"{out.name}{_BASE}")
        saved = out.stat().st_mtime_ns
        with create(note) as file:
            file.write(base or b"")
        os.utime(note, ns=(saved, saved))

    def _forget(self, out: Path) -> None:
        out.with_name(f"{out.name}{_BASE}").unlink(missing_ok=True)
        out.unlink(missing_ok=True)


def _restless(out: Path) -> bool:
    """Whether a file was saved into since it was noted, or can go because its last writer closed it."""
    try:
        noted, saved = out.with_name(f"{out.name}{_BASE}").stat(), out.stat()
        return noted.st_mtime_ns != saved.st_mtime_ns or not has_writer(out)
    except OSError:
        return True


def own_folder(own: Path, path: str) -> Path:
    """A folder below `.clew/`, made if needed. A link in it would lead our writes elsewhere and is refused."""
    place = own
    for part in path.split("/"):
        place = place / part
        place.mkdir(exist_ok=True)
        if place.is_symlink():
            raise OSError(errno.ELOOP, f"{place} is a symbolic link")
    return place
