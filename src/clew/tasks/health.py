"""Whether a scope holds anything that a newcomer could resume from."""

from __future__ import annotations

from typing import Any

from clew.reasoning.graph import CARD_TYPES, nodes
from clew.reasoning.scope import Scope, scope_json, scope_of
from clew.registry.context import Context
from clew.tasks.plans import Work


def work_health(ctx: Context, work: Work) -> dict[str, Any]:
    """The health of a plan's or task's own scope, which may be damaged."""
    row = ctx.tx.one(
        "SELECT branch.deleted_at_ms FROM reasoning_ref LEFT JOIN branch"
        " ON branch.workspace = reasoning_ref.workspace AND branch.id = reasoning_ref.branch"
        " WHERE reasoning_ref.workspace = ? AND reasoning_ref.id = ?",
        ctx.workspace,
        work.id,
    )
    if row is None:
        return _unusable("REASONING_REF_MISSING", f"{work.id} has no branch and documents of its own")
    if row["deleted_at_ms"] is not None:
        return _unusable("REASONING_BRANCH_MISSING", f"the branch of {work.id} was deleted")
    return context_health(ctx, scope_of(ctx, work.id))


def context_health(ctx: Context, scope: Scope) -> dict[str, Any]:
    notes, trace = _present(ctx, scope, scope.notes), _present(ctx, scope, scope.trace)
    cards = bool(nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, limit=1).nodes)
    issues = []
    if not (notes or trace or cards):
        issues.append(_issue("CONTEXT_EMPTY", "warning", "nothing has been written in this scope yet"))
    elif trace and not (notes or cards):
        issues.append(_issue("TRACE_ONLY", "warning", "there are events but no notes and no cards"))
    stats = {
        "notes_present": notes,
        "trace_present": trace,
        "cards_present": cards,
        "reasoning_ref": scope_json(scope),
    }
    return {"status": "warn" if issues else "ok", "issues": issues, "stats": stats}


def _unusable(code: str, message: str) -> dict[str, Any]:
    stats = {"notes_present": False, "trace_present": False, "cards_present": False, "reasoning_ref": None}
    return {"status": "error", "issues": [_issue(code, "error", message)], "stats": stats}


def _present(ctx: Context, scope: Scope, doc: str) -> bool:
    sql = "SELECT 1 FROM entry WHERE workspace = ? AND branch = ? AND doc = ? LIMIT 1"
    return ctx.tx.value(sql, ctx.workspace, scope.branch.id, doc) is not None


def _issue(code: str, severity: str, message: str) -> dict[str, Any]:
    return {
        "code": code,
        "severity": severity,
        "message": message,
        "recovery": "Write a note (notes_commit) or a card (think_card).",
    }
