"""Backlog.md: the open tasks of backlog/tasks, one Markdown file each, with their acceptance criteria."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownPage, MarkdownSource, plain
from clew.importers.port import CandidateStep, Finding, Roots, TaskCandidate, files_matching

_CRITERIA = ("Acceptance Criteria", "Definition of Done")


class BacklogMd(MarkdownSource):
    name = "backlog_md"
    title = "Open tasks of Backlog.md"

    def detect(self, roots: Roots) -> list[Path]:
        # `completed`, `archive` and `drafts` are other folders; decisions are a source of their own.
        return files_matching(roots.project, ["backlog/tasks/*.md"])

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        title = page.field("title")
        if not title:
            yield page.malformed("has no title in its front matter", 1)
            return
        if page.field("status").lower() in ("done", "closed", "archived"):
            return
        criteria = tuple(
            plain(line.text).lstrip("#0123456789 ")
            for line in page.lines()
            if line.is_item and line.box == " " and line.headings and line.headings[-1] in _CRITERIA
        )
        _, description = page.sections().get("description", (0, ""))
        origin = page.origin(page.front.first_line, page.field("id"))
        yield TaskCandidate(title, (CandidateStep(title, criteria),), origin, description)
