"""Scopes: which branch, documents and step a call means, and the arguments by which operations name them.

All operations follow one rule: an explicit target, else an explicit branch, else the focus, else the checkout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from clew.canonical import Json, as_json
from clew.errors import ClewError, Suggestion, invalid, shorten, suggest, unknown_id
from clew.hooks import HookPoint
from clew.ids import PLAN, STEP_PATH, TASK, check_name
from clew.ids import STEP as STEP_ID
from clew.reasoning.branches import Branch, branch_by_id, branch_named, checked_out, create_branch, find_branch
from clew.reasoning.documents import GRAPH, NOTES, TRACE
from clew.reasoning.visibility import STEP
from clew.registry.context import Context
from clew.registry.operation import Bounded, ContextBounded, Input, Name, StrictModel, Whole


class TargetRef(StrictModel):
    id: Name
    kind: Literal["plan", "task"] | None = None


Target = Annotated[
    str | TargetRef | None,
    Field(description="PLAN-001 or TASK-001, or {id, kind}; default: the workspace focus."),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an operation reads and writes: a branch and three documents."""

    branch: Branch
    notes: str = NOTES
    graph: str = GRAPH
    trace: str = TRACE
    target: str | None = None
    kind: str | None = None


def target_id(target: str | TargetRef | None, field: str = "target") -> str | None:
    """The id of a target, with its form and its kind checked."""
    if target is None:
        return None
    given = target if isinstance(target, str) else target.id
    name, kind = given.strip(), None if isinstance(target, str) else target.kind
    found = "plan" if PLAN.fullmatch(name) else "task" if TASK.fullmatch(name) else None
    if found is None or (kind is not None and kind != found):
        message = f"{name[:60]!r} is not the id of a {kind or 'plan or task'}"
        recovery = "Use an id such as PLAN-001 or TASK-001."
        ways = [suggest("status", "Shows the state of the workspace.")]
        raise invalid(field, message, recovery, ways, kind="prefix", allowed=["PLAN-", "TASK-"])
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
    """The targeting rule. A target has its own branch and documents, so neither may be given with it.

    `doc_field` is the caller's argument name of its document, if it has only one.
    """
    docs = {"notes_doc": notes, "graph_doc": graph, "trace_doc": trace}
    overrides = {branch_field: branch, **{doc_field or field: name for field, name in docs.items() if name is not None}}
    explicit = [field for field, value in overrides.items() if value is not None]
    wanted = target_id(target)
    if wanted is not None and explicit:
        problem = "exclude each other: a target brings its own branch and documents"
        raise keep_one("target", _as_sent(ctx, explicit[0]), problem)
    # A named branch or document is meant as such, even while a task is in focus.
    if wanted is None and not explicit:
        wanted = ctx.ws.focus
    if wanted is not None:
        return scope_of(ctx, wanted)
    chosen = branch_named(ctx, branch, branch_field) if branch is not None else checked_out(ctx)
    defaults = {"notes_doc": NOTES, "graph_doc": GRAPH, "trace_doc": TRACE}
    named = {field: check_name(name, doc_field or field) for field, name in docs.items() if name is not None}
    return Scope(chosen, *(defaults | named).values())


_OWNED = "SELECT * FROM reasoning_ref WHERE workspace = ? AND id = ?"


def create_scope(ctx: Context, target: str, kind: str) -> None:
    """Create the branch and documents of a new plan or task."""
    branch = create_branch(ctx, _free_name(ctx, f"{kind}/{target}"), None)
    own_scope(ctx, target, kind, branch, (NOTES, f"{target}-graph", f"{target}-trace"))


def own_scope(ctx: Context, target: str, kind: str, branch: Branch, docs: tuple[str, str, str]) -> None:
    """Record which branch and documents (notes, graph, trace) belong to a plan or task."""
    sql = (
        "INSERT INTO reasoning_ref (workspace, id, kind, branch, notes_doc, graph_doc, trace_doc)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    ctx.tx.run(sql, ctx.workspace, target, kind, branch.id, *docs)


def _free_name(ctx: Context, name: str) -> str:
    """A free branch name: an existing branch of that name must not prevent new work."""
    while find_branch(ctx, name) is not None:
        # The name is only for people; the work refers to its branch by number.
        name = f"{name}-own"
    return name


def forget_scope(ctx: Context, target: str) -> None:
    """Remove the scope of a deleted plan or task; its branch and documents can still be read by name."""
    ctx.tx.run("DELETE FROM reasoning_ref WHERE workspace = ? AND id = ?", ctx.workspace, target)
    ctx.memo.pop(("reasoning_ref", target), None)


def scope_damage(ctx: Context, target: str) -> Literal["no scope", "no branch"] | None:
    """What is missing from the scope of a plan or task; None if it is complete."""
    sql = (
        "SELECT branch.deleted_at_ms FROM reasoning_ref LEFT JOIN branch"
        " ON branch.workspace = reasoning_ref.workspace AND branch.id = reasoning_ref.branch"
        " WHERE reasoning_ref.workspace = ? AND reasoning_ref.id = ?"
    )
    row = ctx.tx.one(sql, ctx.workspace, target)
    if row is None:
        return "no scope"
    return "no branch" if row["deleted_at_ms"] is not None else None


def scope_of(ctx: Context, target: str) -> Scope:
    """The scope of a plan or task."""
    key = ("reasoning_ref", target)
    row = ctx.memo.get(key) or ctx.tx.one(_OWNED, ctx.workspace, target)
    # Only `forget_scope` changes this row, and it drops the memo.
    ctx.memo[key] = row
    if row is None:
        ways = [suggest("tasks_macro_start", "Starts a task.", "medium", task_title="New task")]
        raise unknown_id("target", target, "Copy the id from a snapshot, or start a task.", ways)
    branch = branch_by_id(ctx, row["branch"])
    return Scope(branch, row["notes_doc"], row["graph_doc"], row["trace_doc"], row["id"], row["kind"])


def scope_holding(ctx: Context, branch: Branch, graph: str) -> Scope:
    """The scope that a graph document belongs to: that of a plan or task, else that of the branch."""
    sql = "SELECT id FROM reasoning_ref WHERE workspace = ? AND branch = ? AND graph_doc = ?"
    owner = ctx.tx.value(sql, ctx.workspace, branch.id, graph)
    return Scope(branch, graph=graph) if owner is None else scope_of(ctx, str(owner))


_SAME = {"ref": "branch", "branch": "ref"}


def _as_sent(ctx: Context, field: str) -> str:
    """An argument by the name that the caller used; a branch has two names in operations."""
    other = _SAME.get(field, field)
    return other if field not in ctx.remarks.sent and other in ctx.remarks.sent else field


def keep_one(first: str, second: str, problem: str, ways: Sequence[Suggestion] = ()) -> ClewError:
    """The error for two arguments that exclude each other."""
    options = [{"keep": first, "drop": second}, {"keep": second, "drop": first}]
    hint = {"kind": "choose_one", "fields": [first, second], "options": options}
    return ClewError("INVALID_INPUT", f"{first} and {second} {problem}", f"Keep {first} or {second}.", [hint], ways)


def located(ctx: Context, scope: Scope, *docs: str, step: StepFocus | None = None) -> Json:
    """The source of a response: the workspace, the branch, documents of the scope, and the step."""
    named = {f"{doc}_doc": getattr(scope, doc) for doc in docs}
    focus = {"step_focus": step.to_json()} if step else {}
    return {"workspace": ctx.workspace, "branch": scope.branch.name, **named, **focus}


def scope_json(scope: Scope) -> Json:
    return {"branch": scope.branch.name, "notes_doc": scope.notes, "graph_doc": scope.graph, "trace_doc": scope.trace}


StepInput = Annotated[
    Name | None, Field(description="Step of the task: focus (its first open step), STEP-... or a path such as s:0.")
]
FOCUS = "focus"


@dataclass(frozen=True, slots=True)
class StepFocus:
    task_id: str
    step_id: str
    path: str

    @property
    def tag(self) -> str:
        return STEP + self.step_id.lower()

    def to_json(self) -> dict[str, str]:
        return as_json(self)

    def concerns(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry belongs to this step: a note by its meta, an event by its path."""
        if entry["kind"] == "event":
            path = entry.get("path") or ""
            # With the dot: `s:1.s:0` is below `s:1`, but `s:10` is not.
            return entry.get("task_id") == self.task_id and (path == self.path or path.startswith(f"{self.path}."))
        meta = entry.get("meta") or {}
        named = meta.get("step")
        return (named.get("step_id") if isinstance(named, Mapping) else meta.get("step_id")) == self.step_id


def resolve_step(ctx: Context, scope: Scope, step: str | None) -> StepFocus | None:
    """The named step; None if none was named."""
    if step is None:
        return None
    task = _task(scope)
    wanted = step.strip()
    if wanted.lower() == FOCUS:
        found = _step(ctx, task, None)
        if found is None:
            recovery = "Name a step by its id or path, or leave step out."
            raise invalid("step", f"{task} has no open step to focus on", recovery, [_look(task)], kind="state")
        return found
    if STEP_ID.fullmatch(wanted.upper()):
        wanted = wanted.upper()
    elif not STEP_PATH.fullmatch(wanted):
        message = f"{shorten(wanted, 60)!r} is neither focus, a step id nor a path"
        recovery, expected = "Use focus, STEP-00000001 or s:0.", "focus, STEP-... or s:0"
        raise invalid("step", message, recovery, [_look(task)], expected=expected)
    found = _step(ctx, task, wanted)
    if found is None:
        raise unknown_id(f"step of {task}", wanted, "Use focus, or copy the step from the task.", [_look(task)])
    return found


step_finder: HookPoint[Callable[[Context, str, str | None], StepFocus | None]] = HookPoint("step_finder")
"""Finds a step by task and id or path; None means the first open step. The package `tasks` provides it."""


def _step(ctx: Context, task: str, named: str | None) -> StepFocus | None:
    return next((found for find in step_finder.all() if (found := find(ctx, task, named)) is not None), None)


def _task(scope: Scope) -> str:
    if scope.target is None or scope.kind != "task":
        about = f"{scope.target} is a {scope.kind}" if scope.target else "no task is in scope"
        raise ClewError(
            "INVALID_INPUT",
            f"step: {about}; a step belongs to a task",
            "Give a task as target, or set the focus to one; leave branch and documents out.",
            [{"kind": "missing_required", "field": "target"}],
            [suggest("tasks_macro_start", "Starts a task and focuses it.", "medium", task_title="New task")],
        )
    return scope.target


def _look(task: str) -> Json:
    return suggest("think_context", "Shows what was thought about the task.", "medium", target=task)


BranchInput = Annotated[Name | None, Field(description="Branch; not beside target. Default: focus, else checkout.")]
GraphDoc = Annotated[Name | None, Field(description="Graph document; not beside target.")]
TraceDoc = Annotated[Name | None, Field(description="Trace document; not beside target.")]
NotesDoc = Annotated[Name | None, Field(description="Notes document; not beside target.")]
AgentInput = Annotated[Name | None, Field(description="Who writes or asks; recorded, never a filter.")]
View = Literal["smart", "explore", "audit"]
REF = {"branch": "ref"}


class RefPlace(Input):
    """A graph document, found by target or by branch."""

    synonyms: ClassVar[dict[str, str]] = REF
    target: Target = None
    ref: BranchInput = None
    graph_doc: GraphDoc = None


class BoundedPlace(RefPlace, Bounded):
    pass


class ReadPlace(RefPlace, ContextBounded):
    """A graph document read through a lens."""

    step: StepInput = None
    agent_id: AgentInput = None
    all_lanes: Annotated[bool, Field(description="Show drafts too.")] = False
    include_drafts: Annotated[bool, Field(description="Same as all_lanes.")] = False
    as_of: Annotated[Whole | None, Field(description="Show what stood after this seq; default: now.")] = None

    @property
    def drafts(self) -> bool:
        return self.all_lanes or self.include_drafts or getattr(self, "view", None) == "audit"


class ViewPlace(ReadPlace):
    view: Annotated[
        View | None, Field(description="smart: open cards; explore: of any status; audit: smart with drafts.")
    ] = None

    @property
    def lens(self) -> str:
        """The requested view; a caller who gives a budget gets the smart one, which shows less."""
        return self.view or ("smart" if self.context_budget is not None else "explore")


def place(ctx: Context, args: Any) -> Scope:
    """The scope that an input of this module names."""
    return resolve_scope(
        ctx,
        args.target,
        args.ref,
        graph=args.graph_doc,
        trace=getattr(args, "trace_doc", None),
        notes=getattr(args, "notes_doc", None),
        branch_field="ref",
    )


def place_and_step(ctx: Context, args: Any) -> tuple[Scope, StepFocus | None]:
    scope = place(ctx, args)
    return scope, resolve_step(ctx, scope, args.step)
