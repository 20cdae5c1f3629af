"""The projects in which clients of this machine have had sessions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from clew.history.clients import load_clients
from clew.history.port import ProjectPlaces


@dataclass(frozen=True, slots=True)
class EveryProject(ProjectPlaces):
    """Places that take no session and note where each one ran."""

    directories: set[str] = field(default_factory=set)

    def is_inside(self, directory: object) -> bool:
        if isinstance(directory, str):
            self.directories.add(directory)
        return False


def directories_of_sessions(home: Path) -> Iterable[Path]:
    """The directories in which sessions ran and that are still there, sorted."""
    places = EveryProject(Path("/"), home)
    for client in load_clients():
        for _ in client.transcripts(places):
            pass
    return [path for path in map(Path, sorted(places.directories)) if path.is_absolute() and path.is_dir()]
