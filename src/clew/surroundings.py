"""A caller's environment variables and working directory.

A resident server answers many clients, each started in its own directory and environment. What depends on them
asks here and never `os.environ` or the process's directory. Outside the resident server these are the process's own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from clew.errors import ClewError

_caller: ContextVar[tuple[Mapping[str, str], Path] | None] = ContextVar("clew_surroundings", default=None)
_typed: ContextVar[bool] = ContextVar("clew_typed", default=False)
_elsewhere: ContextVar[bool] = ContextVar("clew_elsewhere", default=False)
GIVEN = {"--home": "CLEW_HOME", "--workspace": "CLEW_WORKSPACE"}
"""What `clew connect` writes into a client's configuration, as an option of every command."""


@contextmanager
def surrounded(environ: Mapping[str, str], directory: Path) -> Iterator[None]:
    """Everything inside, threads that copy the context included, sees this environment and directory."""
    token = _caller.set((environ, directory))
    try:
        yield
    finally:
        _caller.reset(token)


@contextmanager
def typed() -> Iterator[None]:
    """Everything inside answers a command that was typed in a shell, which shares this environment."""
    token = _typed.set(True)
    try:
        yield
    finally:
        _typed.reset(token)


@contextmanager
def elsewhere() -> Iterator[None]:
    """Everything inside answers a caller on another machine, whose shell knows nothing of ours."""
    token = _elsewhere.set(True)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def environment() -> Mapping[str, str]:
    caller = _caller.get()
    return os.environ if caller is None else caller[0]


def directory() -> Path:
    caller = _caller.get()
    if caller is not None:
        return caller[1]
    try:
        return Path.cwd()
    except FileNotFoundError as problem:
        raise ClewError("IO_ERROR", "the current directory is gone", "Change to one that exists.") from problem


def home_directory() -> Path:
    """The caller's home. Raises RuntimeError where none can be found, as `Path.home` does."""
    named = environment().get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(named) if named else Path.home()


def expanded(path: str) -> Path:
    """`path` with a leading `~` replaced; `~name` is another user's home, as usual."""
    if path == "~" or path.startswith(("~/", f"~{os.sep}")):
        return home_directory() / path[2:]
    return Path(path).expanduser()


def clew_command(words: str) -> str:
    """A line for the caller's shell that runs this Clew: by its name where the PATH finds it, else by its place.

    Everything that tells an agent or a person to run `clew ...` asks here. Clients start the server by an absolute
    path, so often no shell of theirs knows the name; nor does it know the home and the workspace that the client's
    configuration gives the server alone.
    """
    from clew.secrets import shell_safe  # its patterns take a while to compile, and most starts say no command

    if _elsewhere.get():
        return f"clew {shell_safe(words)}"
    environ = environment()
    known = shutil.which("clew", path=environ.get("PATH", ""))
    given = {} if _typed.get() else {option: environ.get(name) for option, name in GIVEN.items()}
    options = [f"{option} {shlex.quote(value)}" for option, value in given.items() if value]
    return " ".join(["clew" if known else own_program(), *options, shell_safe(words)])


def own_program() -> str:
    """The shell command that starts this very installation."""
    beside = Path(sys.executable).parent / ("clew.exe" if os.name == "nt" else "clew")
    return shlex.quote(str(beside)) if beside.is_file() else f"{shlex.quote(sys.executable)} -m clew"


def placed(path: str) -> Path:
    """The absolute path that the caller means by `path`."""
    return directory() / expanded(path)
