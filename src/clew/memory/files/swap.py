"""Replace a file atomically without losing what another process saves into it at the same moment.

The new file is written and flushed first. Then it is exchanged with the old one in one system call
(`renameat2` with RENAME_EXCHANGE), so that the previous file, however late it was saved, is now ours
and can be examined. If the kernel or the file system does not support that, the old file is moved away
and the new one linked into the free name, which fails if there was a save in between: then that save is
moved away too. In this fallback the name does not exist for some microseconds; nothing is ever
overwritten.

A save that was taken out of a file is kept in `.clew/late/` until it is in the store. The folder holds
drafts and files that were taken out, named `<path>~<inode>`. A draft is named after its own inode.
After an exchange the name no longer matches the inode, which shows that this is the previous file, so a
process that was killed in between leaves no ambiguity. For each file that was taken out, `<name>.base`
records the text it was edited from, dated like the file, so that a stat detects a later save into it.
All are in one folder, because creating and removing folders costs milliseconds and every read of memory
looks here.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote, unquote

import orjson

from clew.canonical import canonical_bytes, digest, sha256_hex
from clew.memory.files.file_state import Known, stamp_of
from clew.platforms import SAFELY, fcntl, has_leases, sync_file

if TYPE_CHECKING:
    from ctypes import CDLL

ATTEMPTS = 100
"""Maximum number of retries: no process saves this often within microseconds; the limit only ends a loop."""
WRITER_SECONDS = 1.0
"""How long to wait for an editor that is saving; a save in place takes milliseconds."""
# RENAME_EXCHANGE and AT_FDCWD as Linux defines them; Python has no names for them.
_EXCHANGE, _HERE = 2, -100


def swap(draft: Path, target: Path) -> list[Path]:
    """Replace `target` by `draft`. Returns where the previous files are now: none, one, rarely more."""
    taken: list[Path] = []
    for number in range(ATTEMPTS):
        # An exchange returns one file only. Once a file was moved away, another must not be lost that way.
        if not taken and exchange(draft, target):
            _put_back_unless_a_file(draft, target)
            return [draft]
        if _put(draft, target):
            return taken
        out = draft.with_name(f"{draft.name}.{number}.out")
        try:
            target.rename(out)
            taken.append(out)
        except FileNotFoundError:
            continue
    raise OSError(errno.EBUSY, "others keep replacing it")


def exchange(draft: Path, target: Path) -> bool:
    """Exchange two files. False if the target is missing or the system does not support it."""
    library = _libc()
    if library is None:
        return False
    if library.renameat2(_HERE, os.fsencode(draft), _HERE, os.fsencode(target), _EXCHANGE) == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    # ENOSYS is an old kernel; EINVAL and ENOTSUP a file system that cannot exchange.
    if number in (errno.ENOENT, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))


@cache
def _libc() -> CDLL | None:
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):  # on Windows the process itself is not a loadable library
        return None
    return library if hasattr(library, "renameat2") else None


def _put_back_unless_a_file(draft: Path, target: Path) -> None:
    """Undo the exchange if a link or folder has replaced the file meanwhile: these are not ours to replace."""
    if not stat.S_ISREG(draft.lstat().st_mode):
        exchange(draft, target)
        raise OSError(errno.EEXIST, "it is not an ordinary file any more")


def _put(draft: Path, target: Path) -> bool:
    """Give the draft its name if the name is free."""
    try:
        os.link(draft, target)
    except FileExistsError:
        return False
    except OSError as problem:
        if problem.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        draft.rename(target)  # a file system without hard links
        return True
    draft.unlink()
    return True


def has_writer(path: Path) -> bool:
    """Whether a process has the file open for writing, as far as the system reports it.

    Linux grants a read lease only if no process has. The lease is released at once; if a process opens
    the file meanwhile, the kernel sends SIGURG, which is ignored, instead of SIGIO, which would end the
    process.
    """
    if not has_leases():
        return False
    handle = os.open(path, os.O_RDONLY | SAFELY)
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as problem:
        return problem.errno == errno.EAGAIN
    finally:
        os.close(handle)
    return False


def read_saved(path: Path) -> bytes:
    """The bytes of a file that may be in the middle of a save: waits until the save is over, up to a limit."""
    deadline = time.monotonic() + WRITER_SECONDS
    while has_writer(path) and time.monotonic() < deadline:
        time.sleep(0.002)
    return path.read_bytes()


def create(path: Path) -> BinaryIO:
    """Create a new file. An existing link of this name is removed, not followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFELY, 0o666), "w+b")


def take_rights(file: BinaryIO, model: Path, least: int = 0) -> None:
    """Copy the permissions and, if allowed, the owner of the replaced file to the new one.

    Otherwise a file that a person made private would be readable by others after the next rendering.
    `least` are the permissions that the new file needs in any case.
    """
    try:
        known = model.lstat()
    except OSError:
        return
    if not hasattr(os, "fchown") or not stat.S_ISREG(known.st_mode):
        return
    made = os.fstat(file.fileno())
    if (made.st_uid, made.st_gid) != (known.st_uid, known.st_gid):
        with suppress(OSError):
            os.fchown(file.fileno(), known.st_uid, known.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(known.st_mode) | least)


def check_writable(path: Path) -> None:
    """Refuse to replace a file that a person made read-only; the folder alone would allow it."""
    if path.is_file() and not os.access(path, os.W_OK):
        raise OSError(errno.EACCES, "it is read-only")


LATE, UNREAD = "late", "unread"
_NEW, _BASE, _PATH = "new", ".base", ".path"
LONGEST_NAME = 200
"""A longer path is named by its digest, and stored in a file next to it."""


@dataclass(frozen=True)
class LateSave:
    """A save that was taken out of a file: its current path, its bytes, and the text that it was edited from."""

    path: str
    out: Path
    data: bytes
    base: Known | None


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

    def take(self, path: str, out: Path, base: Known | None) -> LateSave | None:
        """What a person saved into a file that was taken out; None if nothing, and then the file is removed.

        A file that a process still has open for writing is kept: the process may be about to save into it.
        """
        if base is None or not base.trusts(stamp_of(out.stat())):
            data = read_saved(out)
            if data and not (base and base.holds(data)):
                self._note(out, base)
                return LateSave(path, out, data, base)
        if has_writer(out):
            self._note(out, base)
        else:
            self._forget(out)
        return None

    def is_dirty(self) -> bool:
        """Whether `found` has anything to examine; usually there is no file."""
        return any(_restless(out) for out in self._taken_out())

    def found(self, files: Mapping[str, Known]) -> list[LateSave]:
        """Saves that are not in the store: from a process that was killed, or written after the file was taken out."""
        again = [self._look_again(out, files) for out in self._taken_out()]
        return [late for late in again if late is not None]

    def settle(self, late: LateSave) -> None:
        """The save is in the store, so its file is removed, unless a process still has it open and may save again."""
        if has_writer(late.out):
            # The store may have merged it into another text, so what the next save leaves out implies nothing.
            self._note(late.out, Known(stamp_of(late.out.stat()), 0, digest=digest(late.data)))
        else:
            self._forget(late.out)

    def set_aside(self, late: LateSave) -> Path:
        """Keep a save that cannot be read as text in a folder for the user."""
        place = own_folder(self._own, UNREAD) / late.out.name
        late.out.replace(place)
        self._forget(late.out)
        return place

    def set_aside_copy(self, path: str, data: bytes) -> Path:
        """Keep a copy of a damaged file that is about to be replaced."""
        place = own_folder(self._own, UNREAD) / f"{quote(path, safe='')[-LONGEST_NAME:]}~{digest(data)}"
        with create(place) as file:
            file.write(data)
            file.flush()
            sync_file(file.fileno())
        return place

    def set_aside_files(self) -> list[Path]:
        """Files that are kept for the user, until the user removes them."""
        folder = self._own / UNREAD
        try:
            return sorted(folder.iterdir()) if not folder.is_symlink() else []
        except OSError:
            return []

    def _taken_out(self) -> list[Path]:
        """Drafts and files that were taken out; usually none."""
        try:
            found = sorted(self._folder.iterdir()) if not self._folder.is_symlink() else []
        except OSError:
            return []
        return [out for out in found if not out.name.endswith((_BASE, _PATH))]

    def _path_of(self, out: Path) -> str:
        name = out.name.rpartition("~")[0]
        long = self._folder / f"{name}{_PATH}"
        return long.read_text(encoding="utf-8") if long.exists() else unquote(name)

    def _look_again(self, out: Path, files: Mapping[str, Known]) -> LateSave | None:
        if out.is_symlink() or out.name.rpartition("~")[2] in (_NEW, str(out.stat().st_ino)):
            self._forget(out)  # a draft that was never put in place, or not a file of ours
            return None
        path = self._path_of(out)
        note = out.with_name(f"{out.name}{_BASE}")
        # Without a note the process died right after the swap, before it saved what it knows of the file.
        base = _noted_base(note) if note.exists() else files.get(path)
        data = read_saved(out)
        if data and not (base and base.holds(data)):
            return LateSave(path, out, data, base)
        if not has_writer(out):
            self._forget(out)
        return None

    def _note(self, out: Path, base: Known | None) -> None:
        note = out.with_name(f"{out.name}{_BASE}")
        saved = out.stat().st_mtime_ns
        with create(note) as file:
            file.write(canonical_bytes(base.to_json() if base else None))
        os.utime(note, ns=(saved, saved))

    def _forget(self, out: Path) -> None:
        out.with_name(f"{out.name}{_BASE}").unlink(missing_ok=True)
        out.unlink(missing_ok=True)


def _noted_base(note: Path) -> Known | None:
    """The recorded base; None if it is unknown, or the note is damaged or of an earlier version."""
    try:
        raw = orjson.loads(note.read_bytes())
        return Known(tuple(raw["stamp"]), raw["checked_ns"], raw["seq"], raw["digest"])
    except (ValueError, TypeError, KeyError):
        return None


def _restless(out: Path) -> bool:
    """Whether a file was saved into since it was noted, or can be removed because its last writer closed it."""
    try:
        noted, saved = out.with_name(f"{out.name}{_BASE}").stat(), out.stat()
        return noted.st_mtime_ns != saved.st_mtime_ns or not has_writer(out)
    except OSError:
        return True


def own_folder(own: Path, path: str) -> Path:
    """A folder below `.clew/`, created if needed. A link in it would redirect our writes and is refused."""
    place = own
    for part in path.split("/"):
        place = place / part
        place.mkdir(exist_ok=True)
        if place.is_symlink():
            raise OSError(errno.ELOOP, f"{place} is a symbolic link")
    return place
