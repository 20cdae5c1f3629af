"""export: everything needed to continue a task or plan, in one bounded response."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid
from clew.reasoning.documents import entries_json, tail, view
from clew.reasoning.scope import Scope, TargetRef, scope_json, scope_of, target_id
from clew.reasoning.sequential import following, sequential_graph
from clew.registry.budget import Budget, Clip, Drop, Pick, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.openers import describe_target
from clew.tasks.proof_receipts import chain_heads

_SEQUENTIAL = following("trace.entries", "trace.sequential")
EXPORT_BUDGET = Budget(
    (
        Clip("notes.entries[].content", 2000),
        Clip("trace.entries[].content", 2000),
        Trim("trace.entries", drop="first", floor=5, page="trace.pagination", follow=_SEQUENTIAL),
        Trim("notes.entries", drop="first", floor=3, page="notes.pagination"),
        Clip("notes.entries[].content", 200),
        Clip("trace.entries[].content", 200),
        Trim("trace.entries", drop="first", page="trace.pagination", follow=_SEQUENTIAL),
        Trim("notes.entries", drop="first", page="notes.pagination"),
        Drop("chain"),
        Drop("trace.sequential"),
        Clip("target.description", 200),
        Clip("target.title", 80),
        Pick("target", ("id", "kind", "title", "status", "revision")),
        Pick("trace", ("entries",)),
        Pick("notes", ("entries",)),
        Drop("workspace"),
        Pick("target", ("id", "kind")),
    ),
    keep=("target", "reasoning_ref"),
)


class Export(Bounded):
    target: Annotated[str | TargetRef, Field(description="PLAN-001 or TASK-001, or {id, kind}.")]
    notes_limit: Annotated[int, Field(ge=0, le=200, description="Most notes; 0 leaves them out.")] = 20
    trace_limit: Annotated[int, Field(ge=0, le=200, description="Most trace entries; 0 leaves them out.")] = 50


@operation("export", budget=EXPORT_BUDGET, example={"target": "TASK-001"})
def export(ctx: Context, args: Export) -> dict[str, Any]:
    """Show a task or plan with its reasoning references and the newest notes and trace entries."""
    wanted = target_id(args.target)
    if wanted is None:
        raise invalid("target", "is required", kind="missing_required")
    scope = scope_of(ctx, wanted)
    target = describe_target(ctx, wanted)
    trace = _slice(ctx, scope, scope.trace, args.trace_limit)
    return {
        "workspace": ctx.workspace,
        "target": target,
        "reasoning_ref": scope_json(scope),
        "notes": _slice(ctx, scope, scope.notes, args.notes_limit),
        "trace": {**trace, "sequential": sequential_graph(trace["entries"])},
        "chain": chain_heads(ctx),
    }


def _slice(ctx: Context, scope: Scope, doc: str, limit: int) -> dict[str, Any]:
    part = tail(ctx, view(ctx, scope.branch), doc, None, limit)
    return {
        "branch": scope.branch.name,
        "doc": doc,
        "entries": entries_json(ctx, part.entries),
        "pagination": part.page(None, limit),
    }
