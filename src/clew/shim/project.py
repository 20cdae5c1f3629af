"""In which project a client works that starts its servers elsewhere, such as in the folder of a plugin.

Codex and Copilot CLI start the server of a plugin in the plugin's own folder, which is another one after each update.
The project is where the client itself runs, or what the client says of it: in the metadata of its calls, or as roots.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

PLUGIN_ROOTS = ("PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "CURSOR_PLUGIN_ROOT", "CLEW_PLUGIN_ROOT")
PROJECTS = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR")
_TURN = "x-codex-turn-metadata"
_GENERATIONS = 6
"""How many ancestors are asked: the client may have started us through a shell or `uvx`."""


def leave_plugin(environ: Mapping[str, str]) -> bool:
    """Change from the folder of a plugin to the client's project; whether the directory was only a guess."""
    here = os.getcwd()
    if not _is_plugin(here, environ):
        return here in (os.sep, os.path.expanduser("~"))
    usable = (place for place in _candidates(environ) if os.path.isdir(place) and not _is_plugin(place, environ))
    place = next(usable, os.path.expanduser("~"))
    try:
        os.chdir(place)
    except OSError:
        pass  # the client's own directory is gone: its next word may name another
    return True


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    yield from _ancestors()
    # Variables may come from a client that started this one, so they count only if the system reports nothing.
    yield from (environ.get(name, "") for name in (*PROJECTS, "PWD"))


def _is_plugin(place: str, environ: Mapping[str, str]) -> bool:
    roots = [environ[name] for name in PLUGIN_ROOTS if environ.get(name)]
    return any(is_inside(place, root) for root in roots)


def is_inside(place: str, root: str) -> bool:
    full, base = os.path.realpath(place), os.path.realpath(root)
    return full == base or full.startswith(base.rstrip(os.sep) + os.sep)


def _ancestors() -> Iterator[str]:
    """Working directories of our ancestors, the nearest first; none if the system does not report them."""
    process = os.getppid()
    for _ in range(_GENERATIONS):
        place = _directory_of(process)
        if place is not None:
            yield place
        process = _parent_of(process)
        if process <= 1:
            return


def _directory_of(process: int) -> str | None:
    try:
        return os.readlink(f"/proc/{process}/cwd")
    except OSError:
        return _listed(process) if sys.platform == "darwin" else None


def _listed(process: int) -> str | None:
    """macOS reports it through `lsof`, which every system has."""
    import subprocess

    command = ["/usr/sbin/lsof", "-a", "-p", str(process), "-d", "cwd", "-Fn"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=2).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return next((line[1:] for line in printed.splitlines() if line.startswith("n/")), None)


def _parent_of(process: int) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def told_by(message: Mapping[str, Any]) -> str | None:
    """The project that a call names in its metadata, as Codex does; None if we run inside one of those named."""
    turn = _inner(_inner(_inner(message, "params"), "_meta"), _TURN)
    named = [place for place in _inner(turn, "workspaces") if isinstance(place, str) and os.path.isdir(place)]
    here = os.getcwd()
    if not named or any(is_inside(here, place) for place in named):
        return None
    return named[0]


def root_in(message: Mapping[str, Any]) -> str | None:
    """The first directory in a client's answer to `roots/list`."""
    roots = _inner(message, "result").get("roots")
    for root in roots if isinstance(roots, list) else ():
        place = _path_of(root.get("uri")) if isinstance(root, dict) else None
        if place is not None and os.path.isdir(place):
            return place
    return None


def _path_of(uri: Any) -> str | None:
    if not isinstance(uri, str) or not uri.startswith("file://"):
        return None
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(uri).path)


def _inner(holder: Any, name: str) -> Mapping[str, Any]:
    found = holder.get(name) if isinstance(holder, dict) else None
    return found if isinstance(found, dict) else {}
