"""Packs of cards: think_pack for resuming, think_watch for looking on while work goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.capsule import capsule, engine_block, lane_summary
from clew.reasoning.card_queries import FRONTIER_LISTS, FRONTIER_STEPS, FrontierPlace, cards_json, lens_of, seen_at
from clew.reasoning.card_scope import TraceDoc, place_and_step
from clew.reasoning.entry_slices import SEQUENTIAL_FOLLOWS, entry_slice
from clew.reasoning.graph import Node
from clew.reasoning.scope import Scope
from clew.reasoning.steps import StepFocus
from clew.reasoning.trace import cut_bytes
from clew.reasoning.views import FRONTIER, Lens, card_stats, edges_of, frontier_pages, select
from clew.registry.budget import Budget, Clip, Drop, Step, Trim
from clew.registry.context import Context
from clew.registry.operation import operation

PACK_ENGINE = (4, 2)
CandidateLimit = Annotated[int, Field(ge=1, le=200, description="Most candidate cards.")]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What both packs are made of."""

    scope: Scope
    step: StepFocus | None
    lens: Lens
    candidates: list[Node]
    frontier: dict[str, list[Node]]
    has_more: bool
    seen_at: int

    def slice(self) -> list[Node]:
        """Every card shown, each once."""
        shown = [*self.candidates, *(card for cards in self.frontier.values() for card in cards)]
        return list({card.id: card for card in shown}.values())


def gather(ctx: Context, args: Any) -> Gathered:
    scope, step = place_and_step(ctx, args)
    lens = lens_of(args, step)
    pages = frontier_pages(ctx, scope, lens, args.limits.at_least(FRONTIER))
    chosen = select(ctx, scope, args.lens, args.limit_candidates, lens, pages)
    frontier = {name: page.first(getattr(args.limits, name)).nodes for name, page in pages.items()}
    return Gathered(scope, step, lens, chosen.listed(), frontier, chosen.has_more, seen_at(ctx, args))


def pack_json(
    ctx: Context, kind: str, found: Gathered, limits: tuple[int, int], trace: list[dict[str, Any]]
) -> dict[str, Any]:
    """The parts that both packs answer with."""
    cards = found.slice()
    block = engine_block(
        ctx, found.scope, cards, edges_of(ctx, found.scope, cards, found.lens.as_of), trace, limits, found.step
    )
    docs = {"graph": found.scope.graph, "trace": found.scope.trace}
    shown = {card["id"]: card for card in cards_json(ctx, found.scope, cards, found.lens.as_of)}
    return {
        "workspace": ctx.workspace,
        "branch": found.scope.branch.name,
        "graph_doc": found.scope.graph,
        "trace_doc": found.scope.trace,
        "capsule": capsule(ctx, kind, found.scope, docs, found.lens.drafts, found.step, block),
        **({"step_focus": found.step.to_json()} if found.step else {}),
        **({"engine": block} if block else {}),
        **({"lane_summary": lane_summary(cards)} if found.lens.drafts else {}),
        "candidates": [shown[card.id] for card in found.candidates],
        "frontier": {name: [shown[card.id] for card in listed] for name, listed in found.frontier.items()},
        "stats": card_stats(found.candidates),
        "has_more": found.has_more,
        "as_of": found.seen_at,
        "truncated": False,
    }


CARD_STEPS: tuple[Step, ...] = (
    Clip("candidates[].text", 600),
    *(Clip(f"frontier.{name}[].text", 200) for name in FRONTIER_LISTS),
    Trim("candidates", drop="last", floor=3, more="has_more"),
    *FRONTIER_STEPS,
    Drop("lane_summary"),
    Clip("candidates[].text", 80),
    Trim("candidates", drop="last", more="has_more"),
    Drop("frontier"),
    Drop("stats"),
    Trim("engine.actions", drop="last", floor=1),
    Trim("engine.signals", drop="last", floor=1),
    Drop("engine"),
)


class ThinkPack(FrontierPlace):
    trace_doc: TraceDoc = None
    limit_candidates: CandidateLimit = 30


@operation("think_pack", budget=Budget(CARD_STEPS, 20_000, keep=("capsule",)))
def think_pack(ctx: Context, args: ThinkPack) -> dict[str, Any]:
    """Give a compact pack of cards: candidates, frontier, signals and the next action."""
    found = gather(ctx, args)
    return pack_json(ctx, "think_pack_capsule", found, PACK_ENGINE, [])


class ThinkWatch(FrontierPlace):
    trace_doc: TraceDoc = None
    limit_candidates: CandidateLimit = 30
    trace_limit_steps: Annotated[int, Field(ge=0, le=200, description="Most trace entries; 0 for none.")] = 20
    trace_statement_max_bytes: Annotated[
        int | None, Field(ge=1, le=1_000_000, description="Longest content of a trace entry, in bytes.")
    ] = None
    engine_signals_limit: Annotated[int, Field(ge=0, le=200, description="Most signals; 0 for none.")] = 6
    engine_actions_limit: Annotated[int, Field(ge=0, le=50, description="Most actions; 0 for none.")] = 2


WATCH_STEPS: tuple[Step, ...] = (
    Clip("trace.entries[].content", 400),
    Trim("trace.entries", drop="first", floor=3, page="trace.pagination", follow=SEQUENTIAL_FOLLOWS),
    *CARD_STEPS[:-3],
    Clip("trace.entries[].content", 80),
    Trim("trace.entries", drop="first", page="trace.pagination", follow=SEQUENTIAL_FOLLOWS),
    Drop("trace"),
    *CARD_STEPS[-3:],
)


@operation("think_watch", budget=Budget(WATCH_STEPS, 20_000, keep=("capsule",)))
def think_watch(ctx: Context, args: ThinkWatch) -> dict[str, Any]:
    """Watch the work: frontier, candidates, the last trace steps, signals and the next action."""
    found = gather(ctx, args)
    part = entry_slice(ctx, found.scope, found.scope.trace, args.trace_limit_steps, found.lens)
    limits = (args.engine_signals_limit, args.engine_actions_limit)
    pack = pack_json(ctx, "watch_capsule", found, limits, part.entries)
    shown = part.trace_json()
    if args.trace_statement_max_bytes is not None:
        shown["entries"] = [_clipped(entry, args.trace_statement_max_bytes) for entry in part.entries]
    return {**pack, "trace": shown}


def _clipped(entry: dict[str, Any], most: int) -> dict[str, Any]:
    content = entry.get("content")
    return {**entry, "content": cut_bytes(content, most)} if content else entry
