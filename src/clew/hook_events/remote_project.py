"""The half of a hook event that needs the project's files, for a project on another machine than its memory.

The client's machine sends the location of the project and the files that a command would write, and completes the
receipt of a run that its hook observed. The server evaluates and stores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clew.guarded_places import note_place, read_place
from clew.hook_events.tools import UNRECORDED, files_of_run, inside
from clew.memory.guards.check import GuardedAction, written_files
from clew.memory.guards.places import GUARDS
from clew.registry.connection import CallerPlace
from clew.settings import Settings

MOST_WRITTEN = 20_000
"""Most files of one command that are sent to the server; a command that writes more is judged by its words."""


def located(arguments: Mapping[str, Any], place: CallerPlace, root: Path) -> tuple[dict[str, Any], CallerPlace]:
    """A hook event converted for the server: paths from the root of the project, and the files its command writes."""
    told = dict(arguments)
    told["paths"] = [inside(root, path) for path in arguments.get("paths") or ()]
    folder = inside(root, str(arguments["folder"])) if arguments.get("folder") else ""
    told["folder"] = "" if folder == "." else folder
    if arguments.get("event") != "pre-tool" or not arguments.get("command"):
        return told, place
    written = written_files(GuardedAction(command=str(arguments["command"]), folder=told["folder"], root=str(root)))
    if sum(map(len, written.values())) > MOST_WRITTEN:
        written = {}
    return told, replace(place, written=written)


def place_of(settings: Settings) -> CallerPlace:
    noted = read_place(str(settings.home), str(settings.project_root))
    return CallerPlace(str(settings.project_root), noted.workspaces if noted is not None else ())


def note_guards(settings: Settings, returned: Mapping[str, Any]) -> None:
    """Store for the hooks of this machine how strict the guards of the server are here."""
    found = returned.get(GUARDS)
    if isinstance(found, dict):
        names = [str(name) for name in found.get("workspaces", ())]
        note_place(str(settings.home), str(settings.project_root), str(found.get("strictest", "")), names)


def unrecorded_receipt(settings: Settings, returned: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of tasks_receipt_record for a run that the hook saw, with the files that it covers."""
    found = returned.get(UNRECORDED)
    if not isinstance(found, dict):
        return None
    files = files_of_run(settings.project_root, int(found["since_ms"]), found["at_ms"])
    return {**found["given"], **files} if files is not None else None
