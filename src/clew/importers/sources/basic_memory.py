"""Notes of basic-memory: observations `- [category] text #tag (context)` under front matter with a permalink."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownPage, MarkdownSource
from clew.importers.port import Candidate, CandidateKind, Finding, Roots, files_matching

_OBSERVATION = re.compile(r"^\[([a-z][\w -]*)\]\s+(.+?)(?:\s+\(([^()]*)\))?$", re.IGNORECASE)
_TAG = re.compile(r"\s#[\w/-]+")
KINDS: dict[str, CandidateKind] = {
    "decision": "decision",
    "rule": "rule",
    "requirement": "rule",
    "preference": "preference",
    "lesson": "lesson",
    "problem": "lesson",
    "rejected": "rejected",
}


class BasicMemory(MarkdownSource):
    name = "basic_memory"
    title = "Notes of basic-memory in this project"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, ["basic-memory/**/*.md", ".basic-memory/**/*.md"])

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        title = page.field("title") or page.path.stem
        # Read as raw lines: the brackets of a category look like a check box to other readers of lists.
        for line in page.lines():
            found = _OBSERVATION.match(line.text) if line.is_item else None
            if found is None:
                continue
            kind = KINDS.get(found[1].lower(), "fact")
            statement = _TAG.sub("", f" {found[2]}").strip()
            origin = page.origin(line.number, page.field("permalink"))
            yield Candidate(kind, statement, origin, why=found[3] or "", title=title[:120])
