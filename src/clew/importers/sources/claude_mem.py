"""The database of claude-mem: its observations of this project that are decisions, fixes or discoveries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.errors import ClewError
from clew.importers.port import Candidate, CandidateKind, Finding, Malformed, Provenance, Roots
from clew.importers.sentences import SHORTEST, shortened
from clew.private_parts import without_private

PLACE = (".claude-mem", "claude-mem.db")
KINDS: dict[str, CandidateKind] = {"decision": "decision", "bugfix": "lesson", "discovery": "fact"}


class ClaudeMem:
    name = "claude_mem"
    title = "claude-mem's observations of this project"

    def detect(self, roots: Roots) -> list[Path]:
        path = roots.home.joinpath(*PLACE)
        return [path] if path.is_file() else []

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        from clew.store.sqlite_files import opened_foreign

        try:
            with opened_foreign(path) as store:
                rows = list(store.rows("observations", "id", project=roots.project.name))
        except ClewError as problem:
            yield Malformed(roots.shown(path), 0, problem.message)
            return
        for row in rows:
            kind, title = KINDS.get(str(row.get("type"))), row.get("title")
            if kind is None:
                continue
            if not isinstance(title, str) or len(title) < SHORTEST:
                yield Malformed(roots.shown(path), 0, f"observation {row.get('id')} has no title")
                continue
            day = str(row.get("created_at") or "")[:10]
            origin = Provenance("claude_mem", roots.shown(path), 0, f"observation {row.get('id')}", day)
            why = shortened(without_private(str(row.get("narrative") or "")))
            yield Candidate(kind, title, origin, why=why)
