"""Serena's memories of a project: .serena/memories/**/*.md, one topic a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownPage, MarkdownSource, plain
from clew.importers.port import Candidate, CandidateKind, Finding, Roots, files_matching
from clew.importers.sentences import SHORTEST, is_directive


class SerenaMemories(MarkdownSource):
    name = "serena"
    title = "Serena's memories"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, [".serena/memories/**/*.md"])

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        for line in page.lines():
            statement = plain(line.text)
            if line.is_item and len(statement) >= SHORTEST:
                kind: CandidateKind = "rule" if is_directive(statement) else "fact"
                yield Candidate(kind, statement, page.origin(line.number), title=page.path.stem)
