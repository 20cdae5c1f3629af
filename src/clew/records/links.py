"""Links between records of any store, in both directions, and retractions.

A domain's own tables store most links: edges of a graph, references of thoughts, evidence of a step.
The index has the links from texts and fields of items. `record_link` stores only links that neither
can: that a card rests on a block, that a decision replaces a note, that a thought answers a question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from clew.clock import rfc3339
from clew.ids import kind_by_form
from clew.index import item_reads
from clew.kinds.builtin import PLAN, STEP, TASK
from clew.kinds.kind import BLOCK, CARD
from clew.kinds.state import ENDED, State
from clew.kinds.statuses import CANCELED, REOPENED, meaning
from clew.reasoning.graph import locate
from clew.registry.context import Context
from clew.registry.record import RecordLink, Retracted, Retraction, linker
from clew.store.database import placeholders
from clew.store.rows import TableRow, find_many, insert, load
from clew.store.workspaces import declare_events

declare_events({"records_linked": "Two records of whatever store were linked."})

Relation = Literal["rests_on", "replaces", "about", "answers"]
RESTS_ON = frozenset({"rests_on", "depends_on", "derives"})
"""Relations by which a record is invalidated together with the one it points to."""
CARRIES = frozenset({"supports", "proves"})
"""Relations by which the target is invalidated together with the record that points to it."""
MOST_NEIGHBOURS = 500
SOURCES = {"task": "step"}
"""Search items have a source, which is also the kind of the record; these kinds have another name."""


def kind_of(ctx: Context, id: str) -> str | None:
    """The kind of the record with this id: by its form, in the search index, or as a card; None if there is none."""
    formed = kind_by_form(id)
    # A card may have any id, including one that has the form of a block's or an entry's.
    if formed not in (None, "block", "entry"):
        return formed
    rows = item_reads.items_by_ref(ctx.tx, ctx.workspace, [id])
    if rows and rows[0]["source"] not in ("card", "note"):
        return SOURCES.get(rows[0]["source"], str(rows[0]["source"]))
    return "card" if locate(ctx, id) is not None else formed


@dataclass(frozen=True, slots=True)
class LinkRow(TableRow):
    TABLE: ClassVar[str] = "record_link"
    KEY: ClassVar[tuple[str, ...]] = ("from_id", "rel", "to_id")

    from_id: str
    rel: str
    to_id: str
    why: str | None
    agent: str | None
    seq: int
    ts_ms: int


@dataclass(frozen=True, slots=True)
class RetractionRow(TableRow):
    """One retraction of a record."""

    TABLE: ClassVar[str] = "retraction"
    KEY: ClassVar[tuple[str, ...]] = ("id", "seq")

    id: str
    seq: int
    kind: str
    status: str
    why: str
    replaced_by: str | None
    proposal: str | None
    agent: str | None
    ts_ms: int
    was: str | None = None
    """The previous status."""
    lifted_seq: int | None = None
    """When the record was restored."""

    def to_json(self) -> dict[str, Any]:
        shown = {
            "status": self.status,
            "why": self.why,
            "replaced_by": self.replaced_by,
            "waits_for": self.proposal,
            "by": self.agent,
            "ts": rfc3339(self.ts_ms),
        }
        return {name: value for name, value in shown.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one record; within a relation in the order of the other ends."""

    incoming: tuple[RecordLink, ...] = ()
    outgoing: tuple[RecordLink, ...] = ()

    def resting(self) -> list[str]:
        """The records that rest directly on this one."""
        by_it = [link.start for link in self.incoming if link.rel in RESTS_ON]
        with_it = [link.end for link in self.outgoing if link.rel in CARRIES]
        return sorted({*by_it, *with_it})

    def premises(self) -> list[str]:
        """The records that this one rests on directly."""
        named = [link.end for link in self.outgoing if link.rel in RESTS_ON]
        carrying = [link.start for link in self.incoming if link.rel in CARRIES]
        return sorted({*named, *carrying})


def add_link(ctx: Context, start: str, rel: Relation, end: str, why: str | None = None) -> bool:
    """Store a permanent link between two records; false if it exists already."""
    held = "SELECT 1 FROM record_link WHERE workspace = ? AND from_id = ? AND rel = ? AND to_id = ?"
    if start == end or ctx.tx.value(held, ctx.workspace, start, rel, end) is not None:
        return False
    insert(ctx.tx, ctx.workspace, LinkRow(start, rel, end, why, ctx.agent, ctx.ws.next_seq(), ctx.now_ms))
    ctx.emit("records", "records_linked", start, {"rel": rel, "to": end})
    return True


def links_of(ctx: Context, id: str, limit: int = 50) -> Links:
    """All links to and from a record, at most `limit` in each direction."""
    found = {*_stored_links(ctx, id, limit), *_indexed(ctx, id, limit), *_owned(ctx, id, limit)}
    # A mention adds nothing if another relation links the same two records.
    named = {(link.start, link.end) for link in found if link.rel != "mentions"}
    told = [link for link in found if link.rel != "mentions" or (link.start, link.end) not in named]
    incoming = sorted((link for link in told if link.end == id and link.start != id), key=_order)
    outgoing = sorted((link for link in told if link.start == id and link.end != id), key=_order)
    return Links(tuple(incoming[:limit]), tuple(outgoing[:limit]))


def neighbours(ctx: Context, ids: list[str]) -> set[str]:
    """Records at the other end of any stored or indexed link of these records, in one query for all."""
    own = item_reads.items_by_ref(ctx.tx, ctx.workspace, ids)
    pointing = item_reads.links_to(ctx.tx, ctx.workspace, ids, MOST_NEIGHBOURS)
    items = item_reads.items_by_id(ctx.tx, ctx.workspace, [row["id"] for row in pointing])
    return {
        *(row["target"] for row in item_reads.links_of(ctx.tx, ctx.workspace, [row["id"] for row in own])),
        *(item["ref"] for item in items.values()),
        *linked_by_hand(ctx, ids),
    }


def linked_by_hand(ctx: Context, ids: list[str]) -> set[str]:
    """Records at the other end of links that were created explicitly."""
    marks = placeholders(len(ids))
    stored = ctx.tx.all(
        f"SELECT to_id AS id FROM record_link WHERE workspace = ? AND from_id IN ({marks})"
        f" UNION SELECT from_id FROM record_link WHERE workspace = ? AND to_id IN ({marks})",
        *(ctx.workspace, *ids) * 2,
    )
    return {row["id"] for row in stored}


def _order(link: RecordLink) -> tuple[bool, str, str, str]:
    # Mentions last: they are the least informative, so a limit drops them first.
    return (link.rel == "mentions", link.rel, link.start, link.end)


def _stored_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    sql = "SELECT from_id, rel, to_id FROM record_link WHERE workspace = ? AND {column} = ? ORDER BY seq LIMIT ?"
    # A part of a UNION takes its own LIMIT only inside a subquery, and PostgreSQL requires a name for each.
    ends = [f"SELECT * FROM ({sql.format(column=column)}) AS {column}s" for column in ("from_id", "to_id")]
    found = ctx.tx.all(" UNION ALL ".join(ends), *(ctx.workspace, id, limit) * 2)
    return [RecordLink(row["from_id"], row["rel"], row["to_id"]) for row in found]


def _indexed(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """Links from the fields and texts of items."""
    own = [row["id"] for row in item_reads.items_by_ref(ctx.tx, ctx.workspace, [id])]
    found = [
        RecordLink(id, row["relation"], row["target"])
        for row in item_reads.links_of(ctx.tx, ctx.workspace, own)[:limit]
    ]
    rows = item_reads.links_to(ctx.tx, ctx.workspace, [id], limit)
    items = item_reads.items_by_id(ctx.tx, ctx.workspace, [row["id"] for row in rows])
    return found + [RecordLink(items[row["id"]]["ref"], row["relation"], id) for row in rows if row["id"] in items]


def _owned(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """Links from the tables of its domain."""
    kind = kind_of(ctx, id)
    ask = linker.find(kind) if kind is not None else None
    return ask(ctx, id, limit) if ask is not None else []


def keep_retraction(
    ctx: Context, id: str, kind: str, said: Retraction, done: Retracted, was: str | None
) -> RetractionRow:
    """Store the retraction of a record with its reason, and a link from its successor."""
    ended = RetractionRow(
        id=id,
        seq=ctx.ws.next_seq(),
        kind=kind,
        status=done.status,
        why=said.why,
        replaced_by=said.replaced_by,
        proposal=done.proposal,
        agent=ctx.agent,
        ts_ms=ctx.now_ms,
        was=was,
    )
    insert(ctx.tx, ctx.workspace, ended)
    if said.replaced_by is not None:
        add_link(ctx, said.replaced_by, "replaces", id, said.why)
    return ended


def retraction_of(ctx: Context, id: str) -> RetractionRow | None:
    """The last retraction of a record."""
    sql = "SELECT * FROM retraction WHERE workspace = ? AND id = ? ORDER BY seq DESC LIMIT 1"
    row = ctx.tx.one(sql, ctx.workspace, id)
    return load(RetractionRow, row) if row else None


def retracted_among(ctx: Context, ids: list[str]) -> dict[str, RetractionRow]:
    """Those of these records that were retracted and are not in force again."""
    found = sorted(find_many(ctx.tx, ctx.workspace, RetractionRow, ids, "id"), key=lambda ended: ended.seq)
    last = {ended.id: ended for ended in found}
    status = {row["ref"]: row["status"] for row in item_reads.items_by_ref(ctx.tx, ctx.workspace, sorted(last))}
    return {id: ended for id, ended in last.items() if not holds_again(ended, status.get(id))}


def lift_retractions(ctx: Context, id: str) -> None:
    """Mark the retractions of a restored record as history."""
    sql = "UPDATE retraction SET lifted_seq = ? WHERE workspace = ? AND id = ? AND lifted_seq IS NULL"
    ctx.tx.run(sql, ctx.ws.seq, ctx.workspace, id)


def replaced_by_any(ctx: Context, ids: list[str]) -> dict[str, str]:
    """For each of these records, what it replaced when that was retracted."""
    found = sorted(find_many(ctx.tx, ctx.workspace, RetractionRow, ids, "replaced_by"), key=lambda ended: ended.seq)
    return {ended.replaced_by: ended.id for ended in found if ended.replaced_by is not None}


def holds_again(ended: RetractionRow, status: str | None) -> bool:
    """Whether a retracted record is in force again. Work that was reopened or canceled may have been
    closed since. Cards and blocks have a status that can be changed back; a proposal to retract a block
    may not be applied."""
    if ended.lifted_seq is not None:
        return True
    if status is None:
        return False
    state = meaning(status) or State.IN_FORCE
    if ended.kind == STEP.name and ended.status == CANCELED:
        return state is not State.WITHDRAWN
    if ended.status == REOPENED or ended.kind == STEP.name:
        return state is State.SETTLED
    if ended.kind in (PLAN.name, TASK.name):
        return state is not State.WITHDRAWN
    return ended.kind in (CARD, BLOCK) and state not in ENDED
