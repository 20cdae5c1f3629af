"""macro_anchor_note: register an area and keep what is known about it, in one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.reasoning.anchor_registry import Anchor, find_anchor, slug_title
from clew.reasoning.anchor_snapshot import note_call, resolve_anchor
from clew.reasoning.anchors import AnchorIds, AnchorTitle, Description, Kind, Refs, Status, checked, upsert
from clew.reasoning.branches import checked_out
from clew.reasoning.card_input import Card, check_card_type
from clew.reasoning.cards import CardWritten, write_card
from clew.reasoning.scope import Scope, Target, scope_of, target_id
from clew.reasoning.steps import StepFocus, StepInput, resolve_step
from clew.reasoning.visibility import CANON, DRAFT, PINNED, PROOF_TYPES
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Text, operation

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


def note_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
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
    portal=True,
    lines=note_lines,
    example={"anchor": "a:storage", "content": "Writers queue on one row.", "title": "Storage", "kind": "component"},
)
def macro_anchor_note(ctx: Context, args: MacroAnchorNote) -> dict[str, Any]:
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
        "note": _note(written),
    }


def _record(ctx: Context, args: MacroAnchorNote, anchor_id: str) -> Anchor:
    """The record with what was given; what was left out stays as it is."""
    current = find_anchor(ctx, anchor_id)
    if current is None and (args.title is None or args.kind is None):
        way = note_call(anchor_id, args.title or slug_title(anchor_id), args.kind or "component", "high")
        way["params"]["content"] = args.content
        raise ClewError(
            "INVALID_INPUT",
            f"title: {anchor_id} is new, so title and kind are needed",
            "Give both.",
            [{"kind": "missing_required", "field": name} for name in ("title", "kind") if getattr(args, name) is None],
            [way],
        )
    base = current or Anchor(anchor_id, args.title or "")
    given: dict[str, Any] = {name: getattr(args, name) for name in _FIELDS if getattr(args, name) is not None}
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return checked(replace(base, **{**given, **lists}))


def _place(ctx: Context, args: MacroAnchorNote) -> tuple[Scope, StepFocus | None]:
    """The target's scope when there is one to write for, else the documents that anchors have on the checkout."""
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
        hint = {"kind": "non_empty", "field": "content"}
        raise ClewError("INVALID_INPUT", "content: must not be empty", "Write what is known.", [hint], [way])
    visibility = args.visibility or ("canon" if kind in PROOF_TYPES else "draft")
    tags = {anchor_id, CANON if visibility == "canon" else DRAFT, *([PINNED] if args.pin else [])}
    return Card(None, kind, None, args.content.strip(), tags=tuple(sorted(tags)), meta={"anchor": anchor_id})


def _note(written: CardWritten) -> dict[str, Any]:
    return {
        "card_id": written.card_id,
        "inserted": written.inserted,
        "nodes_upserted": written.nodes_upserted,
        "edges_upserted": written.edges_upserted,
        "last_seq": written.last_seq,
    }
