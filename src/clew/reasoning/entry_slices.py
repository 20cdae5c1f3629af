"""Slices of documents for packs: the newest entries that belong to a step and are no drafts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.reasoning.documents import entries_json, tail, view
from clew.reasoning.scope import Scope
from clew.reasoning.sequential import following, sequential_graph
from clew.reasoning.views import Lens
from clew.reasoning.visibility import is_draft, is_pinned
from clew.registry.context import Context
from clew.registry.paging import page_json

SPARE = 10
MOST_SCANNED = 2000
"""How far back a slice looks for entries that pass; beyond that it says that there may be more."""


SEQUENTIAL_FOLLOWS = following("trace.entries", "trace.sequential")


@dataclass(frozen=True, slots=True)
class EntrySlice:
    """Entries as callers see them, oldest first."""

    entries: list[dict[str, Any]]
    has_more: bool
    limit: int

    def to_json(self) -> dict[str, Any]:
        cursor = self.entries[0]["seq"] if self.has_more and self.entries else None
        page = {**page_json(None, self.limit, len(self.entries), cursor), "has_more": self.has_more}
        return {"entries": self.entries, "pagination": page}

    def trace_json(self) -> dict[str, Any]:
        """The same with the branching of its numbered thoughts."""
        return {**self.to_json(), "sequential": sequential_graph(self.entries)}


def entry_slice(ctx: Context, scope: Scope, doc: str, limit: int, lens: Lens) -> EntrySlice:
    """The newest `limit` entries of a document that the lens shows."""
    if limit == 0:
        return EntrySlice([], False, 0)
    ranges = view(ctx, scope.branch, lens.as_of)
    found: list[dict[str, Any]] = []  # newest first
    cursor, scanned = None, 0
    while True:
        part = tail(ctx, ranges, doc, cursor, limit + SPARE)
        found += [entry for entry in reversed(entries_json(ctx, part.entries)) if is_entry_shown(entry, lens)]
        scanned += len(part.entries)
        if len(found) > limit or not part.has_more or scanned >= MOST_SCANNED:
            break
        cursor = part.entries[0]["seq"]
    return EntrySlice(found[:limit][::-1], len(found) > limit or part.has_more, limit)


def is_entry_shown(entry: Mapping[str, Any], lens: Lens) -> bool:
    if lens.step is not None and lens.only_step:
        return lens.step.concerns(entry)
    return lens.drafts or not is_draft_entry(entry)


def is_draft_entry(entry: Mapping[str, Any]) -> bool:
    """A note that carries draft marks in its meta, as a card's trace entry does."""
    meta = entry.get("meta")
    if not isinstance(meta, Mapping):
        return False
    tags, lane = meta.get("tags"), meta.get("lane")
    if isinstance(tags, list):
        named = [tag for tag in tags if isinstance(tag, str)]
        if is_draft(named) and not is_pinned(named):
            return True
    return isinstance(lane, str) and lane.startswith("agent:")
