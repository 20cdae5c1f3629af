"""Saves from a stale buffer: what was written into a file after an editor had read it, and before it saved.

Such a save lacks blocks that its author never saw, and holds others as they were. Taking that for edits would lose
what was approved in between, so it stays, on three conditions: it is recent, nothing of it is in the saved text, and
the save changes something else too. A save that only leaves blocks out removes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.grammar import HEADER, Part, parse_file
from clew.registry.context import Context

RECENT_MS = 600_000
MOST_SEQS, MOST = 10_000, 200


@dataclass(frozen=True)
class Change:
    """A governed change of a block: its newest version, which may say that it is gone, and the one before."""

    now: Block
    before: Block | None

    @property
    def replaced(self) -> str | None:
        """The text that the block had, if there was one."""
        return None if self.before is None or self.before.gone else self.before.text

    def seen_in(self, text: str) -> bool:
        return not self.now.gone and self.now.text in text

    def unseen_in(self, text: str) -> bool:
        if _header(self.now.id, text):
            return self.replaced is not None and self.replaced in text
        return not self.now.gone and bool(self.now.headline) and self.now.headline not in text


def base_seen(ctx: Context, path: str, base: str, edited: str) -> dict[str, str] | None:
    """The blocks of the text that a save was really made from; None when that is the base itself."""
    recent = _recent(ctx, path)
    seen = max((change.now.seq for change in recent if change.seen_in(edited)), default=0)
    unseen = [change for change in recent if change.now.seq > seen and change.unseen_in(edited)]
    if not unseen:
        return None
    known = {part.id: part.text for part in reversed(parse_file(base).parts)}
    for change in unseen:
        known.pop(change.now.id, None)
        if change.replaced is not None:
            known[change.now.id] = change.replaced
    return known if _changes(known, parse_file(edited).parts) else None


def _recent(ctx: Context, path: str) -> list[Change]:
    """What approval or rollback did to the file in the last minutes."""
    sql = (
        "SELECT subject, max(seq) AS seq FROM event WHERE workspace = ? AND seq > ? AND ts_ms > ?"
        " AND type IN ('block_written', 'block_removed') AND payload LIKE ?"
        " GROUP BY subject ORDER BY max(seq) DESC LIMIT ?"
    )
    since = (ctx.ws.seq - MOST_SEQS, ctx.now_ms - RECENT_MS)
    rows = ctx.tx.all(sql, ctx.workspace, *since, f'%"file":"{path}"%', MOST)
    versions = [blocks.history(ctx, row["subject"], 2) for row in rows]
    return [
        Change(found[-1], found[0] if len(found) > 1 else None)
        for found in versions
        if found and found[-1].file == path and found[-1].origin != "edit"
    ]


def _header(id: str, text: str) -> bool:
    at = text.find(f"[{id}]")
    return at >= 0 and HEADER.match(text, at) is not None


def _changes(known: Mapping[str, str], parts: list[Part]) -> bool:
    """Whether the save holds anything that the text it was made from did not."""
    return any(known.get(part.id) != part.text for part in parts)
