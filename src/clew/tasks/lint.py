"""Lint: what is weak in a plan or task, each finding with a small edit that mends it. Nothing is changed here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clew.canonical import Json
from clew.reasoning.documents import has_entries
from clew.reasoning.graph import CARD_TYPES, nodes
from clew.reasoning.scope import Scope, scope_damage, scope_json, scope_of
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.lint_findings import findings, stale_issue
from clew.tasks.plans import Work
from clew.tasks.proofs import stale_proofs
from clew.tasks.targets import OfWork, target_work


def work_health(ctx: Context, work: Work) -> Json:
    """The health of a plan's or task's own scope, which may be damaged."""
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
    # Sorted by what it is and not by when it was found, so that the same state gives the same bytes.
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
