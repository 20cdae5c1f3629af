"""The way from a short tool list to every operation: find by words, then read or call by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.index.terms import terms
from clew.registry.budget import Budget, Trim
from clew.registry.catalogue import Entry, catalogue
from clew.registry.context import Context
from clew.registry.envelope import Answer
from clew.registry.operation import Bounded, Input, Name, operation

SEARCH_BUDGET = Budget(
    (Trim("operations", drop="last", floor=1, count="count"), Trim("operations", drop="last", count="count")),
    16_000,
    keep=("query",),
)


class OpSearch(Bounded):
    query: Annotated[Name, Field(description="Words, or the name of an operation.")]
    limit: Annotated[int, Field(ge=1, le=50, description="Most operations to return.")] = 8
    detail: Annotated[
        Literal["names", "summary", "schema"], Field(description="schema adds arguments and an example.")
    ] = "summary"


@operation(
    "op_search", tier="daily", mode="own", budget=SEARCH_BUDGET, workspace=False, example={"query": "merge branches"}
)
def op_search(ctx: Context, args: OpSearch) -> dict[str, Any]:
    """Find operations by words; returns names, summaries or full schemas.

    Everything Clew can do is an operation. The tool list shows only the daily ones; the others are found here and run
    with op_read or op_call.
    """
    found = search(args.query)
    shown = found[: args.limit]
    return {
        "query": args.query,
        "operations": [described(entry, args.detail) for entry in shown],
        "count": len(shown),
        "total": len(found),
        "truncated": len(found) > len(shown),
    }


def search(query: str) -> list[Entry]:
    """Operations by how well name, summary and description answer the words; all of them without words."""
    exact = catalogue().find(query.strip())
    wanted = set(terms(query))
    if not wanted:
        return list(catalogue().operations)
    scored = [(_score(entry, wanted), entry) for entry in catalogue().operations if entry is not exact]
    ranked = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].name))
    return ([exact] if exact else []) + [entry for _, entry in ranked]


def _score(entry: Entry, wanted: set[str]) -> float:
    fields = (
        (entry.name.replace("_", " ") + " " + entry.name, 3.0),
        (entry.summary, 1.5),
        (entry.description + " " + " ".join(entry.input_schema.get("properties", {})), 0.5),
    )
    return sum(weight * len(wanted & set(terms(text))) for text, weight in fields)


def described(entry: Entry, detail: str) -> dict[str, Any]:
    if detail == "names":
        return {"name": entry.name}
    short = {"name": entry.name, "summary": entry.summary, "read_only": entry.read_only}
    if detail == "summary":
        return short
    return {
        **short,
        "description": entry.description,
        "destructive": entry.destructive,
        "arguments": entry.input_schema,
        "example": entry.example,
    }


class OpRead(Input):
    name: Annotated[Name, Field(description="Operation to run; it must be read-only.")]
    arguments: Annotated[dict[str, Any], Field(description="Its arguments.")] = {}


class OpCall(Input):
    name: Annotated[Name, Field(description="Operation to run.")]
    arguments: Annotated[dict[str, Any], Field(description="Its arguments.")] = {}


@operation("op_read", tier="daily", mode="own", workspace=False, example={"name": "branch_list"})
def op_read(ctx: Context, args: OpRead) -> Answer:
    """Run any read-only operation by name."""
    entry = catalogue().find(args.name)
    if entry is not None and not entry.read_only:
        raise ClewError(
            "NOT_ALLOWED",
            f"{entry.name} writes; op_read runs read-only operations",
            "Use op_call.",
            suggestions=[suggest("op_call", "Runs it.", "high", name=entry.name, arguments=args.arguments)],
        )
    return _forward(ctx, args)


@operation(
    "op_call", tier="daily", writes=True, mode="own", destructive=True, workspace=False, example={"name": "branch_list"}
)
def op_call(ctx: Context, args: OpCall) -> Answer:
    """Run any operation by name, writing ones included."""
    return _forward(ctx, args)


def _forward(ctx: Context, args: OpRead | OpCall) -> Answer:
    """The answer is the operation's own, as if it had been called directly."""
    if args.name in {"op_read", "op_call"}:
        raise ClewError(
            "INVALID_INPUT",
            f"{args.name} cannot run itself",
            "Name the operation to run.",
            [{"kind": "value", "field": "name"}],
        )
    # A workspace beside the name is meant for the operation, unless its own arguments name another.
    outer = {} if args.workspace is None else {"workspace": args.workspace}
    return ctx.dispatcher.call(args.name, {**outer, **args.arguments}, ctx.session, ctx.progress)
