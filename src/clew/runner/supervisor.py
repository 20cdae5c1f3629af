"""Stands between the runner and a job's process: limits it, and leaves nothing of it behind.

Started as a separate script (standard library only), because it must outlive the runner by a moment: when the runner
dies, however it dies, its end of the control pipe closes, and the supervisor kills whatever the job started. On Linux
it adopts orphans of the job, so that a process which left its group and session is found all the same.

usage: supervisor.py CONTROL_FD STATUS_FD MEMORY_BYTES COMMAND...
MEMORY_BYTES of 0 sets no limit.
Control: `t` asks the job's processes to end, anything else or the end of the pipe kills them.
Status: one line of JSON, {"exit": code or null, "signal": number or null, "reason": null|"memory"|"start", "detail"}.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, where no supervisor is started: see PlainChild in child.py
    resource = None  # type: ignore[assignment]

LOOK = 0.5
PR_SET_CHILD_SUBREAPER = 36
PROC = Path("/proc")


def main() -> None:
    control, status, memory = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)  # the runner decides when a job ends
    adopt_orphans()
    child = _start(sys.argv[4:], memory, (control, status, wake, woken), status)
    outcome = _watch(child, control, wake, memory)
    # Killed before the outcome is reported: when the runner learns of the end, nothing of the job is left.
    _kill_all(child)
    _tell(status, **outcome)


def _start(command: list[str], memory: int, private: tuple[int, ...], status: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        for fd in private:
            # The job must not inherit the pipes: the supervisor could then not notice that the runner has died.
            os.set_inheritable(fd, False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        # Python ignores SIGPIPE and children inherit that; without this `yes | head` would never end.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            # Data, not address space: runtimes such as V8 reserve far more addresses than they use.
            _lower(resource.RLIMIT_DATA, memory)
        os.execvp(command[0], command)
    except BaseException as problem:
        _tell(status, exit=None, signal=None, reason="start", detail=f"{command[0]}: {problem}")
        os._exit(127)


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (wanted, wanted))


def _watch(child: int, control: int, wake: int, memory: int) -> dict[str, object]:
    """Wait until the job's first process ends or must be ended; returns how it ended."""
    next_look = time.monotonic() + LOOK
    while True:
        wait = max(next_look - time.monotonic(), 0) if memory else None
        ready, _, _ = select.select([control, wake], [], [], wait)
        if wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
        # Before the control pipe: a job that has ended by itself keeps its exit code, even if it is asked to end now.
        ended = _reap(child)
        if ended is not None:
            return _outcome(ended)
        if control in ready:
            if os.read(control, 1) != b"t":
                return {"exit": None, "signal": int(signal.SIGKILL), "reason": None, "detail": ""}
            _signal_all(signal.SIGTERM, child)
        if memory and time.monotonic() >= next_look:
            next_look = time.monotonic() + LOOK
            # RLIMIT_DATA holds for each process alone; a job of many processes is caught only by their sum.
            used = sum(_own_memory(pid) for pid in descendants())
            if used > memory:
                return {"exit": None, "signal": None, "reason": "memory", "detail": f"{used >> 20} MB"}


def _reap(child: int) -> int | None:
    """Collect ended processes; returns the wait status of the job's first process if it is among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == child:
            return status


def _outcome(status: int) -> dict[str, object]:
    code = os.waitstatus_to_exitcode(status)
    return {"exit": code if code >= 0 else None, "signal": -code if code < 0 else None, "reason": None, "detail": ""}


def _kill_all(group: int) -> None:
    """Kill every process of the job. All are stopped first, so that none forks while others are killed."""
    if not PROC.is_dir():
        _signal_all(signal.SIGKILL, group)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and descendants():
        _signal_all(signal.SIGSTOP, group)
        _signal_all(signal.SIGKILL, group)
        _reap(0)
        time.sleep(0.005)


def _signal_all(number: int, group: int) -> None:
    """Send a signal to every process of the job; without /proc, to the group of the first one."""
    if not PROC.is_dir():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants(root: int | None = None) -> list[int]:
    """Every living process below this one, or below another one."""
    parents = _children()
    found, look = [], [root or os.getpid()]
    while look:
        children = parents.get(look.pop(), [])
        found += children
        look += children
    return found


def children() -> list[int]:
    """The living processes whose parent is this one."""
    return _children().get(os.getpid(), [])


def _children() -> dict[int, list[int]]:
    parents: dict[int, list[int]] = {}
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        if entry.name.isdigit():
            # A program's name may contain spaces and brackets, so fields are counted from the last bracket on.
            stat = _read(entry / "stat")
            state, parent = [*stat.rpartition(")")[2].split(), "Z", "0"][:2]
            if state not in "ZX":
                parents.setdefault(int(parent), []).append(int(entry.name))
    return parents


def _own_memory(pid: int) -> int:
    """Resident bytes of a process that it does not share with others."""
    fields = _read(PROC / str(pid) / "statm").split()
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize() if len(fields) > 2 else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # the process has ended meanwhile


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process (Linux only)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _tell(status: int, **what: object) -> None:
    with contextlib.suppress(OSError):  # the runner is gone
        os.write(status, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main()
