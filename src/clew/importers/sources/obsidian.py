"""Notes of an Obsidian vault in the project: what they mark as a decision, a rule, a lesson or a fact.

A vault is prose about everything. Only what is marked is read: `#decision` behind a line, `decision:: text` as Dataview
writes it, `> [!decision] text` as a callout, and a list item under a heading such as `Decisions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownLine, MarkdownPage, MarkdownSource, plain
from clew.importers.port import Candidate, CandidateKind, Finding, Roots, files_matching
from clew.importers.sentences import SHORTEST, shortened

KINDS: dict[str, CandidateKind] = {
    "decision": "decision",
    "rule": "rule",
    "convention": "rule",
    "preference": "preference",
    "lesson": "lesson",
    "rejected": "rejected",
    "fact": "fact",
}
_NAMES = "|".join(KINDS)
_TAGGED = re.compile(rf"(?:^|\s)#({_NAMES})s?(?:/[\w/-]+)?(?=\s|$)", re.IGNORECASE)
_INLINE = re.compile(rf"^[\[(]?({_NAMES})::\s*(.+?)[\])]?$", re.IGNORECASE)
_CALLOUT = re.compile(rf"^>\s*\[!({_NAMES})\][+-]?\s+(.+)$", re.IGNORECASE)
_HEADING = re.compile(rf"^({_NAMES})s$", re.IGNORECASE)
_BLOCK_ID = re.compile(r"\s\^([\w-]+)$")
_LINK = re.compile(r"!?\[\[(?:[^\]|]*\|)?([^\]|]*?)\]\]")
_COMMENT = re.compile(r"%%.*?%%")
_OTHER_TAG = re.compile(r"(?:^|\s)#[A-Za-z][\w/-]*")
_HIDDEN_FOLDERS = frozenset({".obsidian", ".trash", "node_modules", ".git"})


class ObsidianVault(MarkdownSource):
    name = "obsidian"
    title = "Marked lines of an Obsidian vault"

    def detect(self, roots: Roots) -> list[Path]:
        vaults = [path.parent for path in (*roots.project.glob(".obsidian"), *roots.project.glob("*/.obsidian"))]
        notes = [note for vault in vaults for note in files_matching(vault, ["**/*.md"])]
        return [note for note in notes if not _HIDDEN_FOLDERS & set(note.relative_to(roots.project).parts)]

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        for line in page.lines():
            marked = _marked(line)
            if marked is None:
                continue
            kind, text = marked
            block = _BLOCK_ID.search(text)
            statement = shortened(_bare(text))
            if len(statement) >= SHORTEST:
                origin = page.origin(line.number, f"^{block[1]}" if block else "")
                yield Candidate(kind, statement, origin, title=page.path.stem[:120])


def _marked(line: MarkdownLine) -> tuple[CandidateKind, str] | None:
    for pattern in (_INLINE, _CALLOUT):
        found = pattern.match(line.text)
        if found:
            return KINDS[found[1].lower()], found[2]
    tagged = _TAGGED.search(line.text)
    if tagged:
        return KINDS[tagged[1].lower()], line.text
    heading = _HEADING.match(line.headings[-1]) if line.headings and line.is_item else None
    return (KINDS[heading[1].lower()], line.text) if heading else None


def _bare(text: str) -> str:
    """Without tags, block ids and comments; a link by the words that are seen."""
    for pattern, instead in ((_COMMENT, ""), (_BLOCK_ID, ""), (_LINK, r"\1"), (_OTHER_TAG, "")):
        text = pattern.sub(instead, text)
    return plain(text)
