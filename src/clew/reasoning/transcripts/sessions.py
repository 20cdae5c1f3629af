"""Which session and which project a transcript file belongs to, read from its beginning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from clew.reasoning.transcripts.files import Allowance, lines, open_file
from clew.reasoning.transcripts.messages import message, parse, path_hints, session_mark
from clew.settings import project_root

HEAD_BYTES = 256 << 10
HEAD_LINES = 40
EARLY = ("user", "developer")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    id: str | None
    ts: str | None
    cwd: str | None
    hints: tuple[str, ...]

    def works_below(self, prefix: str) -> bool:
        """Whether any sign of the place of work lies in this directory; without a prefix everything does."""
        folder = prefix.rstrip("/")
        return not prefix or any(
            place == folder or place.startswith(f"{folder}/") for place in (self.cwd, *self.hints) if place
        )

    def project(self) -> dict[str, str]:
        place = self.cwd or next(iter(self.hints), None)
        if place is None:
            return {"id": "unknown", "name": "unknown", "confidence": "low"}
        name = PurePosixPath(place.replace("\\", "/")).name or place
        return {"id": place, "name": name, "confidence": "high" if self.cwd else "medium"}

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "ts": self.ts}


def session_info(path: Path, allowance: Allowance) -> SessionInfo:
    """Read the first lines of a file, within the allowance."""
    id = ts = cwd = None
    hints: list[str] = []
    part = allowance.share(HEAD_BYTES)
    with open_file(path) as file:
        for line in lines(file, part):
            record = parse(line.raw)
            mark = session_mark(record) if record else None
            if mark is not None:
                id, ts, cwd = id or mark.id, ts or mark.ts, cwd or mark.cwd
                hints += mark.hints
            said = message(record) if record else None
            if said is not None and said.role in EARLY:
                hints += path_hints(said.text)
            if line.number >= HEAD_LINES:
                break
    part.ran_out = False  # the beginning is enough
    allowance.settle(part)
    return SessionInfo(id, ts, cwd, tuple(dict.fromkeys(hints)))


def default_prefix() -> str:
    """The project that this server works in."""
    return str(project_root(Path.cwd()))
