"""Reconstructs how an apply changed the files, for a receipt that another program or another store wrote.

Clew's receipts contain each block whole, before and after. Mind-Mem's contain the files as they were before, and a DIFF
with the exact changes. If that is missing or does not match the snapshot, the operations of the proposal
are applied again, to the snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clew.errors import ClewError
from clew.memory.blocks import Block
from clew.memory.files.markdown import ParsedFile, parse_file
from clew.memory.governance.patches import Op, ProposalDraft
from clew.registry.context import Context

Texts = dict[str, str]
"""Block id -> its text."""

_DIFF = re.compile(r"^DIFF:\n((?:(?:  .*)?\n)+)", re.MULTILINE)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NAMED = re.compile(r"\+\+\+ (?:b/)?(.+)")
_NOTHING = "(no differences detected)"


@dataclass(frozen=True)
class BlockTexts:
    """A block before and after an apply."""

    file: str
    before: str | None
    after: str | None


Hunk = tuple[int, list[str]]
"""How many lines of the old file come before it, and its lines, each with its sign."""


def texts(parsed: ParsedFile) -> Texts:
    """The blocks of a file; of two with the same id, the first."""
    return {part.id: part.text for part in reversed(parsed.parts)}


def gaps(parsed: ParsedFile) -> Texts:
    """The text after each block, up to the next one."""
    return {part.id: part.gap for part in reversed(parsed.parts)}


def by_diff(receipt: str, kept: Mapping[str, str]) -> dict[str, Texts] | None:
    """The blocks of each file of the snapshot after the receipt's DIFF; None if it cannot be applied."""
    found = _DIFF.search(receipt)
    # Mind-Mem joins lines that already have line ends, which adds empty ones here; an empty source line has a sign.
    lines = [line[2:] for line in found.group(1).split("\n") if line[2:]] if found else []
    hunks = _hunks(lines)
    if not kept or (not hunks and _NOTHING not in lines):
        return None
    after = {path: _patched(text.split("\n"), hunks.get(path, [])) for path, text in kept.items()}
    if any(lines is None for lines in after.values()):
        return None
    return {path: texts(parse_file("\n".join(lines or []))) for path, lines in after.items()}


def in_blocks(diff: str) -> dict[str, BlockTexts] | None:
    """How one of Clew's own receipts changed each block; None if its diff does not contain the blocks whole."""
    found = {}
    # An empty line of a block has only its sign, a blank, which is lost in a Markdown file.
    for name, hunks in _hunks([line or " " for line in diff.split("\n")]).items():
        file, _, id = name.rpartition("#")
        if not file or len(hunks) != 1 or hunks[0][0] != 0:
            return None
        found[id] = BlockTexts(file, _side(hunks[0], "-"), _side(hunks[0], "+"))
    return found or None


def _side(hunk: Hunk, sign: str) -> str | None:
    lines = [line[1:] for line in hunk[1] if line[0] in f" {sign}"]
    return "\n".join(lines) if lines else None


def _hunks(lines: list[str]) -> dict[str, list[Hunk]]:
    """The hunks of each file. They are parsed by their counts: a removed line may look like a file header."""
    found: dict[str, list[Hunk]] = {}
    path, at = "", 0
    while at < len(lines):
        line, at = lines[at], at + 1
        head, named = _HUNK.match(line), _NAMED.match(line)
        if head is None:
            path = named.group(1) if named else path
            continue
        start, old, new = (int(number or 1) for number in head.groups())
        end = _end(lines, at, old, new)
        hunk = (start - 1 if old else start, lines[at:end])
        known = found.setdefault(path, [])
        # Mind-Mem 5 prints the whole diff once for each name it has used for a file; it was applied only once.
        if hunk not in known:
            known.append(hunk)
        at = end
    return found


def _end(lines: list[str], at: int, old: int, new: int) -> int:
    while at < len(lines) and (old > 0 or new > 0):
        old -= lines[at][0] in " -"
        new -= lines[at][0] in " +"
        at += 1
    return at


def _patched(old: list[str], hunks: list[Hunk]) -> list[str] | None:
    """The lines after the hunks; None if the file is not the one that they were created from."""
    result: list[str] = []
    at = 0
    for start, lines in hunks:
        if start < at:
            return None
        result += old[at:start]
        at = start
        for line in lines:
            if line[0] in " -":
                if at >= len(old) or old[at] != line[1:]:
                    return None
                at += 1
            if line[0] in " +":
                result.append(line[1:])
    return result + old[at:]


def by_operations(ctx: Context, ops: list[Op], kept: Mapping[str, str]) -> dict[str, Texts] | None:
    """The blocks of each file of the snapshot after the operations; None if one cannot be applied there."""
    draft = SnapshotDraft(ctx, kept)
    try:
        for op in ops:
            draft.run(op)
    except ClewError:
        return None
    after = {path: dict(found) for path, found in draft.kept.items()}
    for change in draft.changes.values():
        for found in after.values():
            found.pop(change.id, None)
        after.setdefault(change.file, {})[change.id] = change.text
    return after


class SnapshotDraft(ProposalDraft):
    """A draft on the files of a snapshot instead of the blocks of today."""

    def __init__(self, ctx: Context, kept: Mapping[str, str]) -> None:
        super().__init__(ctx)
        self.kept = {path: texts(parse_file(text)) for path, text in kept.items()}

    def find(self, id: str) -> Block | None:
        for path, found in self.kept.items():
            if id in found:
                return Block(None, id, 0, path, None, found[id], "apply", None, None, 0, None, None, False, {})
        return None
