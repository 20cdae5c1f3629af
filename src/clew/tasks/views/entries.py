"""Notes and trace entries of a view: paged from the newest backwards, or first those of the step in focus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clew.reasoning.documents import Range, entries_json, tail, view
from clew.reasoning.pack_parts import is_draft_entry
from clew.reasoning.scope import Scope, StepFocus
from clew.registry.context import Context
from clew.registry.paging import page_json
from clew.store.database import Row

CHUNK = 50
SCANNED = 64
"""How far back a step's entries are looked for before the view takes the newest ones instead."""


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries oldest first. The cursor stands above everything that was not shown."""

    entries: list[dict[str, Any]]
    cursor: int | None
    next_cursor: int | None
    limit: int

    def to_json(self) -> dict[str, Any]:
        return {
            "entries": self.entries,
            "pagination": page_json(self.cursor, self.limit, len(self.entries), self.next_cursor),
        }


def entry_page(ctx: Context, scope: Scope, doc: str, cursor: int | None, limit: int, drafts: bool) -> EntryPage:
    """The newest `limit` entries before the cursor."""
    if limit == 0:
        return EntryPage([], cursor, None, 0)
    found: list[dict[str, Any]] = []
    for entry in _newest_first(ctx, view(ctx, scope.branch), doc, cursor, min(limit + 1, CHUNK), drafts):
        if len(found) == limit:
            return EntryPage(found[::-1], cursor, entry["seq"] + 1, limit)
        found.append(entry)
    return EntryPage(found[::-1], cursor, None, limit)


def step_page(ctx: Context, scope: Scope, doc: str, limit: int, drafts: bool, step: StepFocus, fill: bool) -> EntryPage:
    """The step's entries among the last ones; with `fill`, or when it has none, others up to the limit."""
    if limit == 0:
        return EntryPage([], None, None, 0)
    recent = tail(ctx, view(ctx, scope.branch), doc, None, max(SCANNED, limit))
    shown = _shown(ctx, [row for row in recent.entries if _may_concern(row, step)], drafts)
    own = [entry for entry in shown if step.concerns(entry)][-limit:]
    if fill or not own:
        own = _filled(ctx, own, recent.entries, limit, drafts)
    missed = _newest_missed(ctx, own, recent.entries, drafts)
    if missed is None and recent.has_more:
        missed = recent.entries[0]["seq"] - 1
    return EntryPage(own, None, None if missed is None else missed + 1, limit)


def _filled(ctx: Context, own: list[dict[str, Any]], rows: list[Row], limit: int, drafts: bool) -> list[dict[str, Any]]:
    taken = {entry["seq"] for entry in own}
    # As many more as are wanted would do, were none of them a draft; twice that is plenty.
    others = [row for row in rows if row["seq"] not in taken][-2 * limit :]
    room = limit - len(own)
    more = _shown(ctx, others, drafts)[-room:] if room else []
    return sorted([*own, *more], key=lambda entry: entry["seq"])


def _newest_missed(ctx: Context, shown: list[dict[str, Any]], rows: list[Row], drafts: bool) -> int | None:
    taken = {entry["seq"] for entry in shown}
    for row in reversed(rows):
        if row["seq"] not in taken and _shown(ctx, [row], drafts):
            return int(row["seq"])
    return None


def _newest_first(
    ctx: Context, ranges: list[Range], doc: str, cursor: int | None, chunk: int, drafts: bool
) -> Iterator[dict[str, Any]]:
    while True:
        part = tail(ctx, ranges, doc, cursor, chunk)
        yield from reversed(_shown(ctx, part.entries, drafts))
        if not part.has_more:
            return
        cursor = part.entries[0]["seq"]


def _shown(ctx: Context, rows: list[Row], drafts: bool) -> list[dict[str, Any]]:
    entries = entries_json(ctx, rows)
    return entries if drafts else [entry for entry in entries if not is_draft_entry(entry)]


def _may_concern(row: Row, step: StepFocus) -> bool:
    """A cheap look at the raw row, so that only few are parsed."""
    if row["kind"] == "event":
        return str(row["path"]).startswith(step.path)
    return row["meta"] is not None and step.step_id in row["meta"]
