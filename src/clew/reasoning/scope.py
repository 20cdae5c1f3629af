"""Targeting, once for all: an explicit target, else an explicit branch, else the focus, else the checkout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.ids import PLAN, TASK, check_name
from clew.reasoning.branches import Branch, branch_by_id, branch_named, checked_out, create_branch, find_branch
from clew.reasoning.documents import GRAPH, NOTES, TRACE
from clew.registry.context import Context
from clew.registry.operation import Name


class TargetRef(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    id: Name
    kind: Literal["plan", "task"] | None = None


Target = Annotated[
    str | TargetRef | None,
    Field(description="PLAN-001 or TASK-001, or {id, kind}; default: the workspace focus."),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an operation reads and writes: a branch and its three documents."""

    branch: Branch
    notes: str = NOTES
    graph: str = GRAPH
    trace: str = TRACE
    target: str | None = None
    kind: str | None = None


def target_id(target: str | TargetRef | None, field: str = "target") -> str | None:
    """The id a target names, checked for form and against its kind."""
    if target is None:
        return None
    given = target if isinstance(target, str) else target.id
    name, kind = given.strip(), None if isinstance(target, str) else target.kind
    found = "plan" if PLAN.fullmatch(name) else "task" if TASK.fullmatch(name) else None
    if found is None or (kind is not None and kind != found):
        raise invalid(
            field,
            f"{name[:60]!r} is not the id of a {kind or 'plan or task'}",
            "Use an id such as PLAN-001 or TASK-001.",
            [suggest("status", "Shows the state of the workspace.")],
            kind="prefix",
            allowed=["PLAN-", "TASK-"],
        )
    return name


def resolve_scope(
    ctx: Context,
    target: str | TargetRef | None = None,
    branch: str | None = None,
    *,
    notes: str | None = None,
    graph: str | None = None,
    trace: str | None = None,
    branch_field: str = "branch",
    doc_field: str | None = None,
) -> Scope:
    """The one targeting rule. A target brings its own branch and documents, so neither may be given beside it.

    `doc_field` is what the caller calls its one document, where it has only one.
    """
    docs = {"notes_doc": notes, "graph_doc": graph, "trace_doc": trace}
    overrides = {branch_field: branch, **{doc_field or field: name for field, name in docs.items() if name is not None}}
    explicit = [field for field, value in overrides.items() if value is not None]
    wanted = target_id(target)
    if wanted is not None and explicit:
        raise _either_or("target", explicit[0])
    if wanted is None and not explicit:
        wanted = ctx.ws.focus
    if wanted is not None:
        return scope_of(ctx, wanted)
    chosen = branch_named(ctx, branch, branch_field) if branch is not None else checked_out(ctx)
    return Scope(
        chosen,
        check_name(notes, doc_field or "notes_doc") if notes is not None else NOTES,
        check_name(graph, doc_field or "graph_doc") if graph is not None else GRAPH,
        check_name(trace, doc_field or "trace_doc") if trace is not None else TRACE,
    )


_OWNED = "SELECT * FROM reasoning_ref WHERE workspace = ? AND id = ?"


def create_scope(ctx: Context, target: str, kind: str) -> None:
    """The branch and documents that belong to a plan or task from its first moment."""
    branch = create_branch(ctx, _free_name(ctx, f"{kind}/{target}"), None)
    ctx.tx.run(
        "INSERT INTO reasoning_ref (workspace, id, kind, branch, notes_doc, graph_doc, trace_doc)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        ctx.workspace,
        target,
        kind,
        branch.id,
        NOTES,
        f"{target}-graph",
        f"{target}-trace",
    )


def _free_name(ctx: Context, name: str) -> str:
    """A branch that somebody made under this name before must not keep the work from coming into being."""
    while find_branch(ctx, name) is not None:
        name = f"{name}-own"
    return name


def forget_scope(ctx: Context, target: str) -> None:
    """Take the scope of a deleted plan or task away; its branch and documents stay readable by name."""
    ctx.tx.run("DELETE FROM reasoning_ref WHERE workspace = ? AND id = ?", ctx.workspace, target)
    ctx.memo.pop(("reasoning_ref", target), None)


def scope_damage(ctx: Context, target: str) -> Literal["no scope", "no branch"] | None:
    """What is missing of the scope of a plan or task; None when it is whole."""
    row = ctx.tx.one(
        "SELECT branch.deleted_at_ms FROM reasoning_ref LEFT JOIN branch"
        " ON branch.workspace = reasoning_ref.workspace AND branch.id = reasoning_ref.branch"
        " WHERE reasoning_ref.workspace = ? AND reasoning_ref.id = ?",
        ctx.workspace,
        target,
    )
    if row is None:
        return "no scope"
    return "no branch" if row["deleted_at_ms"] is not None else None


def scope_of(ctx: Context, target: str) -> Scope:
    """The reasoning scope that a plan or task owns."""
    key = ("reasoning_ref", target)
    row = ctx.memo.get(key) or ctx.tx.one(_OWNED, ctx.workspace, target)
    ctx.memo[key] = row
    if row is None:
        raise unknown_id(
            "target",
            target,
            "Copy the id from a snapshot, or start a task.",
            [suggest("tasks_macro_start", "Starts a task.", "medium", task_title="New task")],
        )
    branch = branch_by_id(ctx, row["branch"])
    return Scope(branch, row["notes_doc"], row["graph_doc"], row["trace_doc"], row["id"], row["kind"])


def _either_or(first: str, second: str) -> ClewError:
    options = [{"keep": first, "drop": second}, {"keep": second, "drop": first}]
    return ClewError(
        "INVALID_INPUT",
        f"{first} and {second} exclude each other: a target brings its own branch and documents",
        f"Keep {first} or {second}.",
        [{"kind": "choose_one", "fields": [first, second], "options": options}],
    )


def scope_json(scope: Scope) -> dict[str, Any]:
    return {"branch": scope.branch.name, "notes_doc": scope.notes, "graph_doc": scope.graph, "trace_doc": scope.trace}
