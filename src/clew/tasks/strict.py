"""The strict gate: a task in strict mode closes a step only when its reasoning can bear it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from clew.errors import ClewError, suggest
from clew.reasoning.documents import append
from clew.reasoning.graph import Node, nodes
from clew.reasoning.scope import scope_of
from clew.registry.context import Context
from clew.tasks.plans import Work
from clew.tasks.steps import Step

CARDS = 200
CLOSED = frozenset({"closed", "done", "resolved"})
NO_CLAIM = "STRICT_NO_HYPOTHESIS_OR_DECISION"
BLOCKING = ("BM4_HYPOTHESIS_NO_TEST", "BM10_NO_COUNTER_EDGES")


class Override(BaseModel):
    """The way past the strict gate: why, and what may go wrong."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    reason: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S", description="Why it is right to close.")]
    risk: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S", description="What may go wrong.")]


def check_reasoning(ctx: Context, task: Work, step: Step, override: Override | None) -> None:
    """Refuse to close a strict task's step while its reasoning lacks something, unless told why that is right."""
    if task.reasoning_mode != "strict":
        return
    missing = missing_signals(ctx, task, step)
    if not missing:
        return
    if override is None:
        raise reasoning_required(ctx, task, step, missing)
    _note_override(ctx, task, step, override, missing)


def missing_signals(ctx: Context, task: Work, step: Step) -> list[str]:
    """Codes of what the step's cards lack. An engine that says nothing has nothing to object."""
    scope = scope_of(ctx, task.id)
    cards = nodes(ctx, scope.branch, scope.graph, tags_all=(step_tag(step),), limit=CARDS).nodes
    if not any(_is_claim(card) for card in cards):
        return [NO_CLAIM]
    return []


def step_tag(step: Step) -> str:
    return f"step:{step.id.lower()}"


def step_meta(step: Step) -> dict[str, str]:
    return {"task_id": step.task, "step_id": step.id, "path": step.path}


def reasoning_required(ctx: Context, task: Work, step: Step, missing: list[str]) -> ClewError:
    return ClewError(
        "REASONING_REQUIRED",
        f"{task.id} is strict and {step.path} lacks: {', '.join(missing)}",
        "Write the cards that are missing, or close with override={reason, risk}.",
        suggestions=[_card(task, step)],
        details={"step_id": step.id, "path": step.path, "missing": missing},
    )


def _is_claim(card: Node) -> bool:
    return card.type in {"hypothesis", "decision"} and (card.status or "open").lower() not in CLOSED


def _card(task: Work, step: Step) -> dict[str, Any]:
    card = {"type": "hypothesis", "title": f"What must hold for: {step.title}"}
    return suggest(
        "think_card", "Writes the claim that this step rests on.", "high", target=task.id, step=step.id, card=card
    )


def _note_override(ctx: Context, task: Work, step: Step, override: Override, missing: list[str]) -> None:
    scope = scope_of(ctx, task.id)
    lacks = ", ".join(missing)
    text = f"STRICT OVERRIDE of {step.path}\nreason: {override.reason}\nrisk: {override.risk}\nmissing: {lacks}"
    append(
        ctx,
        scope.branch.id,
        scope.notes,
        content=text,
        title="STRICT OVERRIDE",
        meta={"source": "strict_override", "step": step_meta(step), "missing": missing},
        subject=task.id,
        path=step.path,
    )
    ctx.warn(
        "STRICT_OVERRIDE_APPLIED",
        f"{step.path} was closed although it lacks {lacks}",
        "The reason and the risk are kept in the task's notes.",
    )
