"""Which network file system a path lies on, if any: locks and write-ahead logs need a disk of this machine.

SQLite's WAL keeps its index in memory that processes share, which those on two machines cannot. On one machine it
mostly works over a network too, as far as the file system keeps its promises about locks and syncs; hence a warning.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from clew.errors import ClewError

FUSE = 0x65735546
NETWORK = {
    0x6969: "nfs",
    0x517B: "smb",
    0xFE534D42: "smb2",
    0xFF534D42: "cifs",
    FUSE: "fuse",
    0x01021997: "9p",
    0x00C36400: "ceph",
    0x5346414F: "afs",
    0x6B414653: "afs",
    0x564C: "ncp",
    0x0BD00BD0: "lustre",
    0x19830326: "beegfs",
    0x47504653: "gpfs",
    0x786F4256: "vboxsf",
    0xBACBACBC: "vmhgfs",
}
"""The numbers by which Linux knows them (statfs, f_type)."""
_STATFS_BYTES = 512  # more than struct statfs has on any machine

log = logging.getLogger("clew.store")


def network_file_system(path: Path) -> str | None:
    """The name of the network file system that holds `path`; None where it is local or cannot be told."""
    if os.name == "nt":
        return "smb" if str(path).startswith("\\\\") else None
    number = _number(_nearest(path)) if sys.platform == "linux" else None
    if number == FUSE:
        return _mounted_as(_nearest(path))
    return NETWORK.get(number) if number is not None else None


@lru_cache(maxsize=64)
def warn_of_network(path: Path) -> None:
    """Say once for each store and process that it lies on a network file system."""
    found = network_file_system(path)
    if found is not None:
        log.warning("%s lies on a network file system (%s): %s", path, found, ADVICE)


ADVICE = "let one machine use it at a time, or set CLEW_HOME to a local disk or CLEW_DATABASE_URL to a PostgreSQL"


def _nearest(path: Path) -> Path:
    """The path itself or, before it is made, the first directory above it that exists."""
    return next((place for place in (path, *path.parents) if place.exists()), Path("/"))


def _number(path: Path) -> int | None:
    import ctypes  # takes milliseconds to load, and a start that opens no store does not need it

    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    try:
        failed = ctypes.CDLL(None).statfs(os.fsencode(path), buffer)
    except (OSError, AttributeError):
        return None
    return None if failed else ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF


def _mounted_as(path: Path) -> str | None:
    """What a FUSE file system calls itself, such as `fuse.sshfs`; one over a disk of this machine is local."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return NETWORK[FUSE]
    place, found = os.path.realpath(path), (-1, NETWORK[FUSE])
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split(" ")[4]
        if place == mount or place.startswith(mount.rstrip("/") + "/"):
            found = max(found, (len(mount), after.split(" ")[0]))
    return None if found[1] == "fuseblk" else found[1]


def without_shared_memory(path: Path) -> ClewError:
    kind = network_file_system(path)
    named = f", a network file system ({kind})," if kind else ""
    return ClewError(
        "STORE_UNAVAILABLE",
        f"{path.parent}{named} offers no shared memory, which many processes on one store need",
        "Set CLEW_HOME to a directory on a local disk, or CLEW_DATABASE_URL to a PostgreSQL.",
    )


def no_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < 1 << 20
    except OSError:
        return False


def no_descriptors() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as problem:
        return problem.errno in (errno.EMFILE, errno.ENFILE)
    return False


def make_private(path: Path) -> None:
    """A new file is its owner's alone; SQLite gives the files beside it the same mode."""
    with suppress(OSError):  # it exists, or SQLite will say why it cannot be made
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def make_directory(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise ClewError(
            "STORE_READ_ONLY",
            f"{folder} cannot be created: {os.strerror(problem.errno or 0)}",
            "Set CLEW_HOME to a directory that can be written.",
        ) from problem
