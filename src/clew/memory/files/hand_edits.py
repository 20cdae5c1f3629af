"""Imports hand edits: the current text of a file becomes new versions of its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files import places
from clew.memory.files.markdown import MarkdownPart, ParsedFile, gap_problems, parse_file, repeated_ids
from clew.memory.files.places import BlockText
from clew.registry.context import Context
from clew.store.workspaces import declare_events

declare_events({"memory_edited": "A person's edit of a memory file was read back."})

EDIT = "edit"
"""The origin of versions that a person wrote into a file."""
PORTION, PORTION_CHARS = 1000, 1_000_000
"""Maximum changed blocks and characters per transaction; other writers can run in between."""


def rendered(ctx: Context, path: str) -> str:
    """The text of a file of blocks, rendered from the store."""
    # Joined by the database: a file of tens of thousands of blocks is rendered with each of its records.
    return (places.preamble_of(ctx, path) or "") + (ctx.tx.value(_TEXT[ctx.tx.engine], ctx.workspace, path) or "")


def stored_file(ctx: Context, path: str) -> ParsedFile:
    """The same in parts: without blocks whose id is already taken, which are plain text here."""
    rows = ctx.tx.tuples(_CURRENT[ctx.tx.engine], ctx.workspace, path)
    return ParsedFile(places.preamble_of(ctx, path) or "", [MarkdownPart(*row) for row in rows])


_LIVE = "block.workspace = place.workspace AND block.id = place.id AND block.until IS NULL AND block.gone = 0"
_HERE = "place.workspace = ? AND place.file = ?"
_CURRENT = {
    # Both begin with the places of the file: most blocks are in another one, which the planners cannot know.
    "sqlite": (
        f"SELECT block.id, block.text, place.gap FROM place CROSS JOIN block WHERE {_HERE} AND {_LIVE} ORDER BY ordinal"
    ),
    "postgres": (
        "SELECT block.id, block.text, place.gap FROM place CROSS JOIN LATERAL"
        f" (SELECT id, text FROM block WHERE {_LIVE} OFFSET 0) AS block WHERE {_HERE} ORDER BY place.ordinal"
    ),
}

_TEXT = {
    "sqlite": f"SELECT group_concat(text || gap, '') FROM ({_CURRENT['sqlite']})",
    "postgres": f"SELECT string_agg(text || gap, '') FROM ({_CURRENT['postgres']}) AS part",
}
"""Both return the parts in the order of the inner query."""


def portion_of(stored: ParsedFile, edited: ParsedFile) -> ParsedFile:
    """The part of an edit that one transaction can take: the edited file up to a block, and the rest as stored.

    After each portion the file is in a valid state, so any process can continue from it.
    """
    known = {part.id: part.text for part in stored.parts}
    seen: set[str] = set()
    count = chars = 0
    for at, part in enumerate(edited.parts):
        is_repeat = part.id in seen  # plain text, which costs nothing
        seen.add(part.id)
        if is_repeat or known.get(part.id) == part.text:
            continue
        count, chars = count + 1, chars + len(part.text) + len(part.gap)
        if count > PORTION or (chars > PORTION_CHARS and count > 1):
            taken = edited.parts[:at]
            ids = {part.id for part in taken}
            return ParsedFile(edited.preamble, [*taken, *(part for part in stored.parts if part.id not in ids)])
    return edited


@dataclass
class _Intake:
    """The blocks of some files that are imported together."""

    free: set[str]
    """Ids that the store has in these files, or nowhere."""
    settled: set[str] = field(default_factory=set)
    """Ids that are in these files now; another block with such an id is plain text."""

    def place(self, parsed: ParsedFile) -> tuple[str, list[BlockText]]:
        """The preamble and the blocks. A second block with a taken id stays in the file as text, and
        `scan` reports it."""
        head: list[str] = [parsed.preamble]
        taken: list[tuple[MarkdownPart, list[str]]] = []
        for part in parsed.parts:
            if part.id in self.free and part.id not in self.settled:
                self.settled.add(part.id)
                taken.append((part, [part.gap]))
            else:
                (taken[-1][1] if taken else head).extend((part.text, part.gap))
        return "".join(head), [blocks.standing(part.id, part.text, "".join(gap)) for part, gap in taken]


def take_in(ctx: Context, files: Mapping[str, ParsedFile], origin: str = EDIT) -> dict[str, Block]:
    """Create versions of what changed, over all files at once so that a moved block is one change."""
    old_ids = {place.id for path in files for place in places.in_file(ctx, path)}
    new_ids = {part.id for parsed in files.values() for part in parsed.parts}
    elsewhere = places.where(ctx, sorted(new_ids - old_ids))
    intake = _Intake((new_ids | old_ids) - elsewhere.keys())
    changed = [block for path in files for block in _take_in_file(ctx, path, files[path], intake, origin)]
    leaving = sorted(old_ids - new_ids)
    changed += _remove(ctx, leaving, origin)
    # Last, because only now the ids that are gone are free.
    changed += _promote(ctx, leaving)
    return {block.id: block for block in changed}


def _take_in_file(ctx: Context, path: str, parsed: ParsedFile, intake: _Intake, origin: str) -> list[Block]:
    preamble, parts = intake.place(parsed)
    old = {part.id: part.text for part in stored_file(ctx, path).parts}
    changed = {part.id: part.text for part in parts if old.get(part.id) != part.text}
    versions = blocks.record_all(ctx, changed, file=path, origin=origin)
    places.write_file(ctx, path, preamble, gap_problems(preamble), parts)
    shown = {"changed": list(changed)[:50], "count": len(changed)}
    ctx.emit("memory", "memory_edited", path, shown)
    return versions


def _remove(ctx: Context, ids: Iterable[str], origin: str) -> list[Block]:
    gone = blocks.record_removals(ctx, blocks.current(ctx, ids=ids), origin=origin)
    for block in gone:
        ctx.emit("memory", "block_removed", block.id, {"file": block.file, "origin": origin})
    return gone


def _promote(ctx: Context, gone: Sequence[str]) -> list[Block]:
    """Of two blocks with one id, the second was kept as text. When the first is removed, the second
    becomes a block."""
    files = {path: parse_file(rendered(ctx, path)) for path in _files_repeating(ctx, set(gone))}
    return list(take_in(ctx, files).values()) if files else []


def _files_repeating(ctx: Context, ids: set[str]) -> list[str]:
    if not ids:
        return []
    sql = "SELECT path, problems FROM block_file WHERE workspace = ? AND problems IS NOT NULL"
    flawed = [(place.file, place.problems or "[]") for place in places.flawed(ctx)]
    flawed += [(path, problems) for path, problems in ctx.tx.tuples(sql, ctx.workspace)]
    return sorted({path for path, problems in flawed if not ids.isdisjoint(repeated_ids(orjson.loads(problems)))})
