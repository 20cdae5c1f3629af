"""Looking at an anchor: its record, the cards that hang on it and the tasks behind them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import Suggestion, shorten, suggest, unknown_id
from clew.ids import check_anchor
from clew.reasoning.anchor_cards import (
    Linked,
    by_priority,
    by_type_name,
    linked_cards,
    linked_tasks,
    places_json,
)
from clew.reasoning.anchor_registry import Anchor, canonical, find_anchor, slug_title
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.lines import argument, command, one_line
from clew.registry.operation import Bounded, Name, operation

SHOWN_CARDS, SHOWN_TASKS = 10, 3
NOTE = "What holds in this area: invariants, risks, tests."


def resolve_anchor(ctx: Context, given: str, field: str = "anchor") -> str:
    """The canonical id of what was given, with a warning when that was an older name."""
    wanted = check_anchor(given, field)
    known = canonical(ctx, wanted)
    if known != wanted:
        ctx.warn("ANCHOR_ALIAS_RESOLVED", f"{wanted} is an alias of {known}", f"Use {known}.")
    return known


def note_call(anchor_id: str, title: str, kind: str = "component", priority: str = "medium") -> Suggestion:
    params = {"anchor": anchor_id, "content": NOTE, "kind": kind, "title": title, "visibility": "canon"}
    return suggest("macro_anchor_note", "Binds a note to the anchor, and registers it if needed.", priority, **params)


def unknown_anchor(anchor_id: str) -> Exception:
    ways = [note_call(anchor_id, slug_title(anchor_id), priority="high")]
    return unknown_id("anchor", anchor_id, "List the anchors, or register this one.", ways)


class AnchorSnapshot(Bounded):
    synonyms: ClassVar[dict[str, str]] = {"all_lanes": "include_drafts"}

    anchor: Annotated[Name, Field(description="Anchor id such as a:storage, or one of its aliases.")]
    limit: Annotated[int, Field(ge=1, le=50, description="Most cards.")] = 20
    tasks_limit: Annotated[int, Field(ge=0, le=50, description="Most tasks; 0 for none.")] = 10
    include_drafts: Annotated[bool, Field(description="Show drafts too.")] = False


def snapshot_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    anchor = result.get("anchor")
    if anchor is None:
        return ["anchor"]
    head = f"anchor {anchor['id']} kind={anchor['kind']} status={anchor['status']} title={argument(anchor['title'])}"
    lines = [one_line(head), *_task_lines(result, default_workspace)]
    for card in result["cards"][:SHOWN_CARDS]:
        label = shorten(one_line(card["title"] or card["text"] or card["id"]), 84)
        lines.append(f"- {card['type']} {card['id']}: {label}")
    hidden = result["count"] - min(len(result["cards"]), SHOWN_CARDS)
    if hidden > 0:
        lines.append(f"MORE: {hidden} cards; {_line('open', result, default_workspace, id=anchor['id'], limit=50)}")
    note = note_call(anchor["id"], anchor["title"], anchor["kind"])
    return [*lines, _line("macro_anchor_note", result, default_workspace, **note["params"])]


def _task_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    tasks = result["tasks"][:SHOWN_TASKS]
    if not tasks:
        return []
    named = " ".join(f"{task['task']}({task['status'] or '?'})" for task in tasks)
    return [f"tasks {named}", _line("tasks_snapshot", result, default_workspace, task=tasks[0]["task"])]


def _line(name: str, result: dict[str, Any], default_workspace: str, **params: Any) -> str:
    return command(name, {**params, "workspace": result["workspace"]}, default_workspace)


ANCHOR_DEFAULT = {"core": 30_000, "daily": 60_000, "full": 80_000}
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
    "anchor_snapshot", portal=True, lines=snapshot_lines, budget=SNAPSHOT_BUDGET, example={"anchor": "a:storage"}
)
def anchor_snapshot(ctx: Context, args: AnchorSnapshot) -> dict[str, Any]:
    """Show an anchor with what is known about its area and the tasks that touched it."""
    anchor_id = resolve_anchor(ctx, args.anchor)
    anchor = find_anchor(ctx, anchor_id)
    if anchor is None:
        raise unknown_anchor(anchor_id)
    linked = linked_cards(ctx, anchor_id)
    places = by_priority(linked.shown(args.include_drafts))
    return {
        "workspace": ctx.workspace,
        "anchor": anchor.to_json(),
        "stats": linked.stats(),
        "tasks": linked_tasks(ctx, linked.places, args.tasks_limit),
        "cards": places_json(ctx, places[: args.limit]),
        "count": len(places),
        "truncated": len(places) > args.limit,
    }


def open_anchor(ctx: Context, anchor: str, limit: int, include_drafts: bool) -> dict[str, Any]:
    """The anchor as `open` shows it. One that nobody registered is shown from the tags that name it."""
    anchor_id = resolve_anchor(ctx, anchor, "id")
    record = find_anchor(ctx, anchor_id)
    linked = linked_cards(ctx, anchor_id)
    if record is None:
        way = note_call(anchor_id, slug_title(anchor_id))
        ctx.warn("ANCHOR_UNREGISTERED", f"{anchor_id} is not registered", "Register it with macro_anchor_note.")
        ctx.suggest(way)
    places = by_type_name(linked.shown(include_drafts))
    shown = places[: max(1, min(limit, 50))]
    return {
        "kind": "anchor",
        "id": anchor_id,
        "anchor": {**_record(anchor_id, record, linked), "registered": record is not None},
        "stats": linked.stats(),
        "cards": places_json(ctx, shown),
        "count": len(shown),
        "truncated": len(places) > len(shown),
    }


def _record(anchor_id: str, record: Anchor | None, linked: Linked) -> dict[str, Any]:
    if record is not None:
        return record.to_json()
    moments = [item.node.last_ts_ms for item in linked.places]
    times = {"created_at_ms": min(moments, default=0), "updated_at_ms": max(moments, default=0)}
    return {**Anchor(anchor_id, slug_title(anchor_id)).to_json(), **times}
