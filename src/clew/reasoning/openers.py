"""Hooks by which `open` shows cards, entries of documents, events and conflicts."""

from __future__ import annotations

from clew.canonical import picked
from clew.clock import rfc3339
from clew.errors import shorten, suggest, unknown_id
from clew.ids import DOC_ENTRY
from clew.reasoning.branches import Branch, branch_by_id, checked_out
from clew.reasoning.documents import GRAPH, branch_name, entry_json
from clew.reasoning.graph import Node, edges_at, locate, node, node_json
from clew.reasoning.graph.conflicts import conflict_json, find
from clew.reasoning.graph.diff import EDGE, NODE
from clew.reasoning.premises import suspects
from clew.reasoning.scope import Scope, scope_of
from clew.reasoning.visibility import STEP
from clew.registry.context import Context
from clew.registry.record import Opened, RecordLink, linker, opener
from clew.store.database import Row
from clew.store.events import event_id, events_at


def open_card(ctx: Context, id: str, limit: int) -> Opened | None:
    """The card as the focus or the checkout shows it, else its newest version on any branch."""
    found = seen_card(ctx, id)
    return card_json(ctx, *found, limit) if found is not None else None


def seen_card(ctx: Context, id: str) -> tuple[Branch, str, Node] | None:
    """The card with this id as a caller means it: in the focus, the checkout, or anywhere."""
    for branch, doc in _views(ctx):
        card = node(ctx, branch, doc, id)
        if card is not None:
            return branch, doc, card
    place = locate(ctx, id)
    return (branch_by_id(ctx, place.branch), place.doc, place.node) if place else None


@linker("card")
def card_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """The edges of a card, and the steps it was written for."""
    found = seen_card(ctx, id)
    if found is None:
        return []
    branch, doc, card = found
    edges = edges_at(ctx, branch, doc, [id], limit=limit)
    steps = [tag.removeprefix(STEP).upper() for tag in card.tags if tag.startswith(STEP)]
    return [
        *(RecordLink(_record_id(edge.from_id), edge.rel, _record_id(edge.to_id)) for edge in edges),
        *(RecordLink(id, "about", step) for step in steps),
    ]


def _record_id(node_id: str) -> str:
    """The id that `open` accepts. Graph nodes of work have a prefix, such as `task:TASK-001`, which is removed."""
    prefix, _, rest = node_id.partition(":")
    return rest if prefix in ("task", "plan", "step") and rest else node_id


def _views(ctx: Context) -> list[tuple[Branch, str]]:
    views = []
    if ctx.ws.focus is not None:
        scope = scope_of(ctx, ctx.ws.focus)
        views.append((scope.branch, scope.graph))
    if ctx.ws.checkout is not None:
        views.append((checked_out(ctx), GRAPH))
    return views


def card_json(ctx: Context, branch: Branch, doc: str, card: Node, limit: int) -> Opened:
    # The branch that holds this version may be a base of the branch through which it is seen.
    held = ctx.tx.value("SELECT branch FROM node WHERE workspace = ? AND seq = ?", ctx.workspace, card.last_seq)
    shown = node_json(card)
    edges = edges_at(ctx, branch, doc, [card.id], "out", ("supports", "blocks"))
    doubt = suspects(ctx, Scope(branch, graph=doc), [card.id]).get(card.id)
    return {
        "kind": "card",
        "id": card.id,
        "summary": summary(card.title, card.text),
        "head": {
            "seq": card.last_seq,
            "ts": rfc3339(card.last_ts_ms),
            "ts_ms": card.last_ts_ms,
            "branch": branch_name(ctx, held),
            "doc": doc,
        },
        "card": {name: shown[name] for name in ("id", "type", "title", "text", "status", "tags", "meta")},
        "edges": {rel: [edge.to_id for edge in edges if edge.rel == rel][:limit] for rel in ("supports", "blocks")},
        **({"suspect": doubt.to_json()} if doubt else {}),
        "truncated": len(edges) > limit,
    }


@opener("entry")
def open_entry(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    """The entry `<doc>@<seq>`; None if no entry has this seq, because the id of a card may have the same form."""
    match = DOC_ENTRY.fullmatch(id)
    doc, seq = (match.group(1), int(match.group(2))) if match else ("", 0)
    row = ctx.tx.one("SELECT * FROM entry WHERE workspace = ? AND seq = ?", ctx.workspace, seq)
    if row is None or row["doc"] != doc:
        _refuse_misnamed(ctx, id, row)
        return None
    opened = {
        "kind": "doc_entry",
        "ref": id,
        "summary": summary(row["title"], row["content"]) or row["event_type"] or row["kind"],
        "entry": {**entry_json(ctx, row), **_payload(ctx, row)},
    }
    state = NODE.version(ctx, seq) or EDGE.version(ctx, seq)
    if state is not None:
        opened["state"] = (NODE if isinstance(state, Node) else EDGE).show(state)
    return opened


def _payload(ctx: Context, row: Row) -> Opened:
    """The event of an entry; the entry itself only points to it."""
    if row["kind"] != "event" or row["source"] is None:
        return {}
    found = events_at(ctx.tx, ctx.workspace, [int(str(row["source"]).removeprefix("evt_"))])
    return {"payload": found[0].payload} if found else {}


def _refuse_misnamed(ctx: Context, id: str, row: Row | None) -> None:
    """Refuse an id whose seq belongs to another document, and name the right one; unless it is a card's id."""
    if row is None or locate(ctx, id) is not None:
        return
    ref = f"{row['doc']}@{row['seq']}"
    way = suggest("open", "Opens the entry with this number.", id=ref)
    raise unknown_id("reference", id, f"Entry {row['seq']} belongs to {row['doc']}.", [way])


@opener("event")
def open_event(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    seq = int(id.removeprefix("evt_"))
    found = events_at(ctx.tx, ctx.workspace, [seq])
    if not found:
        return None
    event = found[0]
    return {
        "kind": "event",
        "id": event_id(event.seq),
        "summary": event.type,
        "event": {
            "event_id": event.id,
            "ts": rfc3339(event.ts_ms),
            **picked(event, "ts_ms", "topic", "type", "subject", "path", "payload"),
        },
    }


@opener("conflict")
def open_conflict(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    found = find(ctx, id)
    if found is None:
        return None
    named = {"kind": "conflict", "id": id, "summary": f"{found.kind} {found.key}"}
    return {**named, "conflict": conflict_json(ctx, found)}


def summary(title: str | None, text: str | None) -> str:
    """Title or text as one short line."""
    return shorten(" ".join((title or text or "").split()), 140)
