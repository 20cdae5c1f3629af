"""What a view is about: a plan or task with its scope, its steps and their gates, read once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from clew.reasoning.scope import Scope, StepFocus, scope_of
from clew.registry.context import Context
from clew.tasks.gates import Gate, gates_of
from clew.tasks.leases import Lease, lease_of
from clew.tasks.plans import Work, qualified_id
from clew.tasks.steps import CHECKPOINTS, PROVABLE, Step, step_ref, steps_of

OPTIONAL = CHECKPOINTS[2:]


@dataclass(frozen=True, slots=True)
class Subject:
    work: Work
    scope: Scope
    steps: list[Step] = field(default_factory=list)
    gates: dict[str, Gate] = field(default_factory=dict)
    lease: Lease | None = None
    """Of the first open step."""

    @property
    def open_steps(self) -> list[Step]:
        """In the order in which they are taken up."""
        left = [step for step in self.steps if not step.completed]
        return sorted(left, key=lambda step: (step.created_seq, step.id))

    @property
    def first_open(self) -> Step | None:
        return next(iter(self.open_steps), None)

    @property
    def step_focus(self) -> StepFocus | None:
        step = self.first_open
        return StepFocus(step.task, step.id, step.path) if step else None


def subject_of(ctx: Context, work: Work) -> Subject:
    steps = steps_of(ctx, work.id) if work.is_task else []
    subject = Subject(work, scope_of(ctx, work.id), steps, gates_of(ctx, steps))
    step = subject.first_open
    return replace(subject, lease=lease_of(ctx, step.id)) if step else subject


def target_json(ctx: Context, work: Work) -> dict[str, Any]:
    shared = {
        "id": work.id,
        "qualified_id": qualified_id(ctx, work.id),
        "kind": work.kind,
        "revision": work.revision,
        "status": work.status,
        "title": work.title,
        "description": work.description,
        "created_at_ms": work.created_at_ms,
        "updated_at_ms": work.updated_at_ms,
    }
    if work.is_task:
        return {**shared, "parent": work.parent, "reasoning_mode": work.reasoning_mode}
    return {**shared, "contract": work.contract, "contract_data": work.contract_data}


def steps_json(subject: Subject) -> dict[str, Any]:
    """The steps counted: how many are open, and what these lack."""
    left = subject.open_steps
    gates = [subject.gates[step.id] for step in left]
    missing = {f"missing_{name}": sum(name in gate.missing for gate in gates) for name in CHECKPOINTS}
    unproven = {f"missing_proof_{name}": sum(name in gate.missing_proof for gate in gates) for name in PROVABLE}
    first = subject.first_open
    return {
        "total": len(subject.steps),
        "open": len(left),
        "completed": len(subject.steps) - len(left),
        **missing,
        **unproven,
        "first_open": first_open_json(first, subject.gates[first.id]) if first else None,
    }


def first_open_json(step: Step, gate: Gate) -> dict[str, Any]:
    return {
        **step_ref(step),
        "title": step.title,
        "next_action": step.next_action,
        "stop_criteria": step.stop_criteria,
        **checkpoints_json(step, gate),
    }


def checkpoints_json(step: Step, gate: Gate) -> dict[str, Any]:
    """Which checkpoints are confirmed and required, which proofs are asked for and there."""
    return {
        **{f"{name}_confirmed": step.confirmed(name) for name in CHECKPOINTS},
        **{f"require_{name}": name in gate.required for name in OPTIONAL},
        **{f"proof_{name}_mode": step.proof_mode(name) for name in PROVABLE},
        **{f"proof_{name}_present": name in gate.present_proof for name in PROVABLE},
    }
