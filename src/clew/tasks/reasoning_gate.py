"""The requirements of a strict task on the reasoning of its steps, before they can be done and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.canonical import Json
from clew.errors import ClewError, suggest
from clew.kinds import statuses
from clew.kinds.catalogue import CLOSED_CARD
from clew.memory import blocks
from clew.reasoning import engine
from clew.reasoning.branches import chain
from clew.reasoning.cards.forms import is_form
from clew.reasoning.documents import append, last_event_seq
from clew.reasoning.graph import Node, edges_among, nodes
from clew.reasoning.graph.reads import edges_beside
from clew.reasoning.premises import Suspect, any_fallen, has_fallen, suspects
from clew.reasoning.scope import Scope, scope_of
from clew.registry.context import Context
from clew.tasks.gates import Override
from clew.tasks.plans import Work
from clew.tasks.steps import Step, step_meta, step_node, step_tag

DECISIONS = 200
CLOSING_EVENTS = ("step_done", "undo_applied", "redo_applied")
CARDS = 200
EDGES = 600
NO_CLAIM = "STRICT_NO_HYPOTHESIS_OR_DECISION"
FALLEN_PREMISE = "STRICT_PREMISE_FALLEN"
NO_REASON = "STRICT_DECISION_NO_REASON"
NO_TEST = "BM4_HYPOTHESIS_NO_TEST"
"""The only engine signal that prevents closing."""
NEEDS = {
    NO_CLAIM: "say in your own words what it rests on: {card} of type decision, whose text gives the reason, or of type"
    " hypothesis, which then needs a test.",
    FALLEN_PREMISE: "decide anew without {id}: {card} of type decision, whose text gives the reason; then"
    " think_set_status superseded for the one that rests on {id}.",
    NO_REASON: 'say what speaks for {id}: {card} of type evidence and supports=["{id}"].',
    NO_TEST: 'say how {id} could turn out wrong: {card} of type test and supports=["{id}"], with what you do and which'
    " outcome would refute it.",
}
"""What must be written, by what is missing. Only the author has the words: a ready-made card would be sent unread,
so it is named here and no suggestion contains it."""
BRIEFLY = {
    NO_CLAIM: "strict: think_card what it rests on",
    FALLEN_PREMISE: "strict: {id} fell, think_card anew",
    NO_REASON: "strict: think_card what speaks for {id}",
    NO_TEST: "strict: think_card a test of {id}",
}


def check_reasoning(ctx: Context, task: Work, step: Step, override: Override | None) -> Json:
    """Refuse to close a strict task's step while its reasoning is incomplete, unless a reason is given.

    Returns what the closing event records about it: nothing, or the override.
    """
    if task.reasoning_mode != "strict":
        return {}
    found = examine(ctx, task, step)
    if not found.missing:
        return {}
    if override is None:
        raise reasoning_required(ctx, task, step, found)
    _note_override(ctx, task, step, override, found.missing)
    return {"override": {**override.model_dump(), "missing": list(found.missing)}}


@dataclass(frozen=True, slots=True)
class Examination:
    """What a step's reasoning lacks, by code."""

    missing: tuple[str, ...] = ()
    opens: str = ""
    """The subject of the finding: the step, or the card."""
    card: str = ""
    """The card that is incomplete or no longer in force."""

    def needs(self, task: Work, step: Step) -> str:
        """What must be written, and by which call."""
        call = f"think_card target={task.id} step={step.id} with a card"
        return NEEDS[self.missing[0]].format(card=call, id=self.card)

    def briefly(self) -> str:
        return BRIEFLY[self.missing[0]].format(id=self.card)


def examine(ctx: Context, task: Work, step: Step) -> Examination:
    """Check the cards of one step. Without engine findings there is no objection."""
    scope = scope_of(ctx, task.id)
    written = nodes(ctx, scope.branch, scope.graph, tags_all=(step_tag(step),), limit=CARDS).nodes
    # An unfilled template, such as the engine's own proposal pasted unread, does not count.
    cards = [card for card in written if not is_form(card.title, card.text)]
    # The checks are in the order in which an agent can fix them: first a claim, then its premises, then its
    # test.
    if not any(_is_claim(card) for card in cards) and not _decided(ctx, task, step):
        return Examination((NO_CLAIM,), step.id)
    doubt = suspect_steps(ctx, task.id, [step]).get(step.id)
    if doubt is not None:
        return Examination((FALLEN_PREMISE,), doubt.path[-1], doubt.path[-1])
    bare = _unreasoned(ctx, scope, cards)
    if bare is not None:
        return Examination((NO_REASON,), bare.id, bare.id)
    untested = _untested(ctx, scope, step, cards)
    return Examination((NO_TEST,), step.id, untested) if untested else Examination()


def _untested(ctx: Context, scope: Scope, step: Step, cards: Sequence[Node]) -> str | None:
    """The hypothesis for which the engine finds no test."""
    edges = edges_among(ctx, scope.branch, scope.graph, [card.id for card in cards], EDGES)
    findings = engine.run(cards, edges, signals_limit=CARDS, actions_limit=0, step_tag=step_tag(step), scope=scope)
    signals = findings["signals"] if findings else []
    return next((signal["refs"][0] for signal in signals if signal["code"] == NO_TEST), None)


def reasoning_required(ctx: Context, task: Work, step: Step, found: Examination) -> ClewError:
    return ClewError(
        "REASONING_REQUIRED",
        f"{task.id} is strict and {step.path} lacks: {', '.join(found.missing)}",
        _recovery(ctx, task, step, found),
        suggestions=[suggest("open", "Shows what is missing, and what it has to fit.", "high", id=found.opens)],
        details={"step_id": step.id, "path": step.path, "missing": list(found.missing)},
    )


def _recovery(ctx: Context, task: Work, step: Step, found: Examination) -> str:
    """What to write with the tools that this caller has."""
    if ctx.connection.toolset == "agent":
        return (
            f"Write down what it rests on: remember kind=decision step={step.path} with why, or a hypothesis with a"
            " test. Or close with unproven."
        )
    needed = found.needs(task, step)
    return f"{needed[0].upper()}{needed[1:]} Or close with override={{reason, risk}}."


def strict_json(ctx: Context, task: Work, step: Step) -> Json | None:
    """What strict work still requires of an open step; None if nothing."""
    if task.reasoning_mode != "strict" or step.completed:
        return None
    found = examine(ctx, task, step)
    return {"missing": list(found.missing), "needs": _recovery(ctx, task, step, found)} if found.missing else None


def _unreasoned(ctx: Context, scope: Scope, cards: Sequence[Node]) -> Node | None:
    """An open decision without a reason, and without a card that it depends on or that supports it."""
    bare = [card for card in cards if card.type == "decision" and _is_claim(card) and not (card.text or "").strip()]
    if not bare:
        return None
    edges = edges_beside(ctx, scope.branch.id, scope.graph, [card.id for card in bare], EDGES)
    # Any edge counts, in either direction: a card that is linked to the decision is its reason, whatever the relation.
    tied = {edge[end] for edge in edges for end in ("from_id", "to_id")}
    return next((card for card in bare if card.id not in tied), None)


def _is_claim(card: Node) -> bool:
    return card.type in {"hypothesis", "decision"} and (card.status or statuses.OPEN).lower() not in CLOSED_CARD


def _decided(ctx: Context, task: Work, step: Step) -> bool:
    """Whether a decision of the governed memory was recorded for this step, with its reason."""
    recent = blocks.newest(ctx, ("D",), DECISIONS)["D"]
    live = [block for block in recent if (block.status or "") in (statuses.ACTIVE, statuses.PROPOSED)]
    own = [block for block in live if (block.get("Task"), block.get("Step")) == (task.id, step.path)]
    return any(block.get("Rationale").lower() not in ("", "not given") for block in own)


def _note_override(ctx: Context, task: Work, step: Step, override: Override, missing: tuple[str, ...]) -> None:
    scope = scope_of(ctx, task.id)
    lacks = ", ".join(missing)
    text = f"STRICT OVERRIDE of {step.path}\nreason: {override.reason}\nrisk: {override.risk}\nmissing: {lacks}"
    meta = {"source": "strict_override", "step": step_meta(step), "missing": list(missing)}
    about: Json = {"subject": task.id, "path": step.path}
    append(ctx, scope.branch.id, scope.notes, content=text, title="STRICT OVERRIDE", meta=meta, **about)
    message = f"{step.path} was closed although it lacks {lacks}"
    recovery = "The reason and the risk are kept in the task's notes."
    ctx.warn("STRICT_OVERRIDE_APPLIED", message, recovery)


def suspect_steps(ctx: Context, task: str, steps: list[Step]) -> dict[str, Suspect]:
    """Steps that depend on a withdrawn card, by step id: through edges of their own or through their decisions."""
    scope = scope_of(ctx, task)
    decisions = nodes(ctx, scope.branch, scope.graph, types=("decision",), limit=DECISIONS).nodes
    ids = [*(step_node(step.id) for step in steps), *(card.id for card in decisions)]
    # Steps and decisions in one query: walking the premises costs a few queries however many there are.
    doubts = suspects(ctx, scope, ids)
    if not doubts:
        return {}
    found: dict[str, Suspect] = {}
    for step in steps:
        # A withdrawn decision supports nothing any more: it was replaced, which is how the step is fixed.
        own = [card.id for card in decisions if step_tag(step) in card.tags and not has_fallen(card)]
        reasons = [doubts[id] for id in (step_node(step.id), *own) if id in doubts]
        if reasons:
            found[step.id] = reasons[0]
    return found


def reopened_steps(ctx: Context, task: str, steps: list[Step]) -> dict[str, Suspect]:
    """Done steps whose premise was withdrawn after they were closed: their gate is open again, by step id.

    Earlier withdrawals were known when the step was closed, and the strict gate was passed by an override.
    """
    done = [step for step in steps if step.completed]
    scope = scope_of(ctx, task)
    # Usually nothing was withdrawn, which one query detects; the walk along the premises is for the rest.
    if not done or not any_fallen(ctx, scope, chain(ctx, scope.branch)):
        return {}
    doubts = suspect_steps(ctx, task, done)
    fallen = sorted({doubt.path[-1] for doubt in doubts.values()})
    seqs = {card.id: card.last_seq for card in nodes(ctx, scope.branch, scope.graph, ids=fallen, limit=DECISIONS).nodes}
    reopened = {}
    for step in [step for step in done if step.id in doubts]:
        closed_at = last_event_seq(ctx, scope.branch.id, scope.trace, step.path, CLOSING_EVENTS)
        if seqs.get(doubts[step.id].path[-1], 0) > closed_at:
            reopened[step.id] = doubts[step.id]
    return reopened
