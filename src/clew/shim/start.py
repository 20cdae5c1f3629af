"""Starts the resident server of a data directory, once, however many ask for it at the same time."""

from __future__ import annotations

import os
import sys
import threading
import time

from clew.locks import FileLock
from clew.shim.place import Unreachable, folder_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen

PATIENCE = 60.0
"""Seconds that a server may take to listen; then the caller serves by itself, which takes as long on such a machine."""
_TO_BEGIN = 3.0
"""Seconds that a process has from its start until it holds its lock, on a busy machine."""
_PAUSE = 0.1
"""Seconds between two looks of a client that waits for another one's start."""
_TO_ARRIVE, _LOOK = 20.0, 0.02
"""Seconds for which a server that is on its way is waited for, and between two looks."""
_OWN = ("CLEW_", "BRANCHMIND_", "THOUGHTBOX_", "MIND_MEM_")
"""Settings of one client. The server must not inherit those of the client that happened to start it."""


_DETACHED = 0x00000008 | 0x00000200
"""DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP: a server outlives the terminal of the client that started it."""


def resident_lock(home: str) -> FileLock:
    """Held by the server of a data directory from its first breath to its end."""
    return FileLock(os.path.join(folder_of(home, make=True), "lock"))


def start(home: str, reached: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Make sure that a server runs, and wait while another process starts it. `reached` says whether one answers."""
    # Not the lock that the server itself holds: this one is only about who starts it.
    lock = FileLock(os.path.join(folder_of(home, make=True), "start"))
    end = time.monotonic() + patience
    while not _taken(lock):
        if time.monotonic() >= end:
            raise Unreachable("somebody else has been starting it for too long")
        time.sleep(_PAUSE)
        # Not only when the lock is ours: a hundred that wait would otherwise be let in one after the other.
        if reached():
            return
    try:
        if not reached() and not _reached_meanwhile(home, reached, end):
            _spawn_and_wait(home, patience)
    finally:
        lock.release()


def _reached_meanwhile(home: str, reached: Callable[[], bool], end: float) -> bool:
    """Wait for a server that a hook has just started, or for one that is ending: a second one would only wait too."""
    end = min(end, time.monotonic() + _TO_ARRIVE)
    while _is_on_its_way(home) and time.monotonic() < end:
        time.sleep(_LOOK)
        if reached():
            return True
    return False


def start_behind(home: str) -> bool:
    """Start a server without waiting for it; False if another process is already doing so."""
    try:
        lock = FileLock(os.path.join(folder_of(home, make=True), "start"))
        if not _taken(lock):
            return False
        try:
            if _is_on_its_way(home):
                return False
            _note_start(home)
            _spawn(home)
        finally:
            lock.release()
    except (Unreachable, OSError):
        return False
    return True


def _is_on_its_way(home: str) -> bool:
    """Whether a server runs or was started just now: it takes its lock a moment after it was started."""
    lock = resident_lock(home)
    if not _taken(lock):
        return True
    lock.release()
    try:
        return time.time() - os.stat(_mark(home)).st_mtime < _TO_BEGIN
    except OSError:
        return False


def _note_start(home: str) -> None:
    with open(_mark(home), "wb", opener=_privately):
        pass


def _mark(home: str) -> str:
    return os.path.join(folder_of(home), "starting")


def _taken(lock: FileLock) -> bool:
    try:
        return lock.take()
    except OSError as problem:
        raise Unreachable(str(problem)) from problem


def _spawn_and_wait(home: str, patience: float) -> None:
    process = _spawn(home)
    said: list[bytes] = []
    # A thread reads, because a pipe cannot be waited for with a limit on Windows.
    reader = threading.Thread(target=lambda: said.append(_first_line(process)), daemon=True)
    reader.start()
    reader.join(patience)
    if said != [b"ready\n"]:
        raise Unreachable("the resident server did not start; its log says why")


def _first_line(process: Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def _spawn(home: str) -> Popen[bytes]:
    import subprocess

    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    if sys.flags.isolated or sys.flags.no_site:  # we may have been found by a path that others do not know
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))
    with open(os.path.join(folder_of(home), "log"), "ab", opener=_privately) as log:
        process = subprocess.Popen(
            # -P: a package that happens to be called clew in the directory of a project is not ours.
            [sys.executable, "-P", "-m", "clew.faces.resident", home],
            # Not the directory of the project: a server running in it would keep it from being unmounted or
            # deleted.
            cwd=home,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            close_fds=True,
            creationflags=_DETACHED if os.name == "nt" else 0,
            start_new_session=os.name != "nt",
        )
    # Whoever started a process must ask for its end, or it stays as a zombie for as long as we live.
    threading.Thread(target=process.wait, name="clew-resident", daemon=True).start()
    return process


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
