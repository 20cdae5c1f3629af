"""anchor_snapshot: one anchor with its cards and tasks; `open` for anchors; macro_anchor_note, which writes a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clew.canonical import Json, as_json
from clew.errors import ClewError, invalid, shorten, suggest
from clew.reasoning.anchors.map import AnchorIds, AnchorTitle, Description, Kind, Refs, Status, checked, upsert
from clew.reasoning.anchors.registry import (
    ANCHOR_DEFAULT,
    Anchor,
    aliases_of,
    find_anchor,
    known_anchor,
    note_call,
    resolve_anchor,
    slug_title,
)
from clew.reasoning.branches import branch_by_id, checked_out
from clew.reasoning.cards.card import write_card
from clew.reasoning.cards.forms import Card, check_card_type
from clew.reasoning.documents import branch_name
from clew.reasoning.graph import Node, PlacedNode, node, node_json
from clew.reasoning.graph.reads import ON_A_BRANCH
from clew.reasoning.graph.view import aside
from clew.reasoning.scope import Scope, StepFocus, StepInput, Target, resolve_step, scope_of, target_id
from clew.reasoning.visibility import CANON, CARD_TYPES, DRAFT, PINNED, PROOF_TYPES, is_canonical, is_pinned
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.envelope import argument, command, item_lines, one_line
from clew.registry.operation import Bounded, Input, Name, Text, View, operation
from clew.registry.record import Named, namer, opener
from clew.store.database import placeholders
from clew.store.rows import load

PRIORITY = ("decision", "evidence", "test", "hypothesis", "question", "update", "note", "frame")
MOST_LINKS = 1000
"""Maximum number of linked cards that are read, newest first; a response reports if there are more."""


@dataclass(frozen=True, slots=True)
class LinkedCards:
    """The cards of an anchor, newest first, each once, before any filter."""

    places: list[PlacedNode]
    has_more: bool

    def stats(self) -> Json:
        return {"links_count": len(self.places), "links_has_more": self.has_more}

    def shown(self, include_drafts: bool) -> list[PlacedNode]:
        found = self.places
        return [item for item in found if include_drafts or is_canonical(item.node.type, item.node.tags)]


def linked_cards(ctx: Context, anchor_id: str) -> LinkedCards:
    """Cards tagged with the anchor or with one of its aliases."""
    names = [anchor_id, *aliases_of(ctx, [anchor_id]).get(anchor_id, ())]
    rows = ctx.tx.all(
        "SELECT node.* FROM node_tag JOIN node ON node.workspace = node_tag.workspace AND node.seq = node_tag.seq"
        f" WHERE node_tag.workspace = ? AND node_tag.tag IN ({placeholders(len(names))})"
        # The prefix is implied by the names; stating it lets the planner use the partial index of anchor tags.
        " AND substr(node_tag.tag, 1, 2) = 'a:' AND node.until IS NULL AND node.deleted = 0"
        f" AND {ON_A_BRANCH} AND {aside('node.type')} IN ({placeholders(len(CARD_TYPES))})"
        " ORDER BY node_tag.seq DESC LIMIT ?",
        ctx.workspace,
        *names,
        *CARD_TYPES,
        MOST_LINKS + 1,
    )
    places: dict[str, PlacedNode] = {}
    for row in rows[:MOST_LINKS]:
        places.setdefault(row["id"], PlacedNode(load(Node, row), row["branch"], row["doc"]))
    return LinkedCards(list(places.values()), len(rows) > MOST_LINKS)


def ranked(places: list[PlacedNode], types: Sequence[str]) -> list[PlacedNode]:
    """Pinned cards first, then by the rank of their type, then the newest."""

    def rank(item: PlacedNode) -> tuple[bool, int, int, str]:
        card = item.node
        return (not is_pinned(card.tags), types.index(card.type), -card.last_seq, card.id)

    return sorted(places, key=rank)


def places_json(ctx: Context, places: list[PlacedNode]) -> list[Json]:
    names: dict[int, str] = {}
    return [
        {**node_json(item.node), "branch": branch_name(ctx, item.branch, names), "graph_doc": item.doc}
        for item in places
    ]


def linked_tasks(ctx: Context, places: list[PlacedNode], limit: int) -> list[Json]:
    """The tasks on whose branches the anchor's cards are, the last changed first."""
    newest: dict[int, int] = {}
    for item in places:
        newest[item.branch] = max(newest.get(item.branch, 0), item.node.last_ts_ms)
    if not newest or not limit:
        return []
    sql = (
        "SELECT id, branch, graph_doc FROM reasoning_ref WHERE workspace = ? AND kind = 'task'"
        f" AND branch IN ({placeholders(len(newest))})"
    )
    rows = ctx.tx.all(sql, ctx.workspace, *newest)
    tasks = [_task(ctx, row, newest[row["branch"]]) for row in rows]
    return sorted(tasks, key=lambda task: (-task["last_ts_ms"], task["task"]))[:limit]


def _task(ctx: Context, row: Json, last_ts_ms: int) -> Json:
    """A task by its node in its own graph, so that no table of tasks is read here."""
    shown = node(ctx, branch_by_id(ctx, row["branch"]), row["graph_doc"], f"task:{row['id']}")
    title, status = (shown.title, shown.status) if shown else (None, None)
    return {"task": row["id"], "title": title, "status": status, "last_ts_ms": last_ts_ms}


SHOWN_CARDS, SHOWN_TASKS = 10, 3


class AnchorSnapshot(Bounded):
    synonyms: ClassVar[dict[str, str]] = {"all_lanes": "include_drafts"}

    anchor: Annotated[Name, Field(description="Anchor id such as a:storage, or one of its aliases.")]
    limit: Annotated[int, Field(ge=1, le=50, description="Most cards.")] = 20
    tasks_limit: Annotated[int, Field(ge=0, le=50, description="Most tasks; 0 for none.")] = 10
    include_drafts: Annotated[bool, Field(description="Show drafts too.")] = False


def snapshot_lines(result: Json, default_workspace: str) -> list[str]:
    anchor = result.get("anchor")
    if anchor is None:
        return ["anchor"]
    head = f"anchor {anchor['id']} kind={anchor['kind']} status={anchor['status']} title={argument(anchor['title'])}"
    lines = [one_line(head), *_task_lines(result, default_workspace)]
    lines += item_lines(result, result["cards"][:SHOWN_CARDS], _card_line)
    hidden = result["count"] - min(len(result["cards"]), SHOWN_CARDS)
    if hidden > 0:
        lines.append(f"MORE: {hidden} cards; {_line('open', result, default_workspace, id=anchor['id'], limit=50)}")
    note = note_call(anchor["id"], anchor["title"], anchor["kind"])
    return [*lines, _line("macro_anchor_note", result, default_workspace, **note["params"])]


def _card_line(card: Json) -> str:
    return f"- {card['type']} {card['id']}: {shorten(one_line(card['title'] or card['text'] or card['id']), 84)}"


def _task_lines(result: Json, default_workspace: str) -> list[str]:
    tasks = result["tasks"][:SHOWN_TASKS]
    if not tasks:
        return []
    named = " ".join(f"{task['task']}({task.get('status') or '?'})" for task in tasks)
    return [f"tasks {named}", _line("tasks_snapshot", result, default_workspace, task=tasks[0]["task"])]


def _line(name: str, result: Json, default_workspace: str, **params: Any) -> str:
    return command(name, {**params, "workspace": result["workspace"]}, default_workspace)


SNAPSHOT_BUDGET = Budget(
    (
        Clip("cards[].text", 400),
        Trim("cards", drop="last", floor=1),
        Trim("tasks", drop="last", floor=1),
        Clip("cards[].text", 60),
        Trim("cards", drop="last"),
        Trim("tasks", drop="last"),
    ),
    ANCHOR_DEFAULT,
    keep=("workspace",),
)


@operation(
    "anchor_snapshot",
    budget=SNAPSHOT_BUDGET,
    example={"anchor": "a:storage"},
    view=View(in_lines=True, lines=snapshot_lines),
)
def anchor_snapshot(ctx: Context, args: AnchorSnapshot) -> Json:
    """Show an anchor with what is known about its area and the tasks that touched it."""
    anchor_id = resolve_anchor(ctx, args.anchor)
    anchor = known_anchor(ctx, anchor_id)
    linked = linked_cards(ctx, anchor_id)
    places = ranked(linked.shown(args.include_drafts), PRIORITY)
    return {
        "workspace": ctx.workspace,
        "anchor": anchor.to_json(),
        "stats": linked.stats(),
        "tasks": linked_tasks(ctx, linked.places, args.tasks_limit),
        "cards": places_json(ctx, places[: args.limit]),
        "count": len(places),
        "truncated": len(places) > args.limit,
    }


@namer("anchor")
def anchor_names(ctx: Context, ids: list[str]) -> list[Named]:
    found = [find_anchor(ctx, id) for id in ids]
    return [Named(anchor.id, "anchor", anchor.title, anchor.status) for anchor in found if anchor]


@opener("anchor")
def open_anchor(ctx: Context, anchor: str, limit: int, include_drafts: bool) -> Json:
    """The anchor as `open` shows it. An unregistered one is shown from the cards that name it."""
    anchor_id = resolve_anchor(ctx, anchor, "id")
    record = find_anchor(ctx, anchor_id)
    linked = linked_cards(ctx, anchor_id)
    if record is None:
        way = note_call(anchor_id, slug_title(anchor_id))
        ctx.warn("ANCHOR_UNREGISTERED", f"{anchor_id} is not registered", "Register it with macro_anchor_note.")
        ctx.suggest(way)
    places = ranked(linked.shown(include_drafts), sorted(PRIORITY))
    shown = places[: max(1, min(limit, 50))]
    return {
        "kind": "anchor",
        "id": anchor_id,
        "anchor": {**_anchor_json(anchor_id, record, linked), "registered": record is not None},
        "stats": linked.stats(),
        "cards": places_json(ctx, shown),
        "count": len(shown),
        "truncated": len(places) > len(shown),
    }


def _anchor_json(anchor_id: str, record: Anchor | None, linked: LinkedCards) -> Json:
    if record is not None:
        return record.to_json()
    moments = [item.node.last_ts_ms for item in linked.places]
    times = {"created_at_ms": min(moments, default=0), "updated_at_ms": max(moments, default=0)}
    return {**Anchor(anchor_id, slug_title(anchor_id)).to_json(), **times}


GRAPH, TRACE = "anchors-graph", "anchors-trace"
_FIELDS = ("title", "kind", "status", "description", "refs", "aliases", "parent_id", "depends_on")


class MacroAnchorNote(Input):
    anchor: Annotated[Name, Field(description="Anchor id such as a:storage.")]
    content: Annotated[Text, Field(min_length=1, description="What is known about the area.")]
    title: AnchorTitle | None = None
    kind: Annotated[Kind | None, Field(description="Needed when the anchor is new.")] = None
    status: Status | None = None
    description: Description | None = None
    refs: Refs | None = None
    aliases: AnchorIds | None = None
    parent_id: Annotated[str, Field(max_length=80)] | None = None
    depends_on: AnchorIds | None = None
    card_type: Annotated[Name, Field(description="Type of the card that is written.")] = "note"
    visibility: Annotated[Literal["draft", "canon"] | None, Field(description="Default: canon for proof types.")] = None
    pin: Annotated[bool, Field(description="Pin the card.")] = False
    target: Target = None
    step: StepInput = None


def note_lines(result: Json, default_workspace: str) -> list[str]:
    anchor, place = result["anchor"], result["workspace"]
    done = "created" if anchor["created"] else "updated"
    where = "" if place == default_workspace else f" workspace={place}"
    return [
        f"anchor {anchor['id']} {done} | note {result['note']['card_id']}",
        f'anchor_snapshot anchor="{anchor["id"]}"{where}',
    ]


@operation(
    "macro_anchor_note",
    writes=True,
    example={"anchor": "a:storage", "content": "Writers queue on one row.", "title": "Storage", "kind": "component"},
    view=View(in_lines=True, lines=note_lines),
)
def macro_anchor_note(ctx: Context, args: MacroAnchorNote) -> Json:
    """Bind knowledge to an area of the system: register or update the anchor and write a card tagged with it."""
    anchor_id = resolve_anchor(ctx, args.anchor)
    created = upsert(ctx, _record(ctx, args, anchor_id))
    scope, step = _place(ctx, args)
    card = _card(args, anchor_id)
    written = write_card(ctx, scope, card, step=step)
    anchor = find_anchor(ctx, anchor_id)
    return {
        "workspace": ctx.workspace,
        "anchor": {**(anchor.to_json() if anchor else {}), "created": created},
        "scope": {"branch": scope.branch.name, "trace_doc": scope.trace, "graph_doc": scope.graph},
        "note": as_json(written, "trace_seq"),
    }


def _record(ctx: Context, args: MacroAnchorNote, anchor_id: str) -> Anchor:
    """The anchor with the given fields; omitted fields keep their values."""
    current = find_anchor(ctx, anchor_id)
    if current is None and (args.title is None or args.kind is None):
        way = note_call(anchor_id, args.title or slug_title(anchor_id), args.kind or "component", "high")
        way["params"]["content"] = args.content
        lacking = [name for name in ("title", "kind") if getattr(args, name) is None]
        hints = [{"kind": "missing_required", "field": name} for name in lacking]
        message = f"title: {anchor_id} is new, so title and kind are needed"
        raise ClewError("INVALID_INPUT", message, "Give both.", hints, [way])
    base = current or Anchor(anchor_id, args.title or "")
    given: Json = {name: getattr(args, name) for name in _FIELDS if getattr(args, name) is not None}
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return checked(replace(base, **{**given, **lists}))


def _place(ctx: Context, args: MacroAnchorNote) -> tuple[Scope, StepFocus | None]:
    """The scope of the target, if there is one; else the documents of anchors on the checked-out branch."""
    # A step belongs to a task, so naming one means the task in focus.
    wanted = target_id(args.target) or (ctx.ws.focus if args.step is not None else None)
    if wanted is None:
        if args.step is not None:
            message = "step is ignored: no task is given or in focus"
            ctx.warn("STEP_CONTEXT_IGNORED", message, "Give target, or set the focus to a task.")
        return Scope(checked_out(ctx), graph=GRAPH, trace=TRACE), None
    scope = scope_of(ctx, wanted)
    if scope.kind != "task" and args.step is not None:
        ctx.warn("STEP_CONTEXT_IGNORED", f"step is ignored: {wanted} is no task", "Give a task as target.")
        return scope, None
    return scope, resolve_step(ctx, scope, args.step)


def _card(args: MacroAnchorNote, anchor_id: str) -> Card:
    kind = check_card_type(args.card_type, "card_type")
    if not args.content.strip():
        way = suggest("anchors_list", "Shows the anchors there are.")
        raise invalid("content", "must not be empty", "Write what is known.", [way], kind="non_empty")
    visibility = args.visibility or ("canon" if kind in PROOF_TYPES else "draft")
    tags = {anchor_id, CANON if visibility == "canon" else DRAFT, *([PINNED] if args.pin else [])}
    return Card(None, kind, None, args.content.strip(), tags=tuple(sorted(tags)), meta={"anchor": anchor_id})
