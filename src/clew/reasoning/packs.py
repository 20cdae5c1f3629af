"""context_pack, think_pack and think_watch: notes, trace and cards of a scope in one bounded answer, or in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json, canonical, picked
from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import confined
from clew.reasoning.branches import branch_by_id
from clew.reasoning.cards.card_selection import (
    FRONTIER,
    Lens,
    card_stats,
    edges_of,
    frontier_pages,
    newest,
    select,
    tagged,
)
from clew.reasoning.cards.queries import FRONTIER_LISTS, FRONTIER_STEPS, FrontierPlace, cards_json, lens_of, seen_at
from clew.reasoning.engine.slice import BLOCKS, is_active, label
from clew.reasoning.graph import Edge, Node
from clew.reasoning.pack_parts import (
    SEQUENTIAL_FOLLOWS,
    SHORTER_SIGNALS,
    WORDLESS_SIGNALS,
    EntrySlice,
    capsule,
    card_words,
    engine_block,
    entry_slice,
    lane_summary,
)
from clew.reasoning.scope import NotesDoc, Scope, StepFocus, TraceDoc, ViewPlace, place_and_step, target_id
from clew.reasoning.trace import cut_bytes
from clew.registry.budget import Budget, Clip, Drop, Step, Trim, drops
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.registry.suggestions import PartBudget, bounded_part
from clew.secrets import redact

# Maximum signals and actions, as in the contract.
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
        """Whether nothing was thought or noted here. Events that tasks write into the trace do not count."""
        return not (self.notes.entries or self.cards or any(entry["kind"] == "note" for entry in self.trace.entries))


def context(ctx: Context, args: ContextPack) -> Json:
    """The context pack before truncation."""
    pack = _gather(ctx, args)
    block = engine_block(ctx, pack.scope, pack.cards, pack.edges, pack.trace.entries, ENGINE, pack.step)
    docs = picked(pack.scope, "notes", "trace", "graph")
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
        "stats": {**card_stats(pack.cards), "notes": len(pack.notes.entries), "trace": len(pack.trace.entries)},
        **({"bridge": bridge} if bridge else {}),
        "as_of": seen_at(ctx, args),
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


def _signals(ctx: Context, args: ContextPack, pack: Pack) -> Json:
    decisions = newest(ctx, pack.scope, pack.lens, "decision", args.decisions_limit)
    evidence = newest(ctx, pack.scope, pack.lens, "evidence", args.evidence_limit)
    blockers = _blockers(ctx, pack, args.blockers_limit)
    named = {"blockers": blockers, "decisions": decisions, "evidence": evidence}
    lists: Json = {name: [_card_json(card) for card in cards] for name, cards in named.items()}
    return {**lists, "stats": {name: len(cards) for name, cards in named.items()}}


def _blockers(ctx: Context, pack: Pack, limit: int) -> list[Node]:
    """Open cards tagged as blockers, then active cards of the slice that block another active card."""
    by_id = {card.id: card for card in pack.cards}
    pairs = [(by_id[edge.from_id], by_id[edge.to_id]) for edge in pack.edges if edge.rel == BLOCKS]
    # Both must be active: an objection to something that is settled blocks nothing.
    against = {start.id: start for start, end in pairs if is_active(start) and is_active(end)}
    found = {card.id: card for card in tagged(ctx, pack.scope, pack.lens, BLOCKER, limit)}
    for card in sorted(against.values(), key=lambda card: -card.last_seq):
        found.setdefault(card.id, card)
    return list(found.values())[:limit]


def _card_json(card: Node) -> Json:
    named = {"id": card.id, "type": card.type, "label": label(card), **card_words(card)}
    return {**named, "status": card.status, "last_seq": card.last_seq}


def _bridge(ctx: Context, pack: Pack) -> Json | None:
    """A fallback for a target without context: it was probably written on the checked-out branch."""
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
    message = f"{pack.scope.target} has no notes or cards; branch {here.branch.name} has"
    recovery = f"Read branch {here.branch.name} instead, or write to {pack.scope.target}."
    ctx.warn("CONTEXT_EMPTY_FOR_TARGET", message, recovery)
    docs = picked(here, "notes", "trace", "graph")
    return {"checkout": here.branch.name, "docs": docs, "has": has}


PACK_STEPS: tuple[Step, ...] = (
    *SHORTER_SIGNALS,
    Clip("notes.entries[].content", 800),
    Clip("trace.entries[].content", 400),
    Clip("cards[].text", 600),
    Trim("trace.entries", drop="first", floor=5, page="trace.pagination", follow=SEQUENTIAL_FOLLOWS),
    Trim("notes.entries", drop="first", floor=3, page="notes.pagination"),
    Trim("cards", drop="last", floor=3),
    *WORDLESS_SIGNALS,
    Clip("notes.entries[].content", 120),
    Clip("trace.entries[].content", 80),
    Clip("cards[].text", 80),
    Drop("lane_summary"),
    Trim("trace.entries", drop="first", page="trace.pagination", follow=SEQUENTIAL_FOLLOWS),
    Trim("notes.entries", drop="first", page="notes.pagination"),
    Trim("cards", drop="last"),
    *drops("trace", "notes", "stats"),
    Trim("engine.actions", drop="last", floor=1),
    Trim("engine.signals", drop="last", floor=1),
    *drops("signals", "engine", "requested", "bridge"),
)
PACK_BUDGET = Budget(PACK_STEPS, 20_000, keep=("capsule",))


@operation("context_pack", budget=PACK_BUDGET)
def context_pack(ctx: Context, args: ContextPack) -> Json:
    """Give notes, trace, cards, signals and the next action of a scope in one answer."""
    return context(ctx, args)


PACK_ENGINE = (4, 2)
CandidateLimit = Annotated[int, Field(ge=1, le=200, description="Most candidate cards.")]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The common input of think_pack and think_watch."""

    scope: Scope
    step: StepFocus | None
    lens: Lens
    candidates: list[Node]
    frontier: dict[str, list[Node]]
    has_more: bool
    seen_at: int

    def slice(self) -> list[Node]:
        """Every shown card, each once."""
        shown = [*self.candidates, *(card for cards in self.frontier.values() for card in cards)]
        return list({card.id: card for card in shown}.values())


def gather(ctx: Context, args: Any) -> Gathered:
    scope, step = place_and_step(ctx, args)
    lens = lens_of(args, step)
    # One read, large enough for both the shown frontier and the candidates that are chosen from it.
    pages = frontier_pages(ctx, scope, lens, args.limits.at_least(FRONTIER))
    chosen = select(ctx, scope, args.lens, args.limit_candidates, lens, pages)
    frontier = {name: page.first(getattr(args.limits, name)).nodes for name, page in pages.items()}
    return Gathered(scope, step, lens, chosen.listed(), frontier, chosen.has_more, seen_at(ctx, args))


def pack_json(ctx: Context, kind: str, found: Gathered, limits: tuple[int, int], trace: list[Json]) -> Json:
    """The parts of the response that both packs share."""
    cards = found.slice()
    edges = edges_of(ctx, found.scope, cards, found.lens.as_of)
    block = engine_block(ctx, found.scope, cards, edges, trace, limits, found.step)
    docs = picked(found.scope, "graph", "trace")
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
    }


CARD_STEPS: tuple[Step, ...] = (
    Clip("candidates[].text", 600),
    *(Clip(f"frontier.{name}[].text", 200) for name in FRONTIER_LISTS),
    Trim("candidates", drop="last", floor=3, more="has_more"),
    *FRONTIER_STEPS,
    Drop("lane_summary"),
    Clip("candidates[].text", 80),
    Trim("candidates", drop="last", more="has_more"),
    *drops("frontier", "stats"),
    Trim("engine.actions", drop="last", floor=1),
    Trim("engine.signals", drop="last", floor=1),
    Drop("engine"),
)


class ThinkPack(FrontierPlace):
    trace_doc: TraceDoc = None
    limit_candidates: CandidateLimit = 30


@operation("think_pack", budget=Budget(CARD_STEPS, 20_000, keep=("capsule",)))
def think_pack(ctx: Context, args: ThinkPack) -> Json:
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
def think_watch(ctx: Context, args: ThinkWatch) -> Json:
    """Watch the work: frontier, candidates, the last trace steps, signals and the next action."""
    found = gather(ctx, args)
    part = entry_slice(ctx, found.scope, found.scope.trace, args.trace_limit_steps, found.lens)
    limits = (args.engine_signals_limit, args.engine_actions_limit)
    pack = pack_json(ctx, "watch_capsule", found, limits, part.entries)
    shown = part.trace_json()
    if args.trace_statement_max_bytes is not None:
        shown["entries"] = [_clipped(entry, args.trace_statement_max_bytes) for entry in part.entries]
    return {**pack, "trace": shown}


def _clipped(entry: Json, most: int) -> Json:
    content = entry.get("content")
    return {**entry, "content": cut_bytes(content, most)} if content else entry


CONVENTION = ".agents/mcp/context/.context/branchmind/context_pack.json"


class ContextPackExport(ContextPack):
    out_file: Annotated[
        str, Field(min_length=1, max_length=1024, description=f"Path below the project root, such as {CONVENTION}.")
    ]


@operation("context_pack_export", mode="own", writes=True, idempotent=True, example={"out_file": "context_pack.json"})
def context_pack_export(ctx: Context, args: ContextPackExport) -> Json:
    """Write a context pack to a JSON file below the project root."""
    path = _place(ctx.files, args.out_file)
    with ctx.reading() as bound:
        pack = context(bound, args)
    given = [limit for limit in (args.max_chars, args.context_budget) if limit is not None]
    most = PartBudget(PACK_BUDGET, min(given, default=None), PACK_BUDGET.default_for(ctx.connection.toolset) or 0)
    again = args.model_dump(exclude_unset=True, exclude={"workspace"})
    # The dispatcher limits and redacts responses only; the content of a file is limited and redacted here.
    shown = bounded_part(ctx, pack, most, "context_pack_export", again)
    data = canonical(redact(shown, canonical(shown))).encode()
    _write(path, data, args.out_file)
    written = {"out_file": str(path), "bytes": len(data)}
    return {"workspace": ctx.workspace, **written, "truncated": shown["budget"]["truncated"]}


def _place(root: Path, out_file: str) -> Path:
    path = confined(root, out_file, "out_file")
    inside = path.relative_to(root.resolve()).parts
    # The caller chooses the path, so it must never be code, a configuration or a git hook.
    if path.suffix != ".json" or ".git" in inside:
        allowed = "only .json files outside of .git are written"
        message = f"{shorten(out_file, 120)!r} is not a place for a pack: {allowed}"
        way = suggest("context_pack_export", "Writes to the usual place.", "high", out_file=CONVENTION)
        raise invalid("out_file", message, f"Use a path such as {CONVENTION}.", [way])
    return path


def _write(path: Path, data: bytes, shown: str) -> None:
    """Write the whole file or nothing, so that readers never see half a pack."""
    # With the process id, so that two servers do not write the same scratch file.
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as problem:
        scratch.unlink(missing_ok=True)
        message = f"out_file: cannot write {shorten(shown, 120)!r}: {problem.strerror or problem}"
        recovery = "Choose a path that can be written."
        ways = [suggest("context_pack", "Gives the pack as an answer instead.")]
        raise ClewError("IO_ERROR", message, recovery, suggestions=ways) from problem
