"""The strict gate: a task in strict mode closes a step only when its reasoning can bear it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from clew.errors import ClewError, Suggestion, suggest
from clew.reasoning import engine
from clew.reasoning.documents import append
from clew.reasoning.graph import Node, edges_among, nodes
from clew.reasoning.scope import scope_of
from clew.registry.context import Context
from clew.tasks.plans import Work
from clew.tasks.steps import Step, step_meta, step_tag
from clew.tasks.trust import suspect_steps

CARDS = 200
EDGES = 600
WAYS = 3
CLOSED = frozenset({"closed", "done", "resolved"})
NO_CLAIM = "STRICT_NO_HYPOTHESIS_OR_DECISION"
FALLEN_PREMISE = "STRICT_PREMISE_FALLEN"
# The engine's signals that bar closing, and the kind of action by which it mends each.
BLOCKING = {"BM4_HYPOTHESIS_NO_TEST": "add_test_stub", "BM10_NO_COUNTER_EDGES": "add_counter_hypothesis"}


class Override(BaseModel):
    """The way past the strict gate: why, and what may go wrong."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    reason: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S", description="Why it is right to close.")]
    risk: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S", description="What may go wrong.")]


def check_reasoning(ctx: Context, task: Work, step: Step, override: Override | None) -> dict[str, Any]:
    """Refuse to close a strict task's step while its reasoning lacks something, unless told why that is right.

    Returns what the closing event says about it: nothing, or the override.
    """
    if task.reasoning_mode != "strict":
        return {}
    found = examine(ctx, task, step)
    if not found.missing:
        return {}
    if override is None:
        raise reasoning_required(task, step, found)
    _note_override(ctx, task, step, override, found.missing)
    return {"override": {**override.model_dump(), "missing": list(found.missing)}}


@dataclass(frozen=True, slots=True)
class Examined:
    """What a step's reasoning lacks, by code, and the calls that would mend it."""

    missing: tuple[str, ...] = ()
    ways: tuple[Suggestion, ...] = ()


def examine(ctx: Context, task: Work, step: Step) -> Examined:
    """Look at the cards of one step. An engine that says nothing has nothing to object."""
    scope = scope_of(ctx, task.id)
    cards = nodes(ctx, scope.branch, scope.graph, tags_all=(step_tag(step),), limit=CARDS).nodes
    if not any(_is_claim(card) for card in cards):
        return Examined((NO_CLAIM,), (_claim(task, step),))
    doubt = suspect_steps(ctx, task.id, [step]).get(step.id)
    if doubt is not None:
        return Examined((FALLEN_PREMISE,), (suggest("open", "Shows the card that fell.", id=doubt.path[-1]),))
    edges = edges_among(ctx, scope.branch, scope.graph, [card.id for card in cards], EDGES)
    said = engine.run(cards, edges, signals_limit=CARDS, actions_limit=CARDS, step_tag=step_tag(step), scope=scope)
    if said is None:
        return Examined()
    missing = tuple(dict.fromkeys(signal["code"] for signal in said["signals"] if signal["code"] in BLOCKING))
    mending = {BLOCKING[code] for code in missing}
    calls = [call for action in said["actions"] if action["kind"] in mending for call in action["calls"]]
    cards_first = sorted(calls, key=lambda call: call["target"] != "think_card")
    return Examined(missing, tuple(cards_first[:WAYS]))


def reasoning_required(task: Work, step: Step, found: Examined) -> ClewError:
    return ClewError(
        "REASONING_REQUIRED",
        f"{task.id} is strict and {step.path} lacks: {', '.join(found.missing)}",
        "Write the cards that are missing, or close with override={reason, risk}.",
        suggestions=found.ways,
        details={"step_id": step.id, "path": step.path, "missing": list(found.missing)},
    )


def _is_claim(card: Node) -> bool:
    return card.type in {"hypothesis", "decision"} and (card.status or "open").lower() not in CLOSED


def _claim(task: Work, step: Step) -> Suggestion:
    card = {"type": "hypothesis", "title": f"What must hold for: {step.title}"}
    return suggest(
        "think_card", "Writes the claim that this step rests on.", "high", target=task.id, step=step.id, card=card
    )


def _note_override(ctx: Context, task: Work, step: Step, override: Override, missing: tuple[str, ...]) -> None:
    scope = scope_of(ctx, task.id)
    lacks = ", ".join(missing)
    text = f"STRICT OVERRIDE of {step.path}\nreason: {override.reason}\nrisk: {override.risk}\nmissing: {lacks}"
    append(
        ctx,
        scope.branch.id,
        scope.notes,
        content=text,
        title="STRICT OVERRIDE",
        meta={"source": "strict_override", "step": step_meta(step), "missing": list(missing)},
        subject=task.id,
        path=step.path,
    )
    ctx.warn(
        "STRICT_OVERRIDE_APPLIED",
        f"{step.path} was closed although it lacks {lacks}",
        "The reason and the risk are kept in the task's notes.",
    )
