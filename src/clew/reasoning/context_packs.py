"""The context pack: notes, trace and cards of a scope in one bounded answer, fit to resume from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.branches import branch_by_id
from clew.reasoning.capsule import capsule, engine_block, lane_summary
from clew.reasoning.card_queries import cards_json, lens_of, seen_at
from clew.reasoning.card_scope import NotesDoc, TraceDoc, ViewPlace, place_and_step
from clew.reasoning.engine.slice import BLOCKS, is_active, label
from clew.reasoning.entry_slices import SEQUENTIAL_FOLLOWS, EntrySlice, entry_slice
from clew.reasoning.graph import Edge, Node
from clew.reasoning.scope import Scope, target_id
from clew.reasoning.steps import StepFocus
from clew.reasoning.views import Lens, card_stats, edges_of, newest, select, tagged
from clew.registry.budget import Budget, Clip, Drop, Step, Trim
from clew.registry.context import Context
from clew.registry.operation import operation

ENGINE = (6, 2)
BLOCKER = "blocker"
SignalLimit = Annotated[int, Field(ge=0, le=100, description="Most of this kind; 0 for none.")]


class ContextPack(ViewPlace):
    notes_doc: NotesDoc = None
    trace_doc: TraceDoc = None
    notes_limit: Annotated[int, Field(ge=0, le=200, description="Most notes; 0 for none.")] = 20
    trace_limit: Annotated[int, Field(ge=0, le=200, description="Most trace entries; 0 for none.")] = 50
    limit_cards: Annotated[int, Field(ge=0, le=200, description="Most cards; 0 for none.")] = 30
    decisions_limit: SignalLimit = 5
    evidence_limit: SignalLimit = 5
    blockers_limit: SignalLimit = 5
    read_only: Annotated[bool, Field(description="Accepted for older callers; a pack never writes.")] = False


@dataclass(frozen=True, slots=True)
class Pack:
    scope: Scope
    step: StepFocus | None
    lens: Lens
    notes: EntrySlice
    trace: EntrySlice
    cards: list[Node]
    edges: list[Edge]

    @property
    def empty(self) -> bool:
        """Nothing was thought or noted here; the events that tasks leave behind do not count."""
        return not (self.notes.entries or self.cards or any(entry["kind"] == "note" for entry in self.trace.entries))


def context(ctx: Context, args: ContextPack) -> dict[str, Any]:
    """The pack before its budget is applied."""
    pack = _gather(ctx, args)
    block = engine_block(ctx, pack.scope, pack.cards, pack.edges, pack.trace.entries, ENGINE, pack.step)
    docs = {"notes": pack.scope.notes, "trace": pack.scope.trace, "graph": pack.scope.graph}
    bridge = _bridge(ctx, pack)
    return {
        "workspace": ctx.workspace,
        "requested": {"target": target_id(args.target), "ref": args.ref},
        "branch": pack.scope.branch.name,
        "docs": docs,
        "capsule": capsule(ctx, "context_pack_capsule", pack.scope, docs, pack.lens.drafts, pack.step, block),
        **({"step_focus": pack.step.to_json()} if pack.step else {}),
        **({"engine": block} if block else {}),
        **({"lane_summary": lane_summary(pack.cards)} if pack.lens.drafts else {}),
        "notes": pack.notes.to_json(),
        "trace": pack.trace.trace_json(),
        "cards": cards_json(ctx, pack.scope, pack.cards, args.as_of),
        "signals": _signals(ctx, args, pack),
        "stats": {
            **card_stats(pack.cards),
            "notes": len(pack.notes.entries),
            "trace": len(pack.trace.entries),
        },
        **({"bridge": bridge} if bridge else {}),
        "as_of": seen_at(ctx, args),
        "truncated": False,
    }


def _gather(ctx: Context, args: ContextPack) -> Pack:
    scope, step = place_and_step(ctx, args)
    lens = lens_of(args, step)
    cards = select(ctx, scope, args.lens, args.limit_cards, lens).listed() if args.limit_cards else []
    return Pack(
        scope,
        step,
        lens,
        entry_slice(ctx, scope, scope.notes, args.notes_limit, lens),
        entry_slice(ctx, scope, scope.trace, args.trace_limit, lens),
        cards,
        edges_of(ctx, scope, cards, args.as_of),
    )


def _signals(ctx: Context, args: ContextPack, pack: Pack) -> dict[str, Any]:
    decisions = newest(ctx, pack.scope, pack.lens, "decision", args.decisions_limit)
    evidence = newest(ctx, pack.scope, pack.lens, "evidence", args.evidence_limit)
    blockers = _blockers(ctx, pack, args.blockers_limit)
    named = {"blockers": blockers, "decisions": decisions, "evidence": evidence}
    lists: dict[str, Any] = {name: [_named(card) for card in cards] for name, cards in named.items()}
    return {**lists, "stats": {name: len(cards) for name, cards in named.items()}}


def _blockers(ctx: Context, pack: Pack, limit: int) -> list[Node]:
    """Open cards tagged as blockers, then active ones of the slice that speak against another active one."""
    by_id = {card.id: card for card in pack.cards}
    pairs = [(by_id[edge.from_id], by_id[edge.to_id]) for edge in pack.edges if edge.rel == BLOCKS]
    against = {start.id: start for start, end in pairs if is_active(start) and is_active(end)}
    found = {card.id: card for card in tagged(ctx, pack.scope, pack.lens, BLOCKER, limit)}
    for card in sorted(against.values(), key=lambda card: -card.last_seq):
        found.setdefault(card.id, card)
    return list(found.values())[:limit]


def _named(card: Node) -> dict[str, Any]:
    return {"id": card.id, "type": card.type, "label": label(card), "status": card.status, "last_seq": card.last_seq}


def _bridge(ctx: Context, pack: Pack) -> dict[str, Any] | None:
    """Where context may be found when a target has none: it was probably written on the checked-out branch."""
    if pack.scope.target is None or pack.step is not None or not pack.empty or ctx.ws.checkout is None:
        return None
    here = Scope(branch_by_id(ctx, ctx.ws.checkout))
    has = {
        "notes": bool(entry_slice(ctx, here, here.notes, 1, pack.lens).entries),
        "trace": bool(entry_slice(ctx, here, here.trace, 1, pack.lens).entries),
        "cards": bool(select(ctx, here, "explore", 1, pack.lens).cards),
    }
    if not any(has.values()):
        return None
    ctx.warn(
        "CONTEXT_EMPTY_FOR_TARGET",
        f"{pack.scope.target} has no notes or cards; branch {here.branch.name} has",
        f"Read branch {here.branch.name} instead, or write to {pack.scope.target}.",
    )
    return {
        "checkout": here.branch.name,
        "docs": {"notes": here.notes, "trace": here.trace, "graph": here.graph},
        "has": has,
    }


PACK_STEPS: tuple[Step, ...] = (
    Clip("notes.entries[].content", 800),
    Clip("trace.entries[].content", 400),
    Clip("cards[].text", 600),
    Trim("trace.entries", drop="first", floor=5, page="trace.pagination", follow=SEQUENTIAL_FOLLOWS),
    Trim("notes.entries", drop="first", floor=3, page="notes.pagination"),
    Trim("cards", drop="last", floor=3),
    Clip("notes.entries[].content", 120),
    Clip("trace.entries[].content", 80),
    Clip("cards[].text", 80),
    Drop("lane_summary"),
    Trim("trace.entries", drop="first", page="trace.pagination", follow=SEQUENTIAL_FOLLOWS),
    Trim("notes.entries", drop="first", page="notes.pagination"),
    Trim("cards", drop="last"),
    Drop("trace"),
    Drop("notes"),
    Drop("stats"),
    Trim("engine.actions", drop="last", floor=1),
    Trim("engine.signals", drop="last", floor=1),
    Drop("signals"),
    Drop("engine"),
    Drop("requested"),
    Drop("bridge"),
)
PACK_BUDGET = Budget(PACK_STEPS, 20_000, keep=("capsule",))


@operation("context_pack", budget=PACK_BUDGET)
def context_pack(ctx: Context, args: ContextPack) -> dict[str, Any]:
    """Give notes, trace, cards, signals and the next action of a scope in one answer."""
    return context(ctx, args)
