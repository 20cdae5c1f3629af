"""beads: open issues and decisions of .beads/issues.jsonl, and the memories that its export adds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.importers.json_lines import ImportedLine, JsonLinesSource
from clew.importers.port import Candidate, CandidateStep, Finding, Roots, TaskCandidate, files_matching
from clew.importers.sentences import SHORTEST, shortened

_OPEN = frozenset({"open", "in_progress", "blocked", "deferred", "pinned", "hooked"})
_WORK = frozenset({"bug", "feature", "task", "epic", "chore", "spike", "story"})


class Beads(JsonLinesSource):
    name = "beads"
    title = "Issues, decisions and memories of beads"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, [".beads/issues.jsonl", ".beads/*export*.jsonl"])

    def findings(self, line: ImportedLine) -> Iterator[Finding]:
        if line.field("_type") == "memory":
            yield _memory(line)
        elif line.field("issue_type") == "decision":
            yield _decision(line)
        elif line.field("issue_type") in _WORK and line.field("status") in _OPEN:
            yield _issue(line)


def _memory(line: ImportedLine) -> Finding:
    text = line.field("value")
    if len(text) < SHORTEST:
        return line.malformed("is a memory without text")
    return Candidate("fact", text, line.origin(line.field("key")))


def _decision(line: ImportedLine) -> Finding:
    title = line.field("title")
    if len(title) < SHORTEST:
        return line.malformed("is a decision without a title")
    day = (line.field("closed_at") or line.field("updated_at"))[:10]
    parts = (line.field(name) for name in ("design", "description", "close_reason"))
    why = shortened(" ".join(part for part in parts if part))
    return Candidate("decision", title, line.origin(line.field("id"), day), why=why)


def _issue(line: ImportedLine) -> Finding:
    title = line.field("title")
    if not title:
        return line.malformed("is an issue without a title")
    criteria = tuple(part for part in (line.field("acceptance_criteria"),) if part)
    description = "\n\n".join(part for part in (line.field("description"), line.field("design")) if part)
    return TaskCandidate(title, (CandidateStep(title, criteria),), line.origin(line.field("id")), description)
