"""The memory that Claude Code keeps of a project by itself: ~/.claude/projects/<project>/memory/*.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownPage, MarkdownSource, plain
from clew.importers.port import Candidate, CandidateKind, Finding, Roots, files_matching
from clew.importers.sentences import SHORTEST, shortened

INDEX = "MEMORY.md"
KINDS: dict[str, CandidateKind] = {"user": "preference", "feedback": "rule", "project": "fact", "reference": "fact"}
_OTHER = re.compile(r"[^A-Za-z0-9]")


class ClaudeMemory(MarkdownSource):
    name = "claude_memory"
    title = "Claude Code's own memory of this project"

    def detect(self, roots: Roots) -> list[Path]:
        folder = roots.home / ".claude" / "projects" / _OTHER.sub("-", str(roots.project)) / "memory"
        # The index only points to the other files.
        return [path for path in files_matching(folder, ["*.md"]) if path.name != INDEX]

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        kind = KINDS.get(page.field("type"), "fact")
        lines = list(page.lines())
        statement = shortened(" ".join(plain(line.text) for line in lines))
        if len(statement) < SHORTEST:
            yield page.malformed("has no text")
            return
        title = page.field("name") or page.path.stem
        yield Candidate(kind, statement, page.origin(lines[0].number), title=title[:120])
