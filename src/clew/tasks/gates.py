"""Gates: what a step still lacks before it may be called done, and what a strict task asks of its reasoning."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, Suggestion, suggest
from clew.memory import blocks
from clew.reasoning import engine
from clew.reasoning.branches import chain
from clew.reasoning.cards.forms import CLAIM_PROPOSAL, is_form
from clew.reasoning.documents import append, last_event_seq
from clew.reasoning.graph import Node, edges_among, nodes
from clew.reasoning.graph.reads import edges_beside
from clew.reasoning.premises import Suspect, any_fallen, suspects
from clew.reasoning.scope import Scope, scope_of
from clew.registry.context import Context
from clew.registry.operation import StrictModel
from clew.surroundings import clew_command
from clew.tasks.commands import named_commands, same_command
from clew.tasks.evidence import NOTHING, BackedCheckpoints, linked, linked_to
from clew.tasks.plans import Work, find_work
from clew.tasks.proof_receipts import FAILED, OVERRIDDEN
from clew.tasks.proofs import STALE, Proof, proof_state, proof_states, waive
from clew.tasks.steps import CHECKPOINTS, PROVABLE, Step, step_meta, step_node, step_tag

ALWAYS = ("criteria", "tests")


@dataclass(frozen=True, slots=True)
class Gate:
    required: tuple[str, ...]
    missing: tuple[str, ...]
    """Required checkpoints that nobody has confirmed."""
    missing_proof: tuple[str, ...]
    """Checkpoints whose proof is required and not there."""
    wanted_proof: tuple[str, ...]
    """Checkpoints whose proof is wished for and not there."""
    present_proof: tuple[str, ...]

    @property
    def closed(self) -> bool:
        return bool(self.missing or self.missing_proof)


def gate(step: Step, given: BackedCheckpoints, asked: Collection[str] = ()) -> Gate:
    """A checkpoint is required when it always is, when evidence was captured for it, when its proof is required, or
    when the caller speaks of it."""
    required = tuple(
        name
        for name in CHECKPOINTS
        if name in ALWAYS or name in given.evidence or name in asked or step.proof_mode(name) == "require"
    )
    # Evidence alone is no proof: an attachment may be anything. So what was proven is asked for, not what was captured.
    unproven = [name for name in PROVABLE if name not in given.proof]
    return Gate(
        required=required,
        missing=tuple(name for name in required if not step.confirmed(name)),
        missing_proof=tuple(name for name in unproven if step.proof_mode(name) == "require"),
        wanted_proof=tuple(name for name in unproven if step.proof_mode(name) == "warn"),
        present_proof=tuple(name for name in PROVABLE if name in given.proof),
    )


def gate_of(ctx: Context, step: Step, asked: Collection[str] = ()) -> Gate:
    return gate(step, linked_to(ctx, step.id), asked)


def gates_of(ctx: Context, steps: Iterable[Step]) -> dict[str, Gate]:
    """The gates of many steps, by step id."""
    listed = list(steps)
    given = linked(ctx, [step.id for step in listed])
    return {step.id: gate(step, given.get(step.id, NOTHING)) for step in listed}


def check_gate(ctx: Context, step: Step, asked: Collection[str] = ()) -> Gate:
    """The one check behind every path that leaves a step done."""
    found = gate_of(ctx, step, asked)
    if found.missing:
        raise checkpoints_missing(ctx, step, found)
    if found.missing_proof:
        raise proof_missing(step, found)
    return found


def confirmations(found: Gate) -> Any:
    """What a closing call confirms: the usual two, or these and whatever else has become required."""
    # `gate` is the seed's short word for the usual two; a caller who copies it must not confirm more than that.
    return "gate" if set(found.required) == set(ALWAYS) else dict.fromkeys(found.required, True)


def warn_of_proof(ctx: Context, step: Step, found: Gate) -> None:
    """Mode `warn`: the step closes, and the answer says what would have been welcome."""
    if found.wanted_proof:
        ctx.warn(
            "PROOF_MISSING",
            f"{step.path} was closed without proof for {', '.join(found.wanted_proof)}",
            "Capture it with tasks_evidence_capture.",
        )


def checkpoints_missing(ctx: Context, step: Step, found: Gate) -> ClewError:
    flags = " ".join(f"{name}={str(name in found.missing).lower()}" for name in CHECKPOINTS)
    return ClewError(
        "CHECKPOINTS_NOT_CONFIRMED",
        f"missing: {flags}",
        f"Confirm {', '.join(found.missing)} of {step.path} once they hold, then repeat.",
        suggestions=[_confirmation(ctx, step, found)],
        details={"step_id": step.id, "path": step.path, "missing": list(found.missing)},
    )


def _confirmation(ctx: Context, step: Step, found: Gate) -> dict[str, Any]:
    """The call that confirms; where few tools are listed, the macro that also closes, if nothing else is in its way."""
    place = {"task": step.task, "step_id": step.id, "checkpoints": dict.fromkeys(found.missing, True)}
    task = find_work(ctx, step.task)
    lenient = not found.missing_proof and task is not None and task.reasoning_mode != "strict"
    # A macro that is refused for another reason would be a suggestion that does not run, which no refusal may give.
    if ctx.connection.toolset != "full" and lenient:
        return suggest("tasks_macro_close_step", "Confirms what is missing and closes; once it is true.", **place)
    return suggest("tasks_verify", "Confirms what is missing; call it once it is true.", **place)


def proof_missing(step: Step, found: Gate) -> ClewError:
    flags = " ".join(f"{name}={str(name in found.missing_proof).lower()}" for name in PROVABLE)
    first = found.missing_proof[0]
    return ClewError(
        "PROOF_REQUIRED",
        f"missing proof: {flags}",
        f"Capture it: tasks_evidence_capture task={step.task} step_id={step.id} checkpoint={first}"
        ' checks=["CMD: what you ran"], with the command in its place.',
        suggestions=[suggest("tasks_snapshot", "Shows the step and what it asks for.", "high", task=step.task)],
        details={"step_id": step.id, "path": step.path, "missing_proof": list(found.missing_proof)},
    )


def check_proof(ctx: Context, task: Work, step: Step, override: Override | None) -> dict[str, Any]:
    """Refuse to close on a failed run, and on a proof that is not good enough where proof is required.

    Returns what the closing event says about the proof. Required proof must be fresh; a strict task wants to have seen
    the runs that its steps name, unless somebody says why a claim is enough.
    """
    proof = proof_state(ctx, step)
    required = any(step.proof_mode(name) == "require" for name in PROVABLE)
    # In a strict task a step that names its test commands asks for their runs, whether or not a proof mode says so.
    wanted = task.reasoning_mode == "strict" and (required or bool(named_commands(step.tests)))
    # No override helps here: a failed run says that the work is wrong, not that somebody forgot to look.
    if proof.state == FAILED or (required and proof.state == STALE):
        raise proof_refused(step, proof)
    if override is None:
        if wanted and not proof.settled:
            raise proof_refused(step, proof)
    # The reason becomes a row of its own, so that a reader later sees a waiver and not a proof.
    elif not proof.settled:
        waive(ctx, step, OVERRIDDEN, f"{override.reason} (risk: {override.risk})")
        return {"proof": {"state": OVERRIDDEN, "receipt": proof.receipt.id if proof.receipt else None}}
    return {"proof": {"state": proof.state, "receipt": proof.receipt.id if proof.receipt else None}}


def check_finished_proofs(ctx: Context, task: Work, steps: Sequence[Step], override: Override | None) -> None:
    """A task is not done on required proofs that failed or went stale since, unless somebody says why."""
    required = [step for step in steps if any(step.proof_mode(name) == "require" for name in PROVABLE)]
    states = proof_states(ctx, required)
    broken = [(step, states[step.id]) for step in required if states[step.id].state in (FAILED, STALE)]
    if broken and override is None:
        raise proof_refused(*broken[0])
    for step, _ in broken if override is not None else ():
        assert override is not None
        waive(ctx, step, OVERRIDDEN, f"{override.reason} (risk: {override.risk})")


def proof_refused(step: Step, proof: Proof) -> ClewError:
    """The proof is there and not good enough."""
    run = clew_command(f"prove --step {step.id} -- {_settling(step, proof)}")
    return ClewError(
        "PROOF_REQUIRED",
        f"{step.path} ({step.id}) is not proven: {proof.line()}",
        f"{'Mend what failed, then run' if proof.state == FAILED else 'Run'} it where Clew sees it, in a shell: {run}",
        suggestions=[suggest("open", "Shows what the step asks for and what proves it.", "high", id=step.id)],
        details={"step_id": step.id, "path": step.path, "missing_proof": ["tests"], "proof": proof.to_json()},
    )


def _settling(step: Step, proof: Proof) -> str:
    """The command that would settle it: what was run, if the step names that or nothing; else what the step names."""
    ran = proof.receipt.command if proof.receipt else None
    named = named_commands(step.tests)
    if ran is not None and (not named or any(same_command(ran, name) for name in named)):
        return ran
    return named[0] if named else "COMMAND"


DECISIONS = 200
CLOSING_EVENTS = ("step_done", "undo_applied", "redo_applied")
CARDS = 200
EDGES = 600
WAYS = 3
CLOSED = frozenset({"closed", "done", "resolved"})
NO_CLAIM = "STRICT_NO_HYPOTHESIS_OR_DECISION"
FALLEN_PREMISE = "STRICT_PREMISE_FALLEN"
NO_REASON = "STRICT_DECISION_NO_REASON"
# The engine's signals that bar closing, and the type of card that mends each.
BLOCKING = {"BM4_HYPOTHESIS_NO_TEST": "test"}


class Override(StrictModel):
    """The way past the strict gate: why, and what may go wrong."""

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
class Examination:
    """What a step's reasoning lacks, by code, and what would mend it."""

    missing: tuple[str, ...] = ()
    ways: tuple[Suggestion, ...] = ()
    """Calls with a form in them, which counts for nothing until somebody has put their own words in its place."""
    forms: tuple[str, ...] = ()
    """The types of cards that are missing."""


def examine(ctx: Context, task: Work, step: Step) -> Examination:
    """Look at the cards of one step. An engine that says nothing has nothing to object."""
    scope = scope_of(ctx, task.id)
    written = nodes(ctx, scope.branch, scope.graph, tags_all=(step_tag(step),), limit=CARDS).nodes
    # A form that nobody filled in, such as the gate's own proposal pasted unread, counts for nothing.
    cards = [card for card in written if not is_form(card.title, card.text)]
    # The checks stand in the order in which an agent can mend them: first a claim, then what it rests on, then its
    # test.
    if not any(_is_claim(card) for card in cards) and not _decided(ctx, task, step):
        return Examination((NO_CLAIM,), (_claim(task, step),), ("hypothesis",))
    doubt = suspect_steps(ctx, task.id, [step]).get(step.id)
    if doubt is not None:
        return Examination((FALLEN_PREMISE,), (suggest("open", "Shows the card that fell.", id=doubt.path[-1]),))
    edges = edges_among(ctx, scope.branch, scope.graph, [card.id for card in cards], EDGES)
    bare = _unreasoned(ctx, scope, cards)
    if bare is not None:
        return Examination((NO_REASON,), (suggest("open", "Shows the decision that gives no reason.", id=bare.id),))
    findings = engine.run(cards, edges, signals_limit=CARDS, actions_limit=CARDS, step_tag=step_tag(step), scope=scope)
    if findings is None:
        return Examination()
    missing = tuple(dict.fromkeys(signal["code"] for signal in findings["signals"] if signal["code"] in BLOCKING))
    mending = {f"add_{BLOCKING[code]}_stub" for code in missing}
    calls = [call for action in findings["actions"] if action["kind"] in mending for call in action["calls"]]
    return Examination(missing, tuple(calls[:WAYS]), tuple(BLOCKING[code] for code in missing))


def reasoning_required(task: Work, step: Step, found: Examination) -> ClewError:
    return ClewError(
        "REASONING_REQUIRED",
        f"{task.id} is strict and {step.path} lacks: {', '.join(found.missing)}",
        f"Write down what it rests on: remember kind=decision step={step.path} with why, or a hypothesis with a test."
        " Or close with override={reason, risk}; with close: unproven.",
        suggestions=[_form(type) for type in found.forms] or list(found.ways),
        details={"step_id": step.id, "path": step.path, "missing": list(found.missing)},
    )


def _unreasoned(ctx: Context, scope: Scope, cards: Sequence[Node]) -> Node | None:
    """An open decision without a word of reason, and without a card that it rests on or that supports it."""
    bare = [card for card in cards if card.type == "decision" and _is_claim(card) and not (card.text or "").strip()]
    if not bare:
        return None
    edges = edges_beside(ctx, scope.branch.id, scope.graph, [card.id for card in bare], EDGES)
    # Any edge counts, in either direction: a card that is linked to the decision is its reason, whatever the relation.
    tied = {edge[end] for edge in edges for end in ("from_id", "to_id")}
    return next((card for card in bare if card.id not in tied), None)


def _is_claim(card: Node) -> bool:
    return card.type in {"hypothesis", "decision"} and (card.status or "open").lower() not in CLOSED


def _claim(task: Work, step: Step) -> Suggestion:
    card = {"type": "hypothesis", "title": f"{CLAIM_PROPOSAL}{step.title}"}
    return suggest(
        "think_card", "Writes the claim that this step rests on.", "high", target=task.id, step=step.id, card=card
    )


def _form(type: str) -> Suggestion:
    """Shows what such a card looks like. A card that is ready to be sent would be sent unread."""
    return suggest("think_template", f"Shows the form of a {type}; write it in your own words.", "high", type=type)


def _decided(ctx: Context, task: Work, step: Step) -> bool:
    """Whether a decision of the governed memory was kept for this step, with its reason."""
    recent = blocks.newest(ctx, ("D",), DECISIONS)["D"]
    live = [block for block in recent if (block.status or "") in ("active", "proposed")]
    own = [block for block in live if (block.get("Task"), block.get("Step")) == (task.id, step.path)]
    return any(block.get("Rationale").lower() not in ("", "not given") for block in own)


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


def suspect_steps(ctx: Context, task: str, steps: list[Step]) -> dict[str, Suspect]:
    """Steps that rest on a fallen card, by step id: through edges of their own or through their decisions."""
    scope = scope_of(ctx, task)
    decisions = nodes(ctx, scope.branch, scope.graph, types=("decision",), limit=DECISIONS).nodes
    ids = [*(step_node(step.id) for step in steps), *(card.id for card in decisions)]
    # Steps and decisions are asked about together: walking the premises costs a few queries however many are asked.
    doubts = suspects(ctx, scope, ids)
    if not doubts:
        return {}
    found: dict[str, Suspect] = {}
    for step in steps:
        own = [card.id for card in decisions if step_tag(step) in card.tags]
        for id in (step_node(step.id), *own):
            if id in doubts:
                found.setdefault(step.id, doubts[id])
    return found


def reopened_steps(ctx: Context, task: str, steps: list[Step]) -> dict[str, Suspect]:
    """Done steps whose premise fell after they were closed: their gate stands open again, by step id.

    What had fallen before was known to whoever closed the step, and the strict gate let it pass by an override.
    """
    done = [step for step in steps if step.completed]
    scope = scope_of(ctx, task)
    # Nearly always nothing has fallen, and one query tells; the walk along the premises is for the rest.
    if not done or not any_fallen(ctx, scope, chain(ctx, scope.branch)):
        return {}
    doubts = suspect_steps(ctx, task, done)
    fallen = sorted({doubt.path[-1] for doubt in doubts.values()})
    seqs = {card.id: card.last_seq for card in nodes(ctx, scope.branch, scope.graph, ids=fallen, limit=DECISIONS).nodes}
    return {
        step.id: doubts[step.id]
        for step in done
        if step.id in doubts and seqs.get(doubts[step.id].path[-1], 0) > _closed_at(ctx, scope, step)
    }


def _closed_at(ctx: Context, scope: Scope, step: Step) -> int:
    """The seq at which the step last became done."""
    return last_event_seq(ctx, scope.branch.id, scope.trace, step.path, CLOSING_EVENTS)
