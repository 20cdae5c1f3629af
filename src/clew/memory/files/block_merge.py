"""Three-way merge of memory files, block by block: the git merge driver for memory in a repository.

Records that only one side added or changed are taken from that side. A record in which both sides
changed the same field differently is written twice between conflict markers, as git does with lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clew.memory.files.field_merge import merge_fields
from clew.memory.files.markdown import GAP, MarkdownPart, ParsedFile, parse_file


@dataclass(frozen=True)
class MergedFile:
    text: str
    conflicts: tuple[str, ...]
    """Ids of the records between conflict markers."""


def merge_files(base: str, ours: str, theirs: str) -> MergedFile | None:
    """The merged file; None if an id occurs twice in one of them, so that blocks cannot be matched."""
    sides = [parse_file(text) for text in (base, ours, theirs)]
    by_id = [{part.id: part for part in side.parts} for side in sides]
    if any(len(known) != len(side.parts) for known, side in zip(by_id, sides, strict=True)):
        return None
    parts, conflicts = [], []
    for id in _order(sides[1].parts, sides[2].parts):
        found = [known.get(id) for known in by_id]
        text, is_conflict = _merged_block(*(part.text if part else None for part in found))
        conflicts += [id] if is_conflict else []
        if text is not None:
            parts.append(MarkdownPart(id, text, _gap(found)))
    preamble = _side_that_changed(*(side.preamble for side in sides)) or ""
    return MergedFile(ParsedFile(preamble, _separated(parts)).join(), tuple(conflicts))


def _order(ours: Sequence[MarkdownPart], theirs: Sequence[MarkdownPart]) -> list[str]:
    """Ids in our order; ids that only they have follow the block that they follow there."""
    order = [part.id for part in ours]
    known, previous = set(order), -1
    for part in theirs:
        if part.id not in known:
            order.insert(previous + 1, part.id)
            known.add(part.id)
        previous = order.index(part.id)
    return order


def _merged_block(base: str | None, ours: str | None, theirs: str | None) -> tuple[str | None, bool]:
    """The merged block, and whether a person has to decide. None: the block is gone."""
    if ours == theirs or theirs == base:
        return ours, False
    if ours == base:
        return theirs, False
    if ours is None or theirs is None:
        return _marked(ours, theirs), True  # one side removed what the other one changed
    text, conflicts = merge_fields(base, ours, theirs)
    return (_marked(ours, theirs), True) if conflicts else (text, False)


def _marked(ours: str | None, theirs: str | None) -> str:
    return "\n".join(
        ("<<<<<<< ours", *([ours] if ours else ()), "=======", *([theirs] if theirs else ()), ">>>>>>> theirs")
    )


def _side_that_changed(base: str | None, ours: str | None, theirs: str | None) -> str | None:
    return theirs if ours == base else ours


def _gap(found: Sequence[MarkdownPart | None]) -> str:
    base, ours, theirs = (part.gap if part else None for part in found)
    return (_side_that_changed(base, ours, theirs) if ours is not None and theirs is not None else ours or theirs) or ""


def _separated(parts: list[MarkdownPart]) -> list[MarkdownPart]:
    """The last block of a file may be in the middle after the merge: a header must begin on its own line."""
    return [
        part if at == len(parts) - 1 or "\n" in part.gap else replace(part, gap=GAP) for at, part in enumerate(parts)
    ]
