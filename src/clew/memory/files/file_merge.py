"""What a hand-edited file becomes: the person's edit, with what the store changed meanwhile in blocks left alone.

A person may also save from a stale buffer: the editor read the file, something was approved into it, and then the
editor saved the old text with a change of its own. Such a save lacks blocks that its author never saw and holds others
as they were. Taking that for edits would undo what was approved. So an approved change survives a save on three
conditions: it is recent, the saved text holds nothing of it, and the save changes something else too. A save that only
leaves blocks out removes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.markdown import HEADER, MarkdownPart, ParsedFile, parse_file
from clew.memory.governance.receipts import is_taken_back, taken_back
from clew.registry.context import Context
from clew.store.database import placeholders
from clew.store.events import subjects_changed

_STRIDE = 1 << 16
"""Texts are compared in slices of this many characters first: equal slices cost one comparison in C each."""


def merged(ctx: Context, path: str, base: str | None, stored: str, edited: str) -> str:
    """The text that a hand-edited file gets, given the text it was edited from (None when that is not known)."""
    known = stale_base(ctx, path, base, edited) if base is not None else None
    if known is None and base == stored:
        return edited
    mine = parse_file(edited)
    if known is None:
        known = _texts(base) if base is not None else _known_before(ctx, path, mine.parts)
    return merge(known, parse_file(stored), mine).join()


def _texts(text: str) -> dict[str, str]:
    """The blocks of a file by id; of two with one id, the first."""
    return {part.id: part.text for part in reversed(parse_file(text).parts)}


def _known_before(ctx: Context, path: str, parts: list[MarkdownPart]) -> dict[str, str]:
    """What the author of a file of unknown age must have known: what it holds as the store had it once, and what was
    rolled back by somebody else. That is gone from the file, or as it was before, on purpose."""
    seen, back = _seen_before(ctx, path, parts), taken_back(ctx)
    return {
        **{id: text for id, text in seen.items() if id not in back},
        **{id: block.text for id, block in back.items() if block.file == path},
    }


def _seen_before(ctx: Context, path: str, parts: list[MarkdownPart]) -> dict[str, str]:
    """Blocks whose text this file has had before: in a file of unknown age these are old, not edited."""
    found: dict[str, str] = {}
    for start in range(0, len(parts), 500):
        chunk = {part.id: part.text for part in parts[start : start + 500]}
        wanted = placeholders(len(chunk))
        sql = f"SELECT id, text FROM block WHERE workspace = ? AND file = ? AND id IN ({wanted}) ORDER BY id, seq"
        for row in ctx.tx.all(sql, ctx.workspace, path, *chunk):
            if row["text"] == chunk[row["id"]]:
                found[row["id"]] = row["text"]
    return found


def merge(base: Mapping[str, str], stored: ParsedFile, edited: ParsedFile) -> ParsedFile:
    """The edited file, with what the store changed since `base` in blocks that the person left alone."""
    # Reversed, so that of two blocks with one id the first wins, as everywhere.
    current = {part.id: part for part in reversed(stored.parts)}
    kept = [part for part in (_settled(part, base, current) for part in edited.parts) if part is not None]
    seen = {part.id for part in edited.parts}
    # What the author has never seen cannot have been removed by him.
    added = [part for part in stored.parts if part.id not in seen and part.id not in base]
    if added and kept:
        kept[-1] = replace(kept[-1], gap=_ended(kept[-1].gap))
    return ParsedFile(edited.preamble if kept or not added else _ended(edited.preamble), kept + added)


def _settled(part: MarkdownPart, base: Mapping[str, str], current: Mapping[str, MarkdownPart]) -> MarkdownPart | None:
    if base.get(part.id) != part.text:
        return part  # a person's edit wins
    stored = current.get(part.id)
    return replace(part, text=stored.text) if stored else None


def _ended(gap: str) -> str:
    """A gap after which a header can begin."""
    if not gap or gap.endswith("\n\n"):
        return gap or "\n\n"
    return gap + ("\n" if gap.endswith("\n") else "\n\n")


def common_prefix(a: str, b: str) -> int:
    """How many characters two texts share at their start."""
    size, position = min(len(a), len(b)), 0
    # Slices first, then halving within the first that differs: no loop over characters in Python.
    while position < size and a[position : position + _STRIDE] == b[position : position + _STRIDE]:
        position = min(position + _STRIDE, size)
    low, high = position, min(position + _STRIDE, size)
    while low < high:
        middle = (low + high + 1) // 2
        if a[position:middle] == b[position:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(a: str, b: str, most: int) -> int:
    """How many characters two texts share at their end, at most `most`."""
    low, high = 0, most
    position = 0
    while position < most:
        step = min(_STRIDE, most - position)
        if not _same_tail(a, b, position, position + step):
            low, high = position, position + step - 1
            break
        position += step
    else:
        return most
    start = position
    while low < high:
        middle = (low + high + 1) // 2
        if _same_tail(a, b, start, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _same_tail(a: str, b: str, near: int, far: int) -> bool:
    return a[len(a) - far : len(a) - near] == b[len(b) - far : len(b) - near]


def header_before(text: str, end: int) -> tuple[str, int] | None:
    """The last header line that ends before `end`: its id and where it starts."""
    limit = end
    while True:
        newline = text.rfind("\n[", 0, limit)
        start = newline + 1 if newline >= 0 else 0
        found = HEADER.match(text, start)
        if found and found.end() < end:
            return found.group(1), start
        if newline < 0:
            return None
        limit = newline + 1


def header_after(text: str, start: int) -> tuple[str, int] | None:
    """The first header that begins after `start`."""
    found = HEADER.search(text, start + 1) if start < len(text) else None
    return (found.group(1), found.start()) if found else None


RECENT_MS = 600_000
"""Ten minutes: longer than people leave an edited buffer unsaved, short enough that a later removal is meant."""
MOST_SEQS, MOST = 10_000, 200
"""How far back the events are searched, and how many changed blocks are considered: a bound on the cost of a save."""


@dataclass(frozen=True)
class GovernedChange:
    """What approval or rollback did to a block: its newest version, which may be a removal, and the one before."""

    now: Block
    before: Block | None

    @property
    def replaced(self) -> str | None:
        """The text that the block had, if there was one."""
        return None if self.before is None or self.before.gone else self.before.text

    def stands_in(self, text: str) -> bool:
        return not self.now.gone and self.now.text in text

    def missing_from(self, text: str) -> bool:
        if _header(self.now.id, text):
            return self.replaced is not None and self.replaced in text
        return not self.now.gone and bool(self.now.headline) and self.now.headline not in text


def stale_base(ctx: Context, path: str, base: str, edited: str) -> dict[str, str] | None:
    """The blocks of the older text that a stale save was made from; None when the save was made from the base."""
    recent = _recent(ctx, path)
    # A text that holds a change was saved after it, and so after all earlier ones.
    seen = max((change.now.seq for change in recent if change.stands_in(edited)), default=0)
    unseen = [change for change in recent if change.now.seq > seen and change.missing_from(edited)]
    if not unseen:
        return None
    known = {part.id: part.text for part in reversed(parse_file(base).parts)}
    for change in unseen:
        known.pop(change.now.id, None)
        if change.replaced is not None:
            known[change.now.id] = change.replaced
    return known if _changes(known, parse_file(edited).parts) else None


def _recent(ctx: Context, path: str) -> list[GovernedChange]:
    """What approval or rollback did to the file in the last minutes."""
    since = (ctx.ws.seq - MOST_SEQS, ctx.now_ms - RECENT_MS)
    types = ("block_written", "block_removed")
    changed = subjects_changed(ctx.tx, ctx.workspace, types, f'"file":"{path}"', *since, MOST)
    versions = [blocks.history(ctx, id, 2) for id in changed]
    return [
        GovernedChange(found[-1], found[0] if len(found) > 1 else None)
        for found in versions
        if found and found[-1].file == path and found[-1].origin != "edit" and not is_taken_back(ctx, found[-1])
    ]


def _header(id: str, text: str) -> bool:
    at = text.find(f"[{id}]")
    return at >= 0 and HEADER.match(text, at) is not None


def _changes(known: Mapping[str, str], parts: list[MarkdownPart]) -> bool:
    """Whether the save holds anything that the text it was made from did not."""
    return any(known.get(part.id) != part.text for part in parts)
