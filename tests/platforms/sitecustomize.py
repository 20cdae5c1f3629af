"""Takes from Clew, and from nobody else, what other systems do not have. Python imports this file when it starts.

SYSTEM_UNDER_TEST=macos hides what only Linux has, windows what only POSIX has besides. A module of Clew that imports
`os` gets a copy without the hidden names, one that imports `fcntl` an ImportError; libraries see the real ones.
"""

from __future__ import annotations

import builtins
import os
import sys
import types
from typing import Any

LINUX = {
    "fcntl": {"F_SETSIG", "F_SETLEASE", "F_GETLEASE", "F_SETOWN", "F_RDLCK_LEASE"},
    "resource": {"prlimit"},
    "os": {"copy_file_range", "fdatasync", "O_ASYNC", "memfd_create", "pidfd_open", "sched_getaffinity"},
    "socket": {"SO_PEERCRED", "SO_PASSCRED"},
    "select": {"epoll"},
    "time": {"CLOCK_BOOTTIME"},
}
POSIX = {
    "os": LINUX["os"]
    | {"fork", "killpg", "setsid", "getuid", "geteuid", "getgid", "getpgid", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY"}
    | {
        "waitstatus_to_exitcode",
        "WNOHANG",
        "nice",
        "setpriority",
        "fchmod",
        "fchown",
        "uname",
        "sysconf",
        "O_NONBLOCK",
    },
    "socket": LINUX["socket"] | {"AF_UNIX"},
    "signal": {"SIGKILL", "SIGHUP", "SIGCHLD", "SIGPIPE", "SIGSTOP", "SIGURG", "SIGUSR1"},
    "select": {"epoll", "poll", "PIPE_BUF", "POLLIN", "POLLOUT"},
    "time": {"CLOCK_BOOTTIME", "clock_gettime"},
}
GONE = {"macos": set[str](), "windows": {"fcntl", "resource", "pwd", "grp", "termios", "pty"}}
HIDDEN = {"macos": LINUX, "windows": POSIX}


def hide(system: str) -> None:
    real = builtins.__import__
    copies: dict[str, types.ModuleType] = {}

    def importing(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> types.ModuleType:
        ours = str((globals or {}).get("__name__", "")).partition(".")[0] == "clew"
        if ours and level == 0 and name in GONE[system]:
            raise ImportError(f"{name} is hidden: this is {system}")
        found = real(name, globals, locals, fromlist, level)
        if ours and level == 0 and name in HIDDEN[system]:
            return copies.setdefault(name, without(found, HIDDEN[system][name]))
        if ours and name == "ctypes":
            return copies.setdefault(name, powerless(found))
        return found

    builtins.__import__ = importing


def without(module: types.ModuleType, hidden: set[str]) -> types.ModuleType:
    copy = types.ModuleType(module.__name__)
    copy.__dict__.update({name: value for name, value in vars(module).items() if name not in hidden})
    return copy


def powerless(module: types.ModuleType) -> types.ModuleType:
    """Without the C library, whose own functions (renameat2, prctl) are Linux's."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no C library here")

    copy = without(module, {"CDLL"})
    copy.__dict__["CDLL"] = refuse
    return copy


if system := os.environ.get("SYSTEM_UNDER_TEST"):
    sys.dont_write_bytecode = True
    hide(system)
