"""One look at whether a workspace and a target are in working order."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import suggest
from clew.reasoning.scope import Scope, Target, resolve_scope, scope_json
from clew.reasoning.workspace import GOLDEN_PATH, checkout_name
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.catalogue import catalogue
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.store.search import index_gaps


class Diagnostics(Bounded):
    target: Target = None
    task: Annotated[Name | None, Field(description="Same as target, for a task.")] = None
    plan: Annotated[Name | None, Field(description="Same as target, for a plan.")] = None


DIAGNOSTICS_BUDGET = Budget((Drop("golden_path"), Trim("issues", drop="last")), 16_000, keep=("workspace", "summary"))


@operation("diagnostics", budget=DIAGNOSTICS_BUDGET)
def diagnostics(ctx: Context, args: Diagnostics) -> dict[str, Any]:
    """Check the workspace and one target, and say how to mend what is wrong."""
    scope = resolve_scope(ctx, args.target or args.task or args.plan)
    issues = [*_store_issues(ctx)]
    health = context_health(ctx, scope)
    issues += [{**issue, "kind": "context"} for issue in health["issues"]]
    if issues:
        ctx.suggest(suggest("notes_commit", "Writes a first note into this scope.", "low", content="First note."))
    severities = [issue["severity"] for issue in issues]
    return {
        "workspace": ctx.workspace,
        "checkout": checkout_name(ctx),
        "focus": ctx.ws.focus,
        "target": {"id": scope.target, "kind": scope.kind} if scope.target else None,
        "context_health": health,
        "issues": issues,
        "summary": {
            "total": len(issues),
            "errors": severities.count("error"),
            "warnings": severities.count("warning"),
        },
        "golden_path": [item for item in GOLDEN_PATH if catalogue().find(item["tool"])],
        "truncated": False,
    }


def context_health(ctx: Context, scope: Scope) -> dict[str, Any]:
    """Whether a scope holds anything that a newcomer could resume from."""
    notes, trace = _present(ctx, scope, scope.notes), _present(ctx, scope, scope.trace)
    cards = _present(ctx, scope, scope.graph)
    issues = []
    if not (notes or trace or cards):
        issues.append(_issue("CONTEXT_EMPTY", "warning", "nothing has been written in this scope yet"))
    elif trace and not (notes or cards):
        issues.append(_issue("TRACE_ONLY", "warning", "there are events but no notes and no cards"))
    return {
        "status": "warn" if issues else "ok",
        "issues": issues,
        "stats": {
            "notes_present": notes,
            "trace_present": trace,
            "cards_present": cards,
            "reasoning_ref": scope_json(scope),
        },
    }


def _present(ctx: Context, scope: Scope, doc: str) -> bool:
    sql = "SELECT 1 FROM entry WHERE workspace = ? AND branch = ? AND doc = ? LIMIT 1"
    return ctx.tx.value(sql, ctx.workspace, scope.branch.id, doc) is not None


def _store_issues(ctx: Context) -> list[dict[str, Any]]:
    lag = index_gaps(ctx.tx, ctx.workspace)
    if not lag:
        return []
    issue = _issue("INDEX_LAG", "error", f"{lag} items are missing from the search index")
    return [{**issue, "kind": "index", "recovery": "Run reindex."}]


def _issue(code: str, severity: str, message: str) -> dict[str, Any]:
    return {
        "code": code,
        "severity": severity,
        "message": message,
        "recovery": "Write a note (notes_commit) or a card (think_card).",
    }
