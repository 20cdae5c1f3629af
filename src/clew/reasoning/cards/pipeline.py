"""think_pipeline: frame, hypothesis, test, evidence and decision in one call, each linked to the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import invalid, shorten, suggest
from clew.reasoning.cards.card import CardWritten, write_card
from clew.reasoning.cards.forms import Card, CardInput, read_card
from clew.reasoning.documents import append
from clew.reasoning.scope import (
    AgentInput,
    BranchInput,
    GraphDoc,
    NotesDoc,
    Scope,
    StepFocus,
    StepInput,
    Target,
    TraceDoc,
    located,
    resolve_scope,
    resolve_step,
)
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Title, operation
from clew.store.database import Row

_STAGE = ("card_id", "inserted", "edges_upserted", "last_seq")
STAGES = ("frame", "hypothesis", "test", "evidence", "decision")
SUMMARY = 2000


@dataclass(frozen=True, slots=True)
class DecisionNote:
    """Title and format of the note that summarizes the decision."""

    title: str = "Decision"
    format: str = "text"


@dataclass(frozen=True, slots=True)
class PipelineWritten:
    cards: tuple[tuple[str, CardWritten], ...]
    note: Row | None

    @property
    def last_seq(self) -> int | None:
        made = [card.last_seq for _, card in self.cards if card.last_seq is not None]
        return max(made, default=None)


def write_pipeline(
    ctx: Context,
    scope: Scope,
    stages: Mapping[str, str | Json],
    statuses: Mapping[str, str] | None = None,
    step: StepFocus | None = None,
    note: DecisionNote | None = None,
) -> PipelineWritten:
    """Write the given stages in order, each supporting the one before, and a note about the decision if requested."""
    # All stages are read and checked before the first card is written.
    cards = _stage_cards(stages, statuses or {})
    written: list[tuple[str, CardWritten]] = []
    for stage, card in cards.items():
        before = [written[-1][1].card_id] if written else []
        written.append((stage, write_card(ctx, scope, card, before, (), step)))
    decision = dict(written).get("decision")
    if note is None or decision is None:
        return PipelineWritten(tuple(written), None)
    return PipelineWritten(tuple(written), _note(ctx, scope, cards["decision"], decision.card_id, note, step))


def _stage_cards(stages: Mapping[str, str | Json], statuses: Mapping[str, str]) -> dict[str, Card]:
    cards = {stage: read_card(stages[stage], stage) for stage in STAGES if stage in stages}
    if not cards:
        way = suggest("think_template", "Shows what the first stage says.", type="frame")
        raise invalid("frame", "at least one stage is needed", "Give one or more stages.", [way], kind="choose_one")
    for stage, status in statuses.items():
        if stage not in cards:
            fix = f"Use only stages that you give: {', '.join(cards)}."
            raise invalid("status", f"{shorten(stage, 40)!r} is not a stage of this call", fix, kind="choice")
        if not isinstance(status, str) or not status.strip():
            raise invalid(f"status.{stage}", "expected a non-empty string", kind="type")
        cards[stage] = replace(cards[stage], status=status.strip())
    return cards


def _note(ctx: Context, scope: Scope, card: Card, card_id: str, note: DecisionNote, step: StepFocus | None) -> Row:
    content = "\n".join(part for part in (card.title, card.text) if part)
    meta: Json = {"source": "think_pipeline", "card_id": card_id}
    meta |= {"step": step.to_json()} if step else {}
    said = {"content": shorten(content, SUMMARY), **picked(note, "title", "format"), "meta": meta}
    row = append(ctx, scope.branch.id, scope.notes, **said)
    ctx.emit("reasoning", "note_committed", f"{scope.notes}@{row['seq']}", {"branch": scope.branch.name})
    return row


class ThinkPipeline(Input):
    synonyms: ClassVar[dict[str, str]] = {"ref": "branch"}
    frame: CardInput | None = None
    hypothesis: CardInput | None = None
    test: CardInput | None = None
    evidence: CardInput | None = None
    decision: CardInput | None = None
    status: Annotated[
        dict[str, Annotated[str, Field(max_length=64)]] | None, Field(description="Status of each stage given.")
    ] = None
    target: Target = None
    step: StepInput = None
    branch: BranchInput = None
    notes_doc: NotesDoc = None
    trace_doc: TraceDoc = None
    graph_doc: GraphDoc = None
    note_decision: Annotated[bool | None, Field(description="Sum the decision up in the notes; default: true.")] = None
    note_title: Title | None = None
    note_format: Name | None = None
    agent_id: AgentInput = None


@operation("think_pipeline", writes=True, example={"frame": "Imports are slow", "hypothesis": "One commit per row"})
def think_pipeline(ctx: Context, args: ThinkPipeline) -> Json:
    """Keep frame, hypothesis, test, evidence and decision in one call, each linked to the one before."""
    scope = resolve_scope(
        ctx, args.target, args.branch, notes=args.notes_doc, trace=args.trace_doc, graph=args.graph_doc
    )
    step = resolve_step(ctx, scope, args.step)
    given = {stage: getattr(args, stage) for stage in STAGES if getattr(args, stage) is not None}
    note = DecisionNote(args.note_title or "Decision", args.note_format or "text")
    done = write_pipeline(ctx, scope, given, args.status, step, None if args.note_decision is False else note)
    if args.note_decision and done.note is None:
        ctx.warn("NOTE_IGNORED", "note_decision needs a decision stage; nothing was noted", "Give decision as well.")
    return {
        **located(ctx, scope, "trace", "graph", "notes"),
        "cards": [{"stage": stage, **picked(card, *_STAGE)} for stage, card in done.cards],
        "graph_applied": {
            "nodes_upserted": sum(card.nodes_upserted for _, card in done.cards),
            "edges_upserted": sum(card.edges_upserted for _, card in done.cards),
        },
        "last_seq": done.last_seq,
        "decision_note": _note_json(done),
    }


def _note_json(done: PipelineWritten) -> Json | None:
    if done.note is None:
        return None
    row, card_id = done.note, dict(done.cards)["decision"].card_id
    times = {"ts": rfc3339(row["ts_ms"]), "ts_ms": row["ts_ms"]}
    return {"card_id": card_id, "doc": row["doc"], "seq": row["seq"], **times}
