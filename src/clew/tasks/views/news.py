"""News of a plan or task: last events, decisions, evidence, graph changes, and changes since the last look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import shorten
from clew.reasoning.branches import branch_by_id, chain, checked_out
from clew.reasoning.cards.card_selection import Lens, newest
from clew.reasoning.documents import Range, newest_entries
from clew.reasoning.engine.slice import label
from clew.reasoning.graph import Node, nodes
from clew.reasoning.graph.diff import change_json, differences
from clew.reasoning.pack_parts import card_words
from clew.reasoning.premises import Suspect, suspects
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.context import Context
from clew.registry.envelope import one_line, page_json
from clew.store.database import Row
from clew.store.events import events_about
from clew.tasks import journal
from clew.tasks.evidence import Evidence, evidence_of
from clew.tasks.views.material import SectionLimits
from clew.tasks.views.outlook import Subject

SCANNED = 500
"""How many events are searched for those of one step."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The newest events, in the order they happened."""

    events: list[Json] = field(default_factory=list)
    limit: int = 0

    @property
    def last(self) -> Json | None:
        if not self.events:
            return None
        return {name: self.events[-1][name] for name in ("event_id", "ts", "ts_ms", "type", "path")}

    def to_json(self) -> Json:
        return {"events": self.events, "limit": self.limit}


def timeline_of(ctx: Context, id: str, limit: int, path: str | None = None) -> Timeline:
    """The last events of a plan or task; with a path, only those of that step and the steps below it."""
    if limit == 0:
        return Timeline()
    found = events_about(ctx.tx, ctx.workspace, id, limit if path is None else SCANNED, "tasks")
    if path is not None:
        found = [event for event in found if event.path == path or str(event.path).startswith(f"{path}.")][:limit]
    return Timeline([journal.event_json(event) for event in reversed(found)], limit)


LABEL = 140


@dataclass(frozen=True, slots=True)
class Signal:
    """A decision or a piece of evidence with a one-line label."""

    id: str
    type: str
    label: str
    status: str | None
    last_seq: int
    path: str | None = None
    """The step for which evidence was captured; cards have none."""
    captured: bool = False
    suspect: Suspect | None = None
    words: Mapping[str, Any] = field(default_factory=dict)
    """Title, text and tags of a card."""

    def to_json(self) -> Json:
        head = picked(self, "id", "type", "label", "status")
        path = {"path": self.path} if self.captured else {}
        doubt = {"suspect": self.suspect.to_json()} if self.suspect else {}
        return {**head, **self.words, **path, "last_seq": self.last_seq, **doubt}


@dataclass(frozen=True, slots=True)
class Signals:
    """Blockers, decisions and evidence: what the next person or agent must know."""

    blockers: list[str]
    decisions: list[Signal]
    evidence: list[Signal]

    def stats(self) -> dict[str, int]:
        return {name: len(getattr(self, name)) for name in ("blockers", "decisions", "evidence")}

    def to_json(self) -> Json:
        return {
            "blockers": self.blockers,
            "decisions": [signal.to_json() for signal in self.decisions],
            "evidence": [signal.to_json() for signal in self.evidence],
            "stats": self.stats(),
        }


def signals_of(ctx: Context, subject: Subject, blockers: Sequence[str], limits: SectionLimits, drafts: bool) -> Signals:
    lens = Lens(drafts)
    decisions = newest(ctx, subject.scope, lens, "decision", limits.decisions)
    cards = newest(ctx, subject.scope, lens, "evidence", limits.evidence)
    captured = evidence_of(ctx, subject.work.id, limits.evidence) if limits.evidence else []
    doubts = suspects(ctx, subject.scope, [card.id for card in [*decisions, *cards]])
    evidence = [*(_of_card(card, doubts.get(card.id)) for card in cards), *map(_of_evidence, captured)]
    # Cards and captured evidence use the same seqs, so they can be sorted together.
    evidence.sort(key=lambda signal: (-signal.last_seq, signal.id))
    return Signals(
        list(blockers[: limits.blockers]),
        [_of_card(card, doubts.get(card.id)) for card in decisions],
        evidence[: limits.evidence],
    )


def _of_card(card: Node, suspect: Suspect | None) -> Signal:
    return Signal(card.id, card.type, label(card), card.status, card.last_seq, suspect=suspect, words=card_words(card))


def _of_evidence(item: Evidence) -> Signal:
    """The signal of a receipt or artifact that was captured for a step."""
    status = "proof" if item.proves else "failed"
    return Signal(item.id, item.kind, shorten(one_line(item.text), LABEL), status, item.seq, item.path, True)


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """The nodes and edges of a plan's or task's graph that another branch does not have, newest first.

    The comparison is with its base branch, or, if it has none, the branch that is checked out, as in BranchMind.
    """

    base: str | None
    base_source: str
    branch: str
    doc: str
    changes: list[Json]
    cursor: int | None
    limit: int
    has_more: bool

    def summary(self) -> Json:
        kinds = [change["kind"] for change in self.changes]
        counts = {f"{kind}s_changed": kinds.count(kind) for kind in ("node", "edge")}
        return {**counts, "total": len(kinds), "partial": self.has_more}

    def to_json(self) -> Json:
        place = {"branch": self.branch, "doc": self.doc}
        if self.base is None:
            return {"available": False, "reason": "no_base", **place}
        after = self.changes[-1]["seq"] if self.has_more else None
        return {
            "available": True,
            **place,
            "base": self.base,
            "base_source": self.base_source,
            "summary": self.summary(),
            "changes": self.changes,
            "pagination": page_json(self.cursor, self.limit, len(self.changes), after),
        }


def graph_changes(ctx: Context, scope: Scope, cursor: int | None, limit: int) -> GraphChanges:
    """The differences to the base branch, or to the branch that is checked out."""
    own, has_base = scope.branch, scope.branch.base_id is not None
    base = branch_by_id(ctx, own.base_id) if own.base_id is not None else checked_out(ctx)
    limit = max(limit, 1)
    if base.id == own.id:
        return GraphChanges(None, "", own.name, scope.graph, [], cursor, limit, False)
    found = differences(ctx, scope.graph, chain(ctx, own), chain(ctx, base), cursor)
    rows = list(islice(found, limit + 1))
    changes = [change_json(kind, state) for kind, state in rows[:limit]]
    source = "branch_base" if has_base else "checkout"
    return GraphChanges(base.name, source, own.name, scope.graph, changes, cursor, limit, len(rows) > limit)


TOOL = "tasks_snapshot"
# A delta reads up to 20 rows for each item it may show, at most 200, as in the contract.
SCAN_FACTOR, MOST_SCANNED = 20, 200
SUMMARY = 140


def baseline(ctx: Context, target: str) -> int | None:
    """The seq up to which the target's news were last shown; None if never."""
    sql = "SELECT seq FROM portal_cursor WHERE workspace = ? AND tool = ? AND target = ?"
    found = ctx.tx.value(sql, ctx.workspace, TOOL, target)
    return None if found is None else int(found)


def move_baseline(ctx: Context, target: str, seq: int) -> None:
    """Everything up to `seq` was shown. Of two concurrent callers the higher seq wins."""
    sql = (
        "INSERT INTO portal_cursor (workspace, tool, target, seq) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (workspace, tool, target) DO UPDATE SET seq = excluded.seq"
        " WHERE excluded.seq > portal_cursor.seq"
    )
    ctx.tx.run(sql, ctx.workspace, TOOL, target, seq)


@dataclass(frozen=True, slots=True)
class Since:
    """Notes and cards since the last delta was shown."""

    since: int
    until: int
    limit: int
    notes: list[Json]
    cards: list[Json]
    decisions: list[Json]
    evidence: list[Json]

    @property
    def count(self) -> int:
        """How many are shown."""
        return sum(min(len(items), self.limit) for items in self._kinds().values())

    @property
    def dropped(self) -> int:
        """How many the limit leaves out."""
        return sum(map(len, self._kinds().values())) - self.count

    def _kinds(self) -> dict[str, list[Json]]:
        return picked(self, "notes", "cards", "decisions", "evidence")

    def to_json(self) -> Json:
        sections = {name: self._section(items) for name, items in self._kinds().items()}
        return {"mode": "since_last", "since_seq": self.since, "until_seq": self.until, **sections}

    def _section(self, items: Sequence[Json]) -> Json:
        shown = list(items[: self.limit])
        dropped = len(items) - len(shown)
        return {"count": len(shown), "items": shown, "truncated": dropped > 0, "dropped": dropped}


def since_of(ctx: Context, scope: Scope, since: int | None, limit: int) -> Since:
    """Notes and cards newer than `since`; nothing if there was no earlier look."""
    until = ctx.ws.seq
    # At the first call everything would be new, so it shows nothing.
    since = until if since is None else since
    most = min(max(limit, 1) * SCAN_FACTOR, MOST_SCANNED)
    # A target's branch has no base, so only its own entries need to be read.
    new = newest_entries(ctx, Range(scope.branch.id, since, until), scope.notes, most)
    notes = [_note(row) for row in new]
    kinds: dict[str, list[Json]] = {"cards": [], "decision": [], "evidence": []}
    for card in _new_cards(ctx, scope, since, most):
        kinds[card.type if card.type in kinds else "cards"].append(_card(card))
    return Since(since, until, limit, notes, kinds["cards"], kinds["decision"], kinds["evidence"])


def _new_cards(ctx: Context, scope: Scope, since: int, most: int) -> list[Node]:
    if since >= ctx.ws.seq:
        return []
    # Newest first, so the cards after `since` are at the beginning.
    page = nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, limit=most)
    return [card for card in page.nodes if card.last_seq > since]


def _note(row: Row) -> Json:
    named = {"ref": f"{row['doc']}@{row['seq']}", "seq": row["seq"], "ts": rfc3339(row["ts_ms"])}
    return {**named, **_summary(row["title"], row["content"])}


def _card(card: Node) -> Json:
    return {"id": card.id, "type": card.type, "seq": card.last_seq, **_summary(card.title, card.text)}


def _summary(title: str | None, text: str | None) -> Json:
    first = next((line for line in (title or text or "").splitlines() if line.strip()), "")
    return {**({"title": title} if title else {}), "summary": shorten(one_line(first), SUMMARY)}
