"""Lint: what is weak in a plan or task, each with a small edit that mends it. Nothing is changed here."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.health import work_health
from clew.tasks.lint_plan import plan_findings
from clew.tasks.lint_rules import Found, stale_issue
from clew.tasks.lint_task import task_findings
from clew.tasks.plans import Work
from clew.tasks.targets import OfWork, target_work
from clew.tasks.trust import stale_proofs

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


@operation("tasks_lint", intent="lint", budget=LINT_BUDGET)
def tasks_lint(ctx: Context, args: Lint) -> dict[str, Any]:
    """Check a plan or task for what would make it hard to finish or to prove, with edits that mend it."""
    work = target_work(ctx, args)
    found, health = findings(ctx, work), work_health(ctx, work)
    for stale in stale_proofs(ctx, work.id, args.files or {}):
        found.issues.append(stale_issue(work, stale))
    issues = [issue.to_json() for issue in sorted(found.issues, key=lambda issue: issue.rank())]
    issues += [{**issue, "kind": "context", "target": {"kind": work.kind, "id": work.id}} for issue in health["issues"]]
    return {
        "workspace": ctx.workspace,
        "target": {"id": work.id, "kind": work.kind},
        "summary": summary(issues),
        "issues": issues,
        "patches": [patch.to_json() for patch in sorted(found.patches, key=lambda patch: patch.id)],
        "actions": [action.to_json() for action in sorted(found.actions, key=lambda action: action.id)],
        "context_health": health,
        "truncated": False,
    }


def findings(ctx: Context, work: Work) -> Found:
    return task_findings(ctx, work) if work.is_task else plan_findings(ctx, work)


def summary(issues: list[dict[str, Any]]) -> dict[str, int]:
    severities = [issue["severity"] for issue in issues]
    return {
        "total": len(issues),
        "errors": severities.count("error"),
        "warnings": severities.count("warning"),
    }
