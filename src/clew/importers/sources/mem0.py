"""Exports of mem0, laid into the project: the JSON of `get_all`, and the Markdown of its coding plugin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.json_lines import json_document
from clew.importers.markdown_lines import split_front_matter, without_hidden
from clew.importers.port import (
    Candidate,
    CandidateKind,
    Finding,
    Malformed,
    Provenance,
    Roots,
    files_matching,
    read_text,
)
from clew.importers.sentences import SHORTEST, shortened

KINDS: dict[str, CandidateKind] = {
    "decision": "decision",
    "convention": "rule",
    "preference": "preference",
    "user_preference": "preference",
    "anti_pattern": "rejected",
    "learning": "lesson",
}
_BLOCK = re.compile(r"^---\n(?=id: )", re.MULTILINE)


class Mem0Export:
    name = "mem0"
    title = "An export of mem0"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, ["mem0.json", "mem0-export-*.json", "mem0-export-*.md"])

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        return _of_markdown(roots, path) if path.suffix == ".md" else _of_json(roots, path)


def _of_json(roots: Roots, path: Path) -> Iterator[Finding]:
    found = json_document(roots, path)
    if isinstance(found, Malformed):
        yield found
        return
    shown = roots.shown(path)
    results = found.get("results") if isinstance(found, dict) else found
    if not isinstance(results, list):
        yield Malformed(shown, 1, "has no list `results`")
        return
    for number, item in enumerate(results, 1):
        memory = item.get("memory") if isinstance(item, dict) else None
        if not isinstance(memory, str) or len(memory) < SHORTEST:
            yield Malformed(shown, 0, f"result {number} has no text `memory`")
            continue
        day = str(item.get("created_at") or "")[:10]
        yield Candidate("fact", memory, Provenance("mem0", shown, 0, str(item.get("id") or number), day))


def _of_markdown(roots: Roots, path: Path) -> Iterator[Finding]:
    text = read_text(roots, path)
    if isinstance(text, Malformed):
        yield text
        return
    hidden = without_hidden(text)
    starts = [found.start() for found in _BLOCK.finditer(hidden)]
    if not starts:
        yield Malformed(roots.shown(path), 1, "has no block that begins with an id")
    for start, end in zip(starts, [*starts[1:], len(hidden)], strict=True):
        yield _block(roots.shown(path), 1 + hidden.count("\n", 0, start), hidden[start:end])


def _block(shown: str, line: int, text: str) -> Finding:
    front = split_front_matter(text)
    statement = shortened(" ".join(front.body.split()))
    if len(statement) < SHORTEST:
        return Malformed(shown, line, "is a memory without text")
    named = {name: str(front.fields.get(name) or "") for name in ("id", "created_at", "type", "files")}
    origin = Provenance("mem0", shown, line, named["id"], named["created_at"][:10])
    about = tuple(part.strip() for part in named["files"].split(",") if part.strip())
    return Candidate(KINDS.get(named["type"], "fact"), statement, origin, about=about)
