"""What each row of docs/clients.md showed in its last run: `results.json`, which is in git.

Each result is noted as soon as there is one, so a run that is cut off loses nothing, and a run of one client leaves
the others as they were. A result counts for one version of a client: with another version its rows start anew.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from tests.clients.programs import PROGRAMS, Program

FILE = Path(__file__).with_name("results.json")
NOT_RUN = "not run"


@dataclass(frozen=True)
class Result:
    cell: str
    date: str


def note(program: Program, row: str, cell: str, file: Path = FILE) -> None:
    known = _read(file)
    held = known.get(program.name, {})
    if held.get("version") != program.version:
        held = {"version": program.version, "rows": {}}
    held["rows"][row] = {"cell": cell, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    known[program.name] = held
    file.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def results(file: Path = FILE) -> dict[str, dict[str, Result]]:
    """The rows of each client that was run in the version that is pinned now."""
    return {
        name: {row: Result(**it) for row, it in held["rows"].items()}
        for name, held in _read(file).items()
        if name in PROGRAMS and held["version"] == PROGRAMS[name].version
    }


def _read(file: Path) -> dict[str, dict]:  # type: ignore[type-arg]  # as it stands in the file
    return dict(json.loads(file.read_text())) if file.exists() else {}
