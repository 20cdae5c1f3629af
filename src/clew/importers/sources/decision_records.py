"""Architecture decision records: MADR with front matter, and Nygard's form with a heading for the status."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownPage, MarkdownSource, plain
from clew.importers.port import Candidate, CandidateKind, Finding, Roots, files_matching
from clew.importers.sentences import shortened

FOLDERS = (
    "docs/adr",
    "docs/adrs",
    "docs/decisions",
    "docs/architecture/decisions",
    "doc/adr",
    "adr",
    "decisions",
    "backlog/decisions",
)
_NUMBERED = re.compile(r"^(?:(?:adr|decision)[-_])?(\d{1,5})[-_ ].+\.md$", re.IGNORECASE)
_TITLE = re.compile(r"^#\s+(?:(?:ADR[- ]?)?\d+[.:)]?\s*[-:]?\s*)?(.+?)\s*$", re.MULTILINE | re.IGNORECASE)
_STATUS_LINE = re.compile(r"^\s*[-*]?\s*\**status\**\s*:\s*\**\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_DATE_LINE = re.compile(r"^\s*[-*]?\s*\**date\**\s*:\s*\**\s*(\d{4}-\d{2}-\d{2})", re.MULTILINE | re.IGNORECASE)
_OVER = ("superseded", "deprecated")
_DECISIONS = ("decision outcome", "decision")
_REASONS = ("context and problem statement", "context", "rationale", "consequences")


class DecisionRecords(MarkdownSource):
    name = "decision_records"
    title = "Architecture decision records"

    def detect(self, roots: Roots) -> list[Path]:
        found = files_matching(roots.project, [f"{folder}/**/*.md" for folder in FOLDERS])
        return [path for path in found if _NUMBERED.match(path.name)]

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        title = _TITLE.search(page.front.body)
        if title is None:
            yield page.malformed("has no heading that names the decision", 1)
            return
        status = _status(page)
        if status.startswith(_OVER):
            return  # its successor is a separate record
        kind: CandidateKind = "rejected" if status.startswith("reject") else "decision"
        yield _candidate(page, plain(title[1]), kind)


def _candidate(page: MarkdownPage, title: str, kind: CandidateKind) -> Candidate:
    sections = page.sections()
    line, decision = _first(sections, _DECISIONS)
    _, reason = _first(sections, _REASONS)
    number = _NUMBERED.match(page.path.name)
    id = f"ADR {int(number[1])}" if number else ""
    dated = _DATE_LINE.search(page.front.body)
    day = page.field("date") or (dated[1] if dated else "")
    origin = page.origin(line or page.front.first_line, id, day)
    # The title is the decision in a sentence; the section says it at length.
    why = shortened(" ".join(plain(part) for part in (decision, reason) if part))
    return Candidate(kind, title, origin, why=why)


def _first(sections: dict[str, tuple[int, str]], names: tuple[str, ...]) -> tuple[int, str]:
    return next((sections[name] for name in names if sections.get(name, (0, ""))[1]), (0, ""))


def _status(page: MarkdownPage) -> str:
    line = _STATUS_LINE.search(page.front.body)
    found = page.field("status") or (line[1] if line else "") or page.sections().get("status", (0, ""))[1]
    return plain(found).strip("_ ").lower()
