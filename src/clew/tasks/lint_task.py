"""Lint rules for tasks and their steps."""

from __future__ import annotations

from clew.registry.context import Context
from clew.tasks.anchoring import has_anchor
from clew.tasks.gates import Gate, gates_of
from clew.tasks.lint_rules import Found, Issue, Patch, attach_patch, field_patch, step_target, work_target
from clew.tasks.plans import Work
from clew.tasks.steps import Step, first_open, steps_of
from clew.tasks.templates import template_by_id
from clew.tasks.trust import suspect_steps

MOST = 5
OPTIONAL = ("security", "perf", "docs")


def task_findings(ctx: Context, task: Work) -> Found:
    found = Found()
    steps = steps_of(ctx, task.id)
    waiting = [step for step in steps if not step.completed]
    _whole_task(ctx, task, steps, waiting, found)
    _proof_plan(task, waiting, found)
    gates = gates_of(ctx, waiting)
    for step in waiting:
        _wording(task, step, found)
        _gate(task, step, gates[step.id], found)
    first = first_open(ctx, task.id)
    if first is not None:
        _next_action(task, first, found)
    _blocked(task, waiting, found)
    _suspects(ctx, task, steps, found)
    return found


def _whole_task(ctx: Context, task: Work, steps: list[Step], waiting: list[Step], found: Found) -> None:
    here = work_target(task)
    if not steps:
        found.issues.append(
            Issue("NO_STEPS", "actionless", f"{task.id} has no steps", "Add steps.", here, severity="error")
        )
        found.patches.append(_seed_steps(task))
    elif not waiting and task.status == "ACTIVE":
        message = f"{task.id} is ACTIVE and has no open step"
        found.issues.append(Issue("ACTIVE_NO_OPEN_STEPS", "self_contradicting", message, "Complete it.", here))
        arguments = {"task": task.id, "status": "DONE", "expected_revision": task.revision}
        found.patches.append(Patch(f"patch:task:{task.id}:mark_done", "Complete it", "tasks_complete", arguments))
    if not has_anchor(ctx, task.id):
        message = f"no card of {task.id} is tied to an anchor"
        found.issues.append(Issue("MISSING_ANCHOR", "unnavigable", message, "Tie it to an anchor.", here))
        found.patches.append(attach_patch(task, f"patch:task:missing_anchor:attach:{task.id}"))


def _seed_steps(task: Work) -> Patch:
    steps = [
        {"title": spec.title, "success_criteria": list(spec.success_criteria), "tests": list(spec.tests)}
        for spec in template_by_id("basic-task", "task").steps
    ]
    arguments = {"task": task.id, "expected_revision": task.revision, "steps": steps}
    return Patch("patch:task:seed_steps:v1", "Add three plain steps", "tasks_decompose", arguments, "Rename them.")


def _proof_plan(task: Work, waiting: list[Step], found: Found) -> None:
    """Somewhere ahead a step must ask for proof, else DONE will be a word."""
    if not waiting or any(step.proof_tests_mode == "require" for step in waiting):
        return
    verifying = [step for step in waiting if step.title.lower().startswith("verify")]
    chosen = (verifying or waiting)[-1]
    message = f"no open step of {task.id} requires proof"
    recovery = f"Let {chosen.path} require proof of its tests."
    found.issues.append(Issue("MISSING_PROOF_PLAN", "unproveable", message, recovery, work_target(task)))
    purpose = f"Require proof at {chosen.path}"
    patch = field_patch(task, chosen, "require_proof_tests", "proof_tests_mode", "require", purpose)
    found.patches.append(patch)


def _wording(task: Work, step: Step, found: Found) -> None:
    here = step_target(step)
    if not step.success_criteria:
        message = f"{step.path} does not say how one sees that it is done"
        found.issues.append(Issue("MISSING_CRITERIA", "unverifiable", message, "Add a criterion.", here))
        value = f"{step.title}: the outcome can be seen"
        patch = field_patch(task, step, "seed_criteria", "success_criteria", value, "Add a criterion", "append")
        found.patches.append(patch)
    if not step.tests:
        message = f"{step.path} does not say what checks it"
        found.issues.append(Issue("MISSING_TESTS", "unverifiable", message, "Add a test.", here))
        value = f"Check: {step.success_criteria[0] if step.success_criteria else step.title}"
        found.patches.append(field_patch(task, step, "seed_tests", "tests", value, "Add a test", "append"))
    if "research" in step.title.lower() and not step.stop_criteria:
        message = f"{step.path} is research without an end"
        recovery = "Say when it stops."
        found.issues.append(Issue("RESEARCH_MISSING_STOP_CRITERIA", "unbounded", message, recovery, here))
        value = "Stop when the question is answered or a day has passed; keep what was ruled out."
        found.patches.append(
            field_patch(task, step, "set_stop_criteria", "stop_criteria", value, "Say when the research stops")
        )


def _gate(task: Work, step: Step, gate: Gate, found: Found) -> None:
    """Checkpoints that became required, and proof that is still owed."""
    here = step_target(step)
    for name in OPTIONAL:
        if name in gate.missing:
            message = f"{step.path} must confirm {name} and has not"
            recovery = f"Confirm {name} once it holds."
            found.issues.append(Issue(f"MISSING_{name.upper()}", "unverifiable", message, recovery, here))
            arguments = {
                "task": task.id,
                "step_id": step.id,
                "expected_revision": task.revision,
                "checkpoints": {name: True},
            }
            id = f"patch:step:{step.id}:confirm_{name}"
            found.patches.append(Patch(id, f"Confirm {name}", "tasks_verify", arguments, "Only when it is true."))
    for name in gate.missing_proof:
        message = f"{step.path} requires proof of {name}, and none is captured"
        recovery = (
            f"tasks_evidence_capture task={task.id} step_id={step.id} checkpoint={name}"
            ' checks=["CMD: <fill: what you ran>"]'
        )
        found.issues.append(Issue(f"MISSING_PROOF_{name.upper()}", "unproveable", message, recovery, here))


def _next_action(task: Work, step: Step, found: Found) -> None:
    if step.next_action:
        return
    message = f"{step.path} is next and does not say what to do first"
    recovery = "Set next_action."
    found.issues.append(Issue("MISSING_NEXT_ACTION", "actionless", message, recovery, step_target(step)))
    value = f"Begin with: {step.success_criteria[0] if step.success_criteria else step.title}"
    found.patches.append(field_patch(task, step, "set_next_action", "next_action", value, "Say what to do first"))


def _blocked(task: Work, waiting: list[Step], found: Found) -> None:
    blocked = [step for step in waiting if step.blocked]
    if not blocked:
        return
    paths = ", ".join(step.path for step in blocked[:MOST])
    message = f"blocked: {paths}"
    found.issues.append(
        Issue("BLOCKED_STEPS", "actionless", message, "Clear the way, then lift the block.", work_target(task))
    )
    for step in blocked[:MOST]:
        arguments = {
            "task": task.id,
            "step_id": step.id,
            "expected_revision": task.revision,
            "blocked": False,
        }
        id = f"patch:step:{step.id}:unblock"
        found.patches.append(Patch(id, f"Lift the block of {step.path}", "tasks_block", arguments, step.block_reason))


def _suspects(ctx: Context, task: Work, steps: list[Step], found: Found) -> None:
    """A step that rests on what has fallen; a done one is opened again by its patch."""
    doubts = suspect_steps(ctx, task.id, steps)
    for step in steps:
        if step.id not in doubts:
            continue
        doubt = doubts[step.id]
        message = f"{step.path} rests on a fallen card: {' -> '.join(doubt.path)} ({doubt.because})"
        recovery = "Look at the step again, and at what else it rests on."
        found.issues.append(Issue("SUSPECT_STEP", "self_contradicting", message, recovery, step_target(step)))
        if step.completed and task.status != "DONE":
            arguments = {"task": task.id, "step_id": step.id, "completed": False}
            id = f"patch:step:{step.id}:reopen"
            found.patches.append(
                Patch(
                    id, f"Open {step.path} again", "tasks_progress", {**arguments, "expected_revision": task.revision}
                )
            )
