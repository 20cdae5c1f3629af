"""Hand edits into the store: the changed stretch of a file becomes new versions of the blocks in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import orjson

from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files import places
from clew.memory.files.file_merge import common_prefix, common_suffix, header_after, header_before
from clew.memory.files.markdown import HEADER, ParsedFile, gap_problems, parse_file
from clew.memory.files.places import BlockText, Region, size
from clew.registry.context import Context
from clew.store.workspaces import declare_events

declare_events({"memory_edited": "A person's edit of a memory file was read back."})

PORTION, PORTION_CHARS = 1000, 1_000_000
"""Blocks and characters that one transaction reads in from a long new file; other writers get their turn in between."""


@dataclass(frozen=True)
class EditedStretch:
    """A stretch of a file, the blocks that stood there, and the text that stands there now."""

    region: Region
    old_ids: list[str]
    edited: ParsedFile


def rendered(ctx: Context, path: str) -> str:
    """A file of blocks as the store has it."""
    head = ctx.tx.value("SELECT preamble FROM block_file WHERE workspace = ? AND path = ?", ctx.workspace, path) or ""
    # As tuples, and joined once: a dictionary for each block of a long file would take more memory than its text.
    return head + "".join(chain.from_iterable(ctx.tx.tuples(_STANDING[ctx.tx.engine], ctx.workspace, path)))


_LIVE = "block.workspace = place.workspace AND block.id = place.id AND block.until IS NULL AND block.gone = 0"
_HERE = "place.workspace = ? AND place.file = ?"
_STANDING = {
    # Both begin with the places of the file: most blocks stand in another one, which the planners cannot know.
    "sqlite": f"SELECT block.text, place.gap FROM place CROSS JOIN block WHERE {_HERE} AND {_LIVE} ORDER BY ordinal",
    "postgres": (
        "SELECT block.text, place.gap FROM place CROSS JOIN LATERAL"
        f" (SELECT text FROM block WHERE {_LIVE} OFFSET 0) AS block WHERE {_HERE} ORDER BY place.ordinal"
    ),
}


def portions(text: str) -> list[int]:
    """Where to cut a long file, so that reading it in does not hold the store for long."""
    cuts, begun, count = [], 0, 0
    for match in HEADER.finditer(text):
        if count and (count >= PORTION or match.start() - begun > PORTION_CHARS):
            cuts.append(match.start())
            begun, count = match.start(), 0
        count += 1
    return [*cuts, len(text)]


def plan(ctx: Context, path: str, stored: str, edited: str) -> EditedStretch:
    """Find the stretch, cut at block borders that both texts share and the store knows."""
    places.file_row(ctx, path)
    prefix = common_prefix(stored, edited)
    suffix = common_suffix(stored, edited, min(len(stored), len(edited)) - prefix)
    # Outwards to the next headers: an edit in the middle of a block concerns that block whole.
    start, low = _start(ctx, path, stored, prefix)
    end, high = _end(ctx, path, stored, len(stored) - suffix)
    text = stored[start:end]
    region = Region(path, low, high, size(stored[:start]), stored.count("\n", 0, start), size(text), text.count("\n"))
    return EditedStretch(region, _ids_in(ctx, region), parse_file(edited[start : len(edited) - (len(stored) - end)]))


def _start(ctx: Context, path: str, text: str, end: int) -> tuple[int, int]:
    while True:
        found = header_before(text, end)
        if found is None:
            return 0, 0
        ordinal = _ordinal(ctx, path, text, *found)
        if ordinal is not None:
            return found[1], ordinal - 1
        end = found[1]


def _end(ctx: Context, path: str, text: str, start: int) -> tuple[int, int | None]:
    while True:
        found = header_after(text, start)
        if found is None:
            return len(text), None
        ordinal = _ordinal(ctx, path, text, *found)
        if ordinal is not None:
            return found[1], ordinal
        start = found[1]


def _ordinal(ctx: Context, path: str, text: str, id: str, position: int) -> int | None:
    """The block's ordinal, unless the header is a second one with the same id."""
    place = places.where(ctx, [id]).get(id)
    if place is None or place.file != path or place.byte != size(text[:position]):
        return None
    return place.ordinal


def _ids_in(ctx: Context, region: Region) -> list[str]:
    sql = "SELECT id FROM place WHERE workspace = ? AND file = ? AND ordinal > ?"
    bound = "" if region.high is None else " AND ordinal < ?"
    params = [ctx.workspace, region.file, region.low, *([] if region.high is None else [region.high])]
    return [row["id"] for row in ctx.tx.all(f"{sql}{bound} ORDER BY ordinal", *params)]


def take_in(ctx: Context, plans: list[EditedStretch]) -> dict[str, Block]:
    """Make versions of what changed, over all files at once so that a moved block is one change."""
    new_ids = {part.id for item in plans for part in item.edited.parts}
    # Over all files: a block that left one file and appeared in another has moved, and was not removed.
    leaving = {id for item in plans for id in item.old_ids} - new_ids
    freed = {id for item in plans for id in item.old_ids}
    changed: list[Block] = []
    settled: set[str] = set()
    for item in plans:
        changed += _take_in_file(ctx, item, freed, settled)
    changed += _remove(ctx, sorted(leaving))
    # Last, because only now the ids that are gone are free.
    changed += _promote(ctx, sorted(leaving))
    return {block.id: block for block in changed}


def _promote(ctx: Context, gone: list[str]) -> list[Block]:
    """Of two blocks with one id, the second was kept as text. When the first goes, the second becomes a block."""
    changed = []
    for path in _files_repeating(ctx, gone):
        text = rendered(ctx, path)
        region = Region(path, 0, None, 0, 0, size(text), text.count("\n"))
        whole = EditedStretch(region, _ids_in(ctx, region), parse_file(text))
        changed += _take_in_file(ctx, whole, set(whole.old_ids), set())
    return changed


def _files_repeating(ctx: Context, ids: list[str]) -> list[str]:
    if not ids:
        return []
    sql = (
        "SELECT file, problems FROM place WHERE workspace = ? AND problems IS NOT NULL"
        " UNION SELECT path AS file, problems FROM block_file WHERE workspace = ? AND problems IS NOT NULL"
    )
    rows = ctx.tx.all(sql, ctx.workspace, ctx.workspace)
    return sorted({row["file"] for row in rows if any(f'"{id} is used twice' in row["problems"] for id in ids)})


def _take_in_file(ctx: Context, item: EditedStretch, freed: set[str], settled: set[str]) -> list[Block]:
    path = item.region.file
    ctx.ws.next_seq()
    before, parts = _without_repeats(ctx, item, freed, settled)
    old = {block.id: block for block in blocks.current(ctx, ids=[part.id for part in parts])}
    changed = {
        part.id: part.text
        for part in parts
        if part.id not in old or (old[part.id].text, old[part.id].file) != (part.text, path)
    }
    versions = blocks.record_all(ctx, changed, file=path, origin="edit")
    places.replace(ctx, item.region, parts, before)
    if item.region.byte == 0:
        _keep_preamble(ctx, path, before)
    shown = {"changed": list(changed)[:50], "count": len(changed)}
    ctx.emit("memory", "memory_edited", path, shown)
    return versions


def _keep_preamble(ctx: Context, path: str, text: str) -> None:
    problems = gap_problems(text)
    ctx.tx.run(
        "UPDATE block_file SET preamble = ?, problems = ? WHERE workspace = ? AND path = ?",
        text,
        orjson.dumps(problems).decode() if problems else None,
        ctx.workspace,
        path,
    )


def _without_repeats(
    ctx: Context, item: EditedStretch, freed: set[str], settled: set[str]
) -> tuple[str, list[BlockText]]:
    """The parts of a stretch. A second block with a taken id stays in the file as text, and `scan` reports it."""
    elsewhere = places.where(ctx, [part.id for part in item.edited.parts if part.id not in freed])
    before = item.edited.preamble
    parts: list[BlockText] = []
    for part in item.edited.parts:
        if part.id not in settled and part.id not in elsewhere:
            settled.add(part.id)
            parts.append(blocks.standing(part.id, part.text, part.gap))
        elif parts:
            last = parts[-1]
            parts[-1] = blocks.standing(last.id, last.text, last.gap + part.text + part.gap)
        else:
            before += part.text + part.gap
    return before, parts


def _remove(ctx: Context, ids: Iterable[str]) -> list[Block]:
    gone = blocks.record_removals(ctx, blocks.current(ctx, ids=ids), origin="edit")
    for block in gone:
        ctx.emit("memory", "block_removed", block.id, {"file": block.file, "origin": "edit"})
    return gone
