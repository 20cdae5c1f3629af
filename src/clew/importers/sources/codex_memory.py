"""The memory that Codex keeps by itself: the parts of ~/.codex/memories/raw_memories.md that come from this project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.history.port import ProjectPlaces
from clew.importers.markdown_lines import MarkdownPage, MarkdownSource, lines_of, plain
from clew.importers.port import Candidate, CandidateKind, Finding, Roots, files_matching
from clew.importers.sentences import SHORTEST, is_directive, shortened

_THREAD = re.compile(r"^## Thread `([^`]+)`[ \t]*$", re.MULTILINE)
_CWD = re.compile(r"^cwd: (.+)$", re.MULTILINE)
_DAY = re.compile(r"^updated_at: (\d{4}-\d{2}-\d{2})", re.MULTILINE)


class CodexMemory(MarkdownSource):
    name = "codex_memory"
    title = "Codex's own memory of this project"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.home / ".codex" / "memories", ["raw_memories.md"])

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        body, places = page.front.body, ProjectPlaces(page.roots.project, page.roots.home)
        starts = list(_THREAD.finditer(body))
        for number, start in enumerate(starts):
            end = starts[number + 1].start() if number + 1 < len(starts) else len(body)
            text = body[start.end() : end]
            first = page.front.first_line + body.count("\n", 0, start.end())
            cwd = _CWD.search(text)
            if cwd is None:
                yield page.malformed(f"thread {start[1][:60]} names no cwd", first)
            elif places.is_inside(cwd[1].strip()):
                yield from _of_thread(page, start[1], text, first)


def _of_thread(page: MarkdownPage, thread: str, text: str, first: int) -> Iterator[Finding]:
    day = _DAY.search(text)
    for line in lines_of(text, first):
        statement = shortened(plain(line.text))
        if line.is_item and len(statement) >= SHORTEST:
            kind: CandidateKind = "rule" if is_directive(statement) else "fact"
            yield Candidate(kind, statement, page.origin(line.number, f"thread {thread}", day[1] if day else ""))
