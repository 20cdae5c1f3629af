"""Lint: the weaknesses of a plan or task, each finding with a small edit that fixes it. Nothing is changed here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json, as_json, picked
from clew.errors import shorten
from clew.kinds import statuses
from clew.reasoning.anchors.registry import names_anchor
from clew.reasoning.documents import has_entries
from clew.reasoning.graph import CARD_TYPES, nodes
from clew.reasoning.scope import Scope, scope_damage, scope_json, scope_of
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.gates import Gate, gates_of
from clew.tasks.plans import ACTIVE_LIMIT, Work, tasks_of
from clew.tasks.proofs import StaleProof, stale_proofs
from clew.tasks.reasoning_gate import suspect_steps
from clew.tasks.steps import Step, first_open, steps_of
from clew.tasks.targets import OfWork, target_work
from clew.tasks.templates import template_by_id
from clew.tasks.texts import anchor_for

SEVERITIES = ("error", "warning")


@dataclass(frozen=True, slots=True)
class LintIssue:
    code: str
    severity: str
    kind: str
    message: str
    recovery: str
    target: dict[str, str]

    def rank(self) -> tuple[int, str, str, str]:
        # BranchMind's order of findings.
        return (SEVERITIES.index(self.severity), self.kind, self.code, self.target.get("step_id", ""))

    def to_json(self) -> Json:
        return as_json(self)


@dataclass(frozen=True, slots=True)
class SuggestedPatch:
    """A call with a small change; `arguments` can be sent unchanged."""

    id: str
    purpose: str
    tool: str
    arguments: Json
    notes: str | None = None

    def to_json(self, workspace: str) -> Json:
        apply = {"tool": self.tool, "arguments": {"workspace": workspace, **self.arguments}}
        notes = {"notes": self.notes} if self.notes else {}
        return {"id": self.id, "purpose": self.purpose, "apply": apply, **notes}


@dataclass(slots=True)
class LintFindings:
    """Findings about one plan or task; patches are valid for the revision that was checked."""

    work: Work
    issues: list[LintIssue] = field(default_factory=list)
    patches: list[SuggestedPatch] = field(default_factory=list)
    actions: list[SuggestedPatch] = field(default_factory=list)

    def issue(
        self, code: str, kind: str, message: str, recovery: str, step: Step | None = None, severity: str = "warning"
    ) -> None:
        target = work_target(self.work) if step is None else step_target(step)
        self.issues.append(LintIssue(code, severity, kind, message, recovery, target))

    def patch(self, id: str, purpose: str, tool: str, arguments: Json, notes: str | None = None) -> None:
        """A patch for an older state is refused, instead of overwriting later changes."""
        # After the arguments that name the plan, task or step, as in BranchMind.
        first = {name: value for name, value in arguments.items() if name in ("plan", "task", "step_id", "kind")}
        arguments = {**first, "expected_revision": self.work.revision, **arguments}
        self.patches.append(SuggestedPatch(id, purpose, tool, arguments, notes))

    def step_patch(self, step: Step, name: str, purpose: str, tool: str, notes: str | None = None, **edit: Any) -> None:
        place = {"task": step.task, "step_id": step.id}
        self.patch(f"patch:step:{step.id}:{name}", purpose, tool, {**place, **edit}, notes)

    def field_patch(self, step: Step, name: str, field: str, value: str, purpose: str, op: str = "set") -> None:
        """One edit of one field of a step."""
        ops = [{"op": op, "field": field, "value": value}]
        self.step_patch(step, name, purpose, "tasks_patch", "Put it in your own words.", kind="step", ops=ops)

    def attach(self, task: Work, id: str) -> None:
        """Attach a task to an anchor; the kind is always one that anchors have."""
        arguments = {
            "anchor": anchor_for(task.title),
            "title": shorten(task.title, 120),
            "kind": "component",
            "content": f"{task.title}: invariants, risks, tests.",
            "target": task.id,
            "visibility": "canon",
        }
        purpose, notes = f"Tie {task.id} to an anchor", "Choose an anchor that exists."
        self.patches.append(SuggestedPatch(id, purpose, "macro_anchor_note", arguments, notes))

    def list_active(self) -> None:
        """The call that lists the active tasks, once, however many findings refer to them."""
        id, listing = "action:plan:list_active_tasks", {"tasks_parent": self.work.id, "tasks_status": "ACTIVE"}
        if not self.actions:
            self.actions.append(SuggestedPatch(id, "See the active tasks", "tasks_context", listing))


def work_target(work: Work) -> dict[str, str]:
    return {"kind": work.kind, "id": work.id}


def step_target(step: Step) -> dict[str, str]:
    return {"kind": "step", "id": step.task, "step_id": step.id, "path": step.path}


def stale_issue(work: Work, stale: StaleProof) -> LintIssue:
    """A proof over files that have changed; only running it again makes it valid."""
    proof = stale.evidence
    target = {**work_target(work), "evidence": proof.id}
    if proof.path is not None:
        target |= {"kind": "step", "step_id": proof.entity, "path": proof.path}
    message = f"{proof.id} covers files that have changed since: {', '.join(stale.changed[:3])}"
    again = f"Run {proof.command!r} again and capture the result." if proof.command else "Prove it again."
    return LintIssue("STALE_PROOF", "warning", "unproveable", message, again, target)


# BranchMind's limit of patches per finding.
MOST_TASKS = 5


def plan_findings(ctx: Context, plan: Work) -> LintFindings:
    found = LintFindings(plan)
    _checklist(plan, found)
    active = tasks_of(ctx, plan.id, "ACTIVE")
    _anchors(ctx, active, found)
    _too_many(ctx, active, found)
    return found


def _checklist(plan: Work, found: LintFindings) -> None:
    size = len(plan.checklist)
    if not size:
        found.issue("NO_CHECKLIST", "actionless", f"{plan.id} has no checklist", "Give it one with tasks_plan.")
        seed = {"plan": plan.id, "steps": list(template_by_id("basic-plan", "plan").checklist)}
        found.patch("patch:plan:seed_checklist:v1", "Add a plain checklist", "tasks_plan", seed)
    elif plan.checklist_current > size:
        message = f"{plan.id} stands at line {plan.checklist_current} of {size}"
        code = "CHECKLIST_INDEX_OUT_OF_RANGE"
        found.issue(code, "unbounded", message, "Go back to its end.", severity="error")
        end = {"plan": plan.id, "current": size}
        found.patch("patch:plan:current:clamp", "Go to the end", "tasks_plan", end)


def _anchors(ctx: Context, active: list[Work], found: LintFindings) -> None:
    adrift = [task for task in active if not names_anchor(ctx, task.id)]
    if not adrift:
        return
    message = f"{len(adrift)} of {len(active)} active tasks are tied to no anchor"
    found.issue("ACTIVE_TASKS_MISSING_ANCHOR", "unnavigable", message, "Tie them to anchors.")
    for task in adrift[:MOST_TASKS]:
        found.attach(task, f"patch:plan:missing_anchor:attach:{task.id}")
    found.list_active()


def _too_many(ctx: Context, active: list[Work], found: LintFindings) -> None:
    """More than ACTIVE_LIMIT active tasks; the one in focus stays active."""
    if len(active) <= ACTIVE_LIMIT:
        return
    message = f"{len(active)} tasks are active; {ACTIVE_LIMIT} is the limit"
    found.issue("ACTIVE_LIMIT_EXCEEDED", "unbounded", message, "Put some back to TODO.")
    # As in BranchMind the task in focus and the oldest stay active; the newest are parked.
    kept = sorted(active, key=lambda task: task.id != ctx.ws.focus)[:ACTIVE_LIMIT]
    for task in [task for task in active if task not in kept][:MOST_TASKS]:
        back = {"task": task.id, "status": statuses.WORK_TODO, "expected_revision": task.revision}
        id, purpose = f"patch:plan:active_limit:park:{task.id}", f"Put {task.id} back to TODO"
        found.patches.append(SuggestedPatch(id, purpose, "tasks_complete", back))
    found.list_active()


MOST_BLOCKED = 5


def task_findings(ctx: Context, task: Work) -> LintFindings:
    found = LintFindings(task)
    steps = steps_of(ctx, task.id)
    waiting = [step for step in steps if not step.completed]
    _whole_task(ctx, task, steps, waiting, found)
    _proof_plan(task, waiting, found)
    gates = gates_of(ctx, waiting)
    for step in waiting:
        _wording(step, found)
        _gate(task, step, gates[step.id], found)
    first = first_open(ctx, task.id)
    if first is not None:
        _next_action(first, found)
    _blocked(waiting, found)
    _suspects(ctx, task, steps, found)
    return found


def _whole_task(ctx: Context, task: Work, steps: list[Step], waiting: list[Step], found: LintFindings) -> None:
    if not steps:
        found.issue("NO_STEPS", "actionless", f"{task.id} has no steps", "Add steps.", severity="error")
        plain = template_by_id("basic-task", "task").steps
        seed = [picked(spec, "title", "success_criteria", "tests") for spec in plain]
        edit = {"task": task.id, "steps": seed}
        found.patch("patch:task:seed_steps:v1", "Add three plain steps", "tasks_decompose", edit, "Rename them.")
    elif not waiting and task.status == statuses.WORK_ACTIVE:
        message = f"{task.id} is ACTIVE and has no open step"
        found.issue("ACTIVE_NO_OPEN_STEPS", "self_contradicting", message, "Complete it.")
        done = {"task": task.id, "status": statuses.WORK_DONE, "expected_revision": task.revision}
        id = f"patch:task:{task.id}:mark_done"
        found.patches.append(SuggestedPatch(id, "Complete it", "tasks_complete", done))
    if not names_anchor(ctx, task.id):
        message = f"no card of {task.id} is tied to an anchor"
        found.issue("MISSING_ANCHOR", "unnavigable", message, "Tie it to an anchor.")
        found.attach(task, f"patch:task:missing_anchor:attach:{task.id}")


def _proof_plan(task: Work, waiting: list[Step], found: LintFindings) -> None:
    """At least one of the coming steps must require proof, else DONE is only a claim."""
    if not waiting or any(step.proof_tests_mode == "require" for step in waiting):
        return
    verifying = [step for step in waiting if step.title.lower().startswith("verify")]
    # The last step is where the work as a whole is shown; one that is called "Verify ..." says so itself.
    chosen = (verifying or waiting)[-1]
    recovery = f"Let {chosen.path} require proof of its tests."
    found.issue("MISSING_PROOF_PLAN", "unproveable", f"no open step of {task.id} requires proof", recovery)
    purpose = f"Require proof at {chosen.path}"
    found.field_patch(chosen, "require_proof_tests", "proof_tests_mode", "require", purpose)


def _wording(step: Step, found: LintFindings) -> None:
    if not step.success_criteria:
        message = f"{step.path} does not say how one sees that it is done"
        found.issue("MISSING_CRITERIA", "unverifiable", message, "Add a criterion.", step)
        value = f"{step.title}: the outcome can be seen"
        found.field_patch(step, "seed_success_criteria", "success_criteria", value, "Add a criterion", "append")
    if not step.tests:
        found.issue("MISSING_TESTS", "unverifiable", f"{step.path} does not say what checks it", "Add a test.", step)
        found.field_patch(step, "seed_tests", "tests", f"Check: {_aim(step)}", "Add a test", "append")
    # As in BranchMind, the title alone marks a step as research.
    if "research" in step.title.lower() and not step.stop_criteria:
        code, message = "RESEARCH_MISSING_STOP_CRITERIA", f"{step.path} is research without an end"
        found.issue(code, "unbounded", message, "Say when it stops.", step)
        value = "Stop when the question is answered or a day has passed; keep what was ruled out."
        found.field_patch(step, "set_stop_criteria", "stop_criteria", value, "Say when the research stops")


def _aim(step: Step) -> str:
    return step.success_criteria[0] if step.success_criteria else step.title


def _gate(task: Work, step: Step, gate: Gate, found: LintFindings) -> None:
    """Checkpoints that became required, and proof that is still missing."""
    written = {"criteria": step.success_criteria, "tests": step.tests}
    for name in gate.missing:
        if written.get(name, True):  # a missing definition is reported already
            message = f"{step.path} must confirm {name} and has not"
            recovery = f"Confirm {name} once it holds."
            found.issue(f"MISSING_{name.upper()}", "unverifiable", message, recovery, step)
            note, checkpoints = "Only when it is true.", {name: True}
            found.step_patch(step, f"confirm_{name}", f"Confirm {name}", "tasks_verify", note, checkpoints=checkpoints)
    for name in gate.missing_proof:
        message = f"{step.path} requires proof of {name}, and none is captured"
        call = f"tasks_evidence_capture task={task.id} step_id={step.id} checkpoint={name}"
        recovery = f'{call} checks=["CMD: <fill: what you ran>"]'
        found.issue(f"MISSING_PROOF_{name.upper()}", "unproveable", message, recovery, step)


def _next_action(step: Step, found: LintFindings) -> None:
    if not step.next_action:
        message = f"{step.path} is next and does not say what to do first"
        found.issue("MISSING_NEXT_ACTION", "actionless", message, "Set next_action.", step)
        value = f"Begin with: {_aim(step)}"
        found.field_patch(step, "set_next_action", "next_action", value, "Say what to do first")


def _blocked(waiting: list[Step], found: LintFindings) -> None:
    blocked = [step for step in waiting if step.blocked]
    if not blocked:
        return
    message = f"blocked: {', '.join(step.path for step in blocked[:MOST_BLOCKED])}"
    found.issue("BLOCKED_STEPS", "actionless", message, "Clear the way, then lift the block.")
    for step in blocked[:MOST_BLOCKED]:
        purpose = f"Lift the block of {step.path}"
        found.step_patch(step, "unblock", purpose, "tasks_block", step.block_reason, blocked=False)


def _suspects(ctx: Context, task: Work, steps: list[Step], found: LintFindings) -> None:
    """A step with a withdrawn premise; the patch of a done one reopens it."""
    doubts = suspect_steps(ctx, task.id, steps)
    for step in [step for step in steps if step.id in doubts]:
        doubt = doubts[step.id]
        message = f"{step.path} rests on a fallen card: {' -> '.join(doubt.path)} ({doubt.because})"
        recovery = "Look at the step again, and at what else it rests on."
        found.issue("SUSPECT_STEP", "self_contradicting", message, recovery, step)
        if step.completed and task.status != statuses.WORK_DONE:
            found.step_patch(step, "reopen", f"Open {step.path} again", "tasks_progress", completed=False)


def findings(ctx: Context, work: Work) -> LintFindings:
    return task_findings(ctx, work) if work.is_task else plan_findings(ctx, work)


def work_health(ctx: Context, work: Work) -> Json:
    """The integrity of a plan's or task's own scope, which may be damaged."""
    damage = scope_damage(ctx, work.id)
    if damage == "no scope":
        return _unusable("REASONING_REF_MISSING", f"{work.id} has no branch and documents of its own")
    if damage == "no branch":
        return _unusable("REASONING_BRANCH_MISSING", f"the branch of {work.id} was deleted")
    return context_health(ctx, scope_of(ctx, work.id))


def context_health(ctx: Context, scope: Scope) -> Json:
    notes, trace = (has_entries(ctx, scope.branch.id, doc) for doc in (scope.notes, scope.trace))
    cards = bool(nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, limit=1).nodes)
    issues = []
    if not (notes or trace or cards):
        issues.append(_health_issue("CONTEXT_EMPTY", "warning", "nothing has been written in this scope yet"))
    elif trace and not (notes or cards):
        issues.append(_health_issue("TRACE_ONLY", "warning", "there are events but no notes and no cards"))
    return _health("warn" if issues else "ok", issues, (notes, trace, cards), scope_json(scope))


def _unusable(code: str, message: str) -> Json:
    return _health("error", [_health_issue(code, "error", message)], (False, False, False), None)


def _health(status: str, issues: list[Json], present: tuple[bool, bool, bool], ref: Json | None) -> Json:
    names = ("notes_present", "trace_present", "cards_present")
    stats = {**dict(zip(names, present, strict=True)), "reasoning_ref": ref}
    return {"status": status, "issues": issues, "stats": stats}


def _health_issue(code: str, severity: str, message: str) -> Json:
    recovery = "Write a note (notes_commit) or a card (think_card)."
    return {"code": code, "severity": severity, "message": message, "recovery": recovery}


LINT_BUDGET = Budget(
    (
        Trim("actions", drop="last"),
        Trim("patches", drop="last", floor=3),
        Trim("issues", drop="last", floor=3),
        Drop("context_health"),
        Trim("patches", drop="last"),
        Trim("issues", drop="last"),
    ),
    16_000,
    keep=("workspace", "target", "summary"),
)


class Lint(OfWork, Bounded):
    files: Annotated[
        dict[str, Annotated[str, Field(max_length=256)]] | None,
        Field(max_length=10_000, description="Digests of files as they are now, {path: digest}: finds stale proofs."),
    ] = None


@operation("tasks_lint", budget=LINT_BUDGET)
def tasks_lint(ctx: Context, args: Lint) -> Json:
    """Check a plan or task for what would make it hard to finish or to prove, with edits that mend it."""
    work = target_work(ctx, args)
    found, health = findings(ctx, work), work_health(ctx, work)
    for stale in stale_proofs(ctx, work.id, args.files or {}):
        found.issues.append(stale_issue(work, stale))
    # Sorted by content and not by discovery order, so that the same state gives the same bytes.
    issues = [issue.to_json() for issue in sorted(found.issues, key=lambda issue: issue.rank())]
    issues += [{**issue, "kind": "context", "target": {"kind": work.kind, "id": work.id}} for issue in health["issues"]]
    return {
        "workspace": ctx.workspace,
        "target": {"id": work.id, "kind": work.kind},
        "summary": summary(issues),
        "issues": issues,
        "patches": [patch.to_json(ctx.workspace) for patch in sorted(found.patches, key=lambda patch: patch.id)],
        "actions": [action.to_json(ctx.workspace) for action in sorted(found.actions, key=lambda action: action.id)],
        "context_health": health,
    }


def summary(issues: list[Json]) -> dict[str, int]:
    found = [issue["severity"] for issue in issues]
    return {"total": len(issues), "errors": found.count("error"), "warnings": found.count("warning")}
