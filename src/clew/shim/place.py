"""Where the resident server of a data directory keeps its things. Imports nothing that has to be loaded first."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL = 1
"""Of the first lines that both sides send; another number is not understood."""
FOLDER = "resident"
ADDRESS = "address.json"
OUTDATED = "outdated"
"""Why a server declines that is about to end: the next one will take the client."""
KEPT = "CLEW_KEPT"
"""The variable that gives a private server the identity of its connection to the resident one."""


class Unreachable(Exception):
    """No resident server answers there, or none that may be trusted."""


class Stuck(Unreachable):
    """A resident server runs there and does not answer: starting another one would not help."""


def data_directory(environ: Mapping[str, str], flag: str | None, directory: str) -> str:
    """The data directory as far as flags and environment say; a trusted project's file may name another one."""
    named = flag or environ.get("CLEW_HOME", "").strip() or environ.get("THOUGHTBOX_DATA_DIR", "").strip() or "~/.clew"
    return os.path.realpath(os.path.join(directory, os.path.expanduser(named)))


def package_stamp() -> str:
    """Which code is installed now: a server started from other code is replaced."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    times = [
        os.stat(os.path.join(package, *part)).st_mtime_ns for part in (("__init__.py",), ("registry", "index.json"))
    ]
    return f"{package}:{times[0]}:{times[1]}"


def folder_of(home: str, make: bool = False) -> str:
    """The private folder. Raises Unreachable if another user could have written into it."""
    folder = os.path.join(home, FOLDER)
    try:
        if make:
            os.makedirs(home, mode=0o700, exist_ok=True)
            os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as problem:
        raise Unreachable(str(problem)) from problem
    if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise Unreachable(f"{folder} is open to other users")
    return folder
