"""Which project an agent works in, according to its client's hook. Imports nothing that must be loaded first."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

PROJECTS = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def directory_of(payload: Mapping[str, Any], environ: Mapping[str, str], here: str) -> str:
    """The project as named by the client, as long as the agent still works inside it."""
    place = _cwd_in(payload, here)
    for project in _named(environ):
        if (place + os.sep).startswith(project.rstrip(os.sep) + os.sep):
            return project
    return place


def guarded_directory(payload: Mapping[str, Any], environ: Mapping[str, str], here: str) -> str:
    """The project whose guards hold: the client's, also when the agent has gone somewhere else."""
    return next(_named(environ), _cwd_in(payload, here))


def _cwd_in(payload: Mapping[str, Any], here: str) -> str:
    roots = payload.get("workspace_roots") or payload.get("workspacePaths")
    told = payload.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return told if isinstance(told, str) and os.path.isdir(told) else here


def _named(environ: Mapping[str, str]) -> Iterator[str]:
    return (place for name in PROJECTS if os.path.isdir(place := environ.get(name, "")))
