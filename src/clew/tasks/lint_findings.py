"""What lint finds in a plan or task: what is weak, each finding with a small edit that mends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clew.canonical import Json
from clew.errors import shorten
from clew.kinds import statuses
from clew.reasoning.anchors.registry import names_anchor
from clew.registry.context import Context
from clew.tasks.gates import Gate, gates_of
from clew.tasks.plans import ACTIVE_LIMIT, Work, tasks_of
from clew.tasks.proofs import StaleProof
from clew.tasks.reasoning_gate import suspect_steps
from clew.tasks.steps import Step, first_open, steps_of
from clew.tasks.templates import template_by_id
from clew.tasks.texts import anchor_for

SEVERITIES = ("error", "warning")


@dataclass(frozen=True, slots=True)
class LintIssue:
    code: str
    kind: str
    message: str
    recovery: str
    target: dict[str, str]
    severity: str = "warning"

    def rank(self) -> tuple[int, str, str, str]:
        # BranchMind's order of findings.
        return (SEVERITIES.index(self.severity), self.kind, self.code, self.target.get("step_id", ""))

    def to_json(self) -> Json:
        return {
            "code": self.code,
            "severity": self.severity,
            "kind": self.kind,
            "message": self.message,
            "recovery": self.recovery,
            "target": self.target,
        }


@dataclass(frozen=True, slots=True)
class SuggestedPatch:
    """A call that changes a little; `arguments` run as they stand."""

    id: str
    purpose: str
    tool: str
    arguments: Json
    notes: str | None = None

    def to_json(self, workspace: str) -> Json:
        apply = {"tool": self.tool, "arguments": {"workspace": workspace, **self.arguments}}
        shown = {"id": self.id, "purpose": self.purpose, "apply": apply}
        return {**shown, "notes": self.notes} if self.notes else shown


@dataclass(slots=True)
class LintFindings:
    issues: list[LintIssue] = field(default_factory=list)
    patches: list[SuggestedPatch] = field(default_factory=list)
    actions: list[SuggestedPatch] = field(default_factory=list)


def work_target(work: Work) -> dict[str, str]:
    return {"kind": work.kind, "id": work.id}


def step_target(step: Step) -> dict[str, str]:
    return {"kind": "step", "id": step.task, "step_id": step.id, "path": step.path}


def attach_patch(work: Work, id: str) -> SuggestedPatch:
    """Ties a task to an anchor; the kind is always one that anchors have."""
    arguments = {
        "anchor": anchor_for(work.title),
        "title": shorten(work.title, 120),
        "kind": "component",
        "content": f"{work.title}: invariants, risks, tests.",
        "target": work.id,
        "visibility": "canon",
    }
    return SuggestedPatch(
        id, f"Tie {work.id} to an anchor", "macro_anchor_note", arguments, "Choose an anchor that exists."
    )


def field_patch(
    task: Work, step: Step, name: str, field: str, value: Any, purpose: str, op: str = "set"
) -> SuggestedPatch:
    """One edit of one field of a step, valid for the revision that was looked at."""
    arguments = {
        "task": task.id,
        "step_id": step.id,
        "kind": "step",
        # A patch that was made for an older state is refused, instead of changing what somebody else has written since.
        "expected_revision": task.revision,
        "ops": [{"op": op, "field": field, "value": value}],
    }
    return SuggestedPatch(
        f"patch:step:{step.id}:{name}", purpose, "tasks_patch", arguments, "Put it in your own words."
    )


def stale_issue(work: Work, stale: StaleProof) -> LintIssue:
    """A proof over files that have changed; only running it again makes it one."""
    proof = stale.evidence
    target = {**work_target(work), "evidence": proof.id}
    if proof.path is not None:
        target |= {"kind": "step", "step_id": proof.entity, "path": proof.path}
    message = f"{proof.id} covers files that have changed since: {', '.join(stale.changed[:3])}"
    again = f"Run {proof.command!r} again and capture the result." if proof.command else "Prove it again."
    return LintIssue("STALE_PROOF", "unproveable", message, again, target)


# BranchMind's bound on the patches that one finding suggests.
MOST_TASKS = 5


def plan_findings(ctx: Context, plan: Work) -> LintFindings:
    found = LintFindings()
    _checklist(plan, found)
    active = tasks_of(ctx, plan.id, "ACTIVE")
    _anchors(ctx, plan, active, found)
    _too_many(ctx, plan, active, found)
    return found


def _checklist(plan: Work, found: LintFindings) -> None:
    here = work_target(plan)
    if not plan.checklist:
        message = f"{plan.id} has no checklist"
        found.issues.append(LintIssue("NO_CHECKLIST", "actionless", message, "Give it one with tasks_plan.", here))
        steps = list(template_by_id("basic-plan", "plan").checklist)
        arguments = {"plan": plan.id, "expected_revision": plan.revision, "steps": steps}
        found.patches.append(
            SuggestedPatch("patch:plan:seed_checklist:v1", "Add a plain checklist", "tasks_plan", arguments)
        )
    elif plan.checklist_current > len(plan.checklist):
        message = f"{plan.id} stands at line {plan.checklist_current} of {len(plan.checklist)}"
        found.issues.append(
            LintIssue(
                "CHECKLIST_INDEX_OUT_OF_RANGE", "unbounded", message, "Go back to its end.", here, severity="error"
            )
        )
        arguments = {"plan": plan.id, "expected_revision": plan.revision, "current": len(plan.checklist)}
        found.patches.append(SuggestedPatch("patch:plan:current:clamp", "Go to the end", "tasks_plan", arguments))


def _anchors(ctx: Context, plan: Work, active: list[Work], found: LintFindings) -> None:
    adrift = [task for task in active if not names_anchor(ctx, task.id)]
    if not adrift:
        return
    message = f"{len(adrift)} of {len(active)} active tasks are tied to no anchor"
    found.issues.append(
        LintIssue("ACTIVE_TASKS_MISSING_ANCHOR", "unnavigable", message, "Tie them to anchors.", work_target(plan))
    )
    for task in adrift[:MOST_TASKS]:
        found.patches.append(attach_patch(task, f"patch:plan:missing_anchor:attach:{task.id}"))
    _list_active(plan, found)


def _too_many(ctx: Context, plan: Work, active: list[Work], found: LintFindings) -> None:
    """More than a few active tasks means that none is; the one in focus stays."""
    if len(active) <= ACTIVE_LIMIT:
        return
    message = f"{len(active)} tasks are active; {ACTIVE_LIMIT} is the limit"
    found.issues.append(
        LintIssue("ACTIVE_LIMIT_EXCEEDED", "unbounded", message, "Put some back to TODO.", work_target(plan))
    )
    # As in BranchMind the task in focus and the oldest stay active; the newest are parked.
    kept = sorted(active, key=lambda task: task.id != ctx.ws.focus)[:ACTIVE_LIMIT]
    for task in [task for task in active if task not in kept][:MOST_TASKS]:
        arguments = {"task": task.id, "status": statuses.WORK_TODO, "expected_revision": task.revision}
        id = f"patch:plan:active_limit:park:{task.id}"
        found.patches.append(SuggestedPatch(id, f"Put {task.id} back to TODO", "tasks_complete", arguments))
    _list_active(plan, found)


def _list_active(plan: Work, found: LintFindings) -> None:
    """The call that lists the active tasks, once, whichever findings are about them."""
    id, listing = "action:plan:list_active_tasks", {"tasks_parent": plan.id, "tasks_status": "ACTIVE"}
    if not found.actions:
        found.actions.append(SuggestedPatch(id, "See the active tasks", "tasks_context", listing))


MOST_BLOCKED = 5


def task_findings(ctx: Context, task: Work) -> LintFindings:
    found = LintFindings()
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


def _whole_task(ctx: Context, task: Work, steps: list[Step], waiting: list[Step], found: LintFindings) -> None:
    here = work_target(task)
    if not steps:
        found.issues.append(
            LintIssue("NO_STEPS", "actionless", f"{task.id} has no steps", "Add steps.", here, severity="error")
        )
        found.patches.append(_seed_steps(task))
    elif not waiting and task.status == statuses.WORK_ACTIVE:
        message = f"{task.id} is ACTIVE and has no open step"
        found.issues.append(LintIssue("ACTIVE_NO_OPEN_STEPS", "self_contradicting", message, "Complete it.", here))
        arguments = {"task": task.id, "status": statuses.WORK_DONE, "expected_revision": task.revision}
        found.patches.append(
            SuggestedPatch(f"patch:task:{task.id}:mark_done", "Complete it", "tasks_complete", arguments)
        )
    if not names_anchor(ctx, task.id):
        message = f"no card of {task.id} is tied to an anchor"
        found.issues.append(LintIssue("MISSING_ANCHOR", "unnavigable", message, "Tie it to an anchor.", here))
        found.patches.append(attach_patch(task, f"patch:task:missing_anchor:attach:{task.id}"))


def _seed_steps(task: Work) -> SuggestedPatch:
    steps = [
        {"title": spec.title, "success_criteria": list(spec.success_criteria), "tests": list(spec.tests)}
        for spec in template_by_id("basic-task", "task").steps
    ]
    arguments = {"task": task.id, "expected_revision": task.revision, "steps": steps}
    return SuggestedPatch(
        "patch:task:seed_steps:v1", "Add three plain steps", "tasks_decompose", arguments, "Rename them."
    )


def _proof_plan(task: Work, waiting: list[Step], found: LintFindings) -> None:
    """Somewhere ahead a step must ask for proof, else DONE will be a word."""
    if not waiting or any(step.proof_tests_mode == "require" for step in waiting):
        return
    verifying = [step for step in waiting if step.title.lower().startswith("verify")]
    # The last step is where the work as a whole is shown; one that is called "Verify ..." says so itself.
    chosen = (verifying or waiting)[-1]
    message = f"no open step of {task.id} requires proof"
    recovery = f"Let {chosen.path} require proof of its tests."
    found.issues.append(LintIssue("MISSING_PROOF_PLAN", "unproveable", message, recovery, work_target(task)))
    purpose = f"Require proof at {chosen.path}"
    patch = field_patch(task, chosen, "require_proof_tests", "proof_tests_mode", "require", purpose)
    found.patches.append(patch)


def _wording(task: Work, step: Step, found: LintFindings) -> None:
    here = step_target(step)
    if not step.success_criteria:
        message = f"{step.path} does not say how one sees that it is done"
        found.issues.append(LintIssue("MISSING_CRITERIA", "unverifiable", message, "Add a criterion.", here))
        value = f"{step.title}: the outcome can be seen"
        patch = field_patch(task, step, "seed_success_criteria", "success_criteria", value, "Add a criterion", "append")
        found.patches.append(patch)
    if not step.tests:
        message = f"{step.path} does not say what checks it"
        found.issues.append(LintIssue("MISSING_TESTS", "unverifiable", message, "Add a test.", here))
        value = f"Check: {step.success_criteria[0] if step.success_criteria else step.title}"
        found.patches.append(field_patch(task, step, "seed_tests", "tests", value, "Add a test", "append"))
    # As in BranchMind, the title alone tells that a step is research.
    if "research" in step.title.lower() and not step.stop_criteria:
        message = f"{step.path} is research without an end"
        recovery = "Say when it stops."
        found.issues.append(LintIssue("RESEARCH_MISSING_STOP_CRITERIA", "unbounded", message, recovery, here))
        value = "Stop when the question is answered or a day has passed; keep what was ruled out."
        found.patches.append(
            field_patch(task, step, "set_stop_criteria", "stop_criteria", value, "Say when the research stops")
        )


def _gate(task: Work, step: Step, gate: Gate, found: LintFindings) -> None:
    """Checkpoints that became required, and proof that is still owed."""
    here = step_target(step)
    written = {"criteria": step.success_criteria, "tests": step.tests}
    for name in gate.missing:
        if written.get(name, True):  # what is not even written down is told already
            message = f"{step.path} must confirm {name} and has not"
            recovery = f"Confirm {name} once it holds."
            found.issues.append(LintIssue(f"MISSING_{name.upper()}", "unverifiable", message, recovery, here))
            arguments = {
                "task": task.id,
                "step_id": step.id,
                "expected_revision": task.revision,
                "checkpoints": {name: True},
            }
            id = f"patch:step:{step.id}:confirm_{name}"
            found.patches.append(
                SuggestedPatch(id, f"Confirm {name}", "tasks_verify", arguments, "Only when it is true.")
            )
    for name in gate.missing_proof:
        message = f"{step.path} requires proof of {name}, and none is captured"
        recovery = (
            f"tasks_evidence_capture task={task.id} step_id={step.id} checkpoint={name}"
            ' checks=["CMD: <fill: what you ran>"]'
        )
        found.issues.append(LintIssue(f"MISSING_PROOF_{name.upper()}", "unproveable", message, recovery, here))


def _next_action(task: Work, step: Step, found: LintFindings) -> None:
    if step.next_action:
        return
    message = f"{step.path} is next and does not say what to do first"
    recovery = "Set next_action."
    found.issues.append(LintIssue("MISSING_NEXT_ACTION", "actionless", message, recovery, step_target(step)))
    value = f"Begin with: {step.success_criteria[0] if step.success_criteria else step.title}"
    found.patches.append(field_patch(task, step, "set_next_action", "next_action", value, "Say what to do first"))


def _blocked(task: Work, waiting: list[Step], found: LintFindings) -> None:
    blocked = [step for step in waiting if step.blocked]
    if not blocked:
        return
    paths = ", ".join(step.path for step in blocked[:MOST_BLOCKED])
    message = f"blocked: {paths}"
    found.issues.append(
        LintIssue("BLOCKED_STEPS", "actionless", message, "Clear the way, then lift the block.", work_target(task))
    )
    for step in blocked[:MOST_BLOCKED]:
        arguments = {
            "task": task.id,
            "step_id": step.id,
            "expected_revision": task.revision,
            "blocked": False,
        }
        id = f"patch:step:{step.id}:unblock"
        found.patches.append(
            SuggestedPatch(id, f"Lift the block of {step.path}", "tasks_block", arguments, step.block_reason)
        )


def _suspects(ctx: Context, task: Work, steps: list[Step], found: LintFindings) -> None:
    """A step that rests on what has fallen; a done one is opened again by its patch."""
    doubts = suspect_steps(ctx, task.id, steps)
    for step in steps:
        if step.id not in doubts:
            continue
        doubt = doubts[step.id]
        message = f"{step.path} rests on a fallen card: {' -> '.join(doubt.path)} ({doubt.because})"
        recovery = "Look at the step again, and at what else it rests on."
        found.issues.append(LintIssue("SUSPECT_STEP", "self_contradicting", message, recovery, step_target(step)))
        if step.completed and task.status != statuses.WORK_DONE:
            arguments = {"task": task.id, "step_id": step.id, "completed": False}
            id = f"patch:step:{step.id}:reopen"
            found.patches.append(
                SuggestedPatch(
                    id, f"Open {step.path} again", "tasks_progress", {**arguments, "expected_revision": task.revision}
                )
            )


def findings(ctx: Context, work: Work) -> LintFindings:
    return task_findings(ctx, work) if work.is_task else plan_findings(ctx, work)
