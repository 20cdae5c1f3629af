"""Open tasks of spec-driven work: changes of OpenSpec that are not archived, and features of spec-kit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownPage, MarkdownSource, plain
from clew.importers.port import CandidateStep, Finding, Roots, TaskCandidate, files_matching

PATTERNS = ("openspec/changes/*/tasks.md", "specs/*/tasks.md")
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*\.?|T\d+(?:\s+\[[^\]]+\])*)\s+")
"""`1.2` of OpenSpec, `T012 [P] [US1]` of spec-kit."""


class SpecTasks(MarkdownSource):
    name = "spec_tasks"
    title = "Open tasks of specifications (OpenSpec, spec-kit)"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, PATTERNS)

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        listed = [line for line in page.lines() if line.is_item and line.box]
        if not listed:
            yield page.malformed("has no task with a check box", 1)
        steps = [CandidateStep(_NUMBER.sub("", plain(line.text))) for line in listed if line.box == " "]
        if steps:
            change = page.path.parent.name
            title = re.sub(r"^\d+-", "", change).replace("-", " ").capitalize()
            yield TaskCandidate(title, tuple(steps), page.origin(listed[0].number, change))
