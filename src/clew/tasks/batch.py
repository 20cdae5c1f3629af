"""Several operations in one call: all or nothing, or one after the other."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest
from clew.ids import check_agent
from clew.registry.context import Context
from clew.registry.lookup import find_operation
from clew.registry.operation import Input, Name, StrictModel, operation

# The operations that BranchMind's contract allows in a batch.
_NAMES = (
    "block close_step complete contract create decompose define delete done edit evidence_capture note patch plan"
    " progress task_add task_define task_delete verify"
)
ALLOWED = frozenset(f"tasks_{name}" for name in _NAMES.split())
_SHORT = ("id", "task", "plan", "revision", "step", "steps", "node")


class BatchOperation(StrictModel):
    tool: Name | None = None
    name: Annotated[Name | None, Field(description="Same as tool.")] = None
    args: Json | None = None
    arguments: Annotated[Json | None, Field(description="Same as args.")] = None


class Batch(Input):
    operations: Annotated[list[BatchOperation], Field(min_length=1, max_length=100)]
    atomic: Annotated[bool, Field(description="All or nothing; else the batch ends at the first failure.")] = False
    compact: Annotated[bool, Field(description="Short results.")] = False
    agent_id: Name | None = None


@operation(
    "tasks_batch",
    mode="own",
    writes=True,
    example={"operations": [{"tool": "tasks_create", "args": {"title": "Importer"}}]},
)
def tasks_batch(ctx: Context, args: Batch) -> Json:
    """Run several task operations: in one transaction, or each in its own until one fails."""
    calls = [_call(ctx, item, number) for number, item in enumerate(args.operations)]
    answers = _together(ctx, calls) if args.atomic else _one_by_one(ctx, calls)
    shown = [_short(answer) for answer in answers] if args.compact else answers
    return {
        "workspace": ctx.workspace,
        "atomic": args.atomic,
        "compact": args.compact,
        "operations": [
            {"index": number, "tool": name, "response": {"success": True, "result": answer}}
            for number, ((name, _), answer) in enumerate(zip(calls, shown, strict=True))
        ],
    }


Call = tuple[str, Json]


def _call(ctx: Context, item: BatchOperation, number: int) -> Call:
    """The operation's canonical name and its arguments, validated before anything runs."""
    named = item.tool or item.name
    for one, other in ((item.tool, item.name), (item.args, item.arguments)):
        if one is not None and other is not None and one != other:
            raise invalid(f"operations[{number}]", "its two names of one thing differ", "Give tool and args only.")
    if named is None:
        raise invalid(f"operations[{number}].tool", "is required", "Name an operation.", kind="missing_required")
    name = find_operation(named).name
    if name not in ALLOWED:
        recovery = f"Use one of {', '.join(sorted(ALLOWED))}."
        raise invalid(f"operations[{number}].tool", f"{name} cannot be part of a batch", recovery)
    arguments = dict(item.args or item.arguments or {})
    if arguments.get("workspace", ctx.workspace) != ctx.workspace:
        raise invalid(f"operations[{number}].args.workspace", "a batch stays in one workspace", "Leave workspace out.")
    return name, arguments


def _together(ctx: Context, calls: list[Call]) -> list[Json]:
    with ctx.writing() as bound:
        answers: list[Json] = []
        for number, call in enumerate(calls):
            try:
                answers.append(_run(bound, call))
            except ClewError as error:
                # Warnings of operations that are rolled back would refer to records that do not exist.
                bound.remarks.warnings.clear()
                raise _failure(calls, number, error, "Nothing was written.") from error
        return answers


def _one_by_one(ctx: Context, calls: list[Call]) -> list[Json]:
    answers: list[Json] = []
    for number, call in enumerate(calls):
        try:
            with ctx.writing() as bound:
                answers.append(_run(bound, call))
        except ClewError as error:
            raise _failure(calls, number, error, f"{number} before it are written.") from error
    return answers


def _run(ctx: Context, call: Call) -> Json:
    name, arguments = call
    return ctx.dispatcher.invoke(_acting(ctx, arguments.get("agent_id")), name, arguments)


def _acting(ctx: Context, agent: Any) -> Context:
    """The same transaction with the agent that the operation gives as author, else the caller."""
    ctx.ws.agent = check_agent(agent) if isinstance(agent, str) and agent else ctx.agent
    return Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.ws.agent, None, ctx.remarks, ctx.ws)


def _short(answer: Json) -> Json:
    return {name: answer[name] for name in _SHORT if name in answer}


def _failure(calls: list[Call], number: int, error: ClewError, state: str) -> ClewError:
    name = calls[number][0]
    return ClewError(
        "BATCH_FAILED",
        f"operations[{number}] {name}: {error.code} {error.message}",
        f"{state} Mend operation {number} and send {'the batch' if number == 0 else 'what is left'} again.",
        error.hints,
        error.suggestions or [suggest("op_search", "Shows its arguments.", "medium", query=name, detail="schema")],
        {"failed_index": number, "tool": name, "error": error.to_dict(), "completed": number},
    )
