"""Lint rules for plans."""

from __future__ import annotations

from clew.registry.context import Context
from clew.tasks.anchoring import has_anchor
from clew.tasks.lint_rules import Found, Issue, Patch, attach_patch, work_target
from clew.tasks.plans import ACTIVE_LIMIT, Work, tasks_of
from clew.tasks.templates import template_by_id

MOST = 5


def plan_findings(ctx: Context, plan: Work) -> Found:
    found = Found()
    _checklist(plan, found)
    active = tasks_of(ctx, plan.id, "ACTIVE")
    _anchors(ctx, plan, active, found)
    _too_many(ctx, plan, active, found)
    return found


def _checklist(plan: Work, found: Found) -> None:
    here = work_target(plan)
    if not plan.checklist:
        message = f"{plan.id} has no checklist"
        found.issues.append(Issue("NO_CHECKLIST", "actionless", message, "Give it one with tasks_plan.", here))
        steps = list(template_by_id("basic-plan", "plan").checklist)
        arguments = {"plan": plan.id, "expected_revision": plan.revision, "steps": steps}
        found.patches.append(Patch("patch:plan:seed_checklist:v1", "Add a plain checklist", "tasks_plan", arguments))
    elif plan.checklist_current > len(plan.checklist):
        message = f"{plan.id} stands at line {plan.checklist_current} of {len(plan.checklist)}"
        found.issues.append(
            Issue("CHECKLIST_INDEX_OUT_OF_RANGE", "unbounded", message, "Go back to its end.", here, severity="error")
        )
        arguments = {"plan": plan.id, "expected_revision": plan.revision, "current": len(plan.checklist)}
        found.patches.append(Patch("patch:plan:current:clamp", "Go to the end", "tasks_plan", arguments))


def _anchors(ctx: Context, plan: Work, active: list[Work], found: Found) -> None:
    adrift = [task for task in active if not has_anchor(ctx, task.id)]
    if not adrift:
        return
    message = f"{len(adrift)} of {len(active)} active tasks are tied to no anchor"
    found.issues.append(
        Issue("ACTIVE_TASKS_MISSING_ANCHOR", "unnavigable", message, "Tie them to anchors.", work_target(plan))
    )
    for task in adrift[:MOST]:
        found.patches.append(attach_patch(task, f"patch:plan:missing_anchor:attach:{task.id}"))


def _too_many(ctx: Context, plan: Work, active: list[Work], found: Found) -> None:
    """More than a few active tasks means that none is; the one in focus stays."""
    if len(active) <= ACTIVE_LIMIT:
        return
    message = f"{len(active)} tasks are active; {ACTIVE_LIMIT} is the limit"
    found.issues.append(
        Issue("ACTIVE_LIMIT_EXCEEDED", "unbounded", message, "Put some back to TODO.", work_target(plan))
    )
    others = [task for task in active if task.id != ctx.ws.focus]
    for task in others[: min(MOST, len(active) - ACTIVE_LIMIT)]:
        arguments = {"task": task.id, "status": "TODO", "expected_revision": task.revision}
        id = f"patch:plan:active_limit:park:{task.id}"
        found.patches.append(Patch(id, f"Put {task.id} back to TODO", "tasks_complete", arguments))
    listing = {"tasks_parent": plan.id, "tasks_status": "ACTIVE"}
    found.actions.append(Patch("action:plan:list_active", "See the active tasks", "tasks_context", listing))
