"""One look at whether a workspace and a target are in working order."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import suggest
from clew.index.search import index_gaps
from clew.reasoning.scope import Scope, Target, resolve_scope
from clew.reasoning.workspace import GOLDEN_PATH, checkout_name
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.catalogue import catalogue
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.tasks.lint import context_health, findings, summary
from clew.tasks.plans import find_work


class Diagnostics(Bounded):
    target: Target = None
    task: Annotated[Name | None, Field(description="Same as target, for a task.")] = None
    plan: Annotated[Name | None, Field(description="Same as target, for a plan.")] = None


DIAGNOSTICS_BUDGET = Budget((Drop("golden_path"), Trim("issues", drop="last")), 16_000, keep=("workspace", "summary"))


@operation("diagnostics", budget=DIAGNOSTICS_BUDGET)
def diagnostics(ctx: Context, args: Diagnostics) -> dict[str, Any]:
    """Check the workspace and one target, and say how to mend what is wrong."""
    scope = resolve_scope(ctx, args.target or args.task or args.plan)
    health = context_health(ctx, scope)
    context = [{**issue, "kind": "context"} for issue in health["issues"]]
    issues = [*_store_issues(ctx), *_work_issues(ctx, scope), *context]
    if context:
        ctx.suggest(suggest("notes_commit", "Writes a first note into this scope.", "low", content="First note."))
    return {
        "workspace": ctx.workspace,
        "checkout": checkout_name(ctx),
        "focus": ctx.ws.focus,
        "target": {"id": scope.target, "kind": scope.kind} if scope.target else None,
        "context_health": health,
        "issues": issues,
        "summary": summary(issues),
        "golden_path": [item for item in GOLDEN_PATH if catalogue().find(item["tool"])],
    }


def _work_issues(ctx: Context, scope: Scope) -> list[dict[str, Any]]:
    """What lint says about the plan or task in scope."""
    work = find_work(ctx, scope.target) if scope.target else None
    if work is None:
        return []
    found = findings(ctx, work)
    if found.patches:
        ctx.suggest(suggest("tasks_lint", "Shows edits that mend the plan or task.", "medium", **{work.kind: work.id}))
    return [issue.to_json() for issue in sorted(found.issues, key=lambda issue: issue.rank())]


def _store_issues(ctx: Context) -> list[dict[str, Any]]:
    lag = index_gaps(ctx.tx, ctx.workspace)
    if not lag:
        return []
    message = f"{lag} items are missing from the search index"
    return [{"code": "INDEX_LAG", "severity": "error", "kind": "index", "message": message, "recovery": "Run reindex."}]
