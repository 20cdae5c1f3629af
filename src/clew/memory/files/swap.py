"""Replace a file at once without losing what somebody else saves into it in the same moment.

The new file is written and flushed first. Then it changes places with the old one in one step of the kernel
(`renameat2` with RENAME_EXCHANGE), so whatever stood there, however late it was saved, is now in our hands and can be
looked at. Where the kernel or the file system cannot do that, the old file is moved away and the new one linked into
the free place, which fails when somebody saved in between: then that save is moved away too. There the name is gone
for some microseconds; nothing is ever overwritten.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from clew.platforms import SAFELY, fcntl, has_leases

if TYPE_CHECKING:
    from ctypes import CDLL

ATTEMPTS = 100
"""Somebody who saves this often in a few microseconds does not exist; the bound only ends a loop."""
WRITER_SECONDS = 1.0
"""How long to wait for an editor that is in the middle of a save; a save in place takes milliseconds."""
_EXCHANGE, _HERE = 2, -100


def swap(draft: Path, target: Path) -> list[Path]:
    """Put `draft` in the place of `target`. Returns where the files are that stood there: none, one, seldom more."""
    taken: list[Path] = []
    for number in range(ATTEMPTS):
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
    """Let two files change places. False when the target is missing or the system cannot do it."""
    library = _libc()
    if library is None:
        return False
    if library.renameat2(_HERE, os.fsencode(draft), _HERE, os.fsencode(target), _EXCHANGE) == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    if number in (errno.ENOENT, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))


@cache
def _libc() -> CDLL | None:
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):  # Windows has no library of the program itself
        return None
    return library if hasattr(library, "renameat2") else None


def _put_back_unless_a_file(draft: Path, target: Path) -> None:
    """A link or a folder that took the file's place meanwhile is not ours to replace."""
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
    """Whether a process has the file open for writing, as far as the system tells.

    Linux grants a read lease only when nobody has. The lease is given back at once; should somebody open the file
    meanwhile, the kernel sends SIGURG, which is ignored, instead of SIGIO, which would end the process.
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
    """The bytes of a file that somebody may be saving: waits until the save is over, but not for ever."""
    deadline = time.monotonic() + WRITER_SECONDS
    while has_writer(path) and time.monotonic() < deadline:
        time.sleep(0.002)
    return path.read_bytes()


def create(path: Path) -> BinaryIO:
    """A new file. A link that lies in wait under its name is removed, not followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFELY, 0o666), "w+b")


def copy(source: Path, target: BinaryIO, count: int) -> None:
    """The first bytes of a file, copied by the kernel where it can."""
    with source.open("rb") as file:
        if hasattr(os, "copy_file_range"):
            while count:
                try:
                    done = os.copy_file_range(file.fileno(), target.fileno(), count)
                except OSError:
                    break
                if not done:
                    break
                count -= done
        while count:
            portion = file.read(min(count, 1 << 20))
            if not portion:
                raise OSError(errno.EIO, f"{source} is shorter than it was")
            target.write(portion)
            count -= len(portion)
