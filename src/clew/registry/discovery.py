"""The way from a short tool list to every operation: find by words, then read or call by name."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.index.terms import terms
from clew.registry.budget import Budget, Trim
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.context import Context
from clew.registry.envelope import Answer
from clew.registry.everyday import EVERYDAY_WORDS, FILLERS
from clew.registry.lines import command
from clew.registry.operation import AgentForm, Bounded, Input, Name, operation

SEARCH_BUDGET = Budget(
    (Trim("operations", drop="last", floor=1, count="count"), Trim("operations", drop="last", count="count")),
    16_000,
    keep=("query",),
)


_FILLERS = frozenset(terms(FILLERS))


class OpSearch(Bounded):
    query: Annotated[Name, Field(description="Words, or the name of an operation.")]
    limit: Annotated[int, Field(ge=1, le=50, description="Most operations to return.")] = 8
    detail: Annotated[
        Literal["names", "summary", "schema"], Field(description="schema adds arguments and an example.")
    ] = "summary"


def search_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    """A line for each operation; of one that was named, its arguments and an example too."""
    found = result["operations"]
    if not found:
        return ["no operation fits; try other words"]
    if len(found) == 1 and "arguments" in found[0]:
        return _schema_lines(found[0])
    left = result["total"] - len(found)
    lines = [": ".join(filter(None, (item["name"], item.get("summary")))) for item in found]
    return [*lines, *([f"and {left} more"] if left else []), "op_search with a name shows its arguments"]


def _schema_lines(item: dict[str, Any]) -> list[str]:
    schema = item["arguments"]
    required = set(schema.get("required", ()))
    arguments = [
        f"  {name}{'' if name in required else '?'}: {_type(part)}{' - ' if part.get('description') else ''}"
        f"{part.get('description', '')}"
        for name, part in schema.get("properties", {}).items()
        if name not in ("workspace", "max_chars")
    ]
    door = "op_read" if item["read_only"] else "op_call"
    example = command(door, {"name": item["name"], "arguments": item["example"] or {}})
    return [f"{item['name']}: {item['summary']}", *arguments, f"example: {example}"]


def _type(part: dict[str, Any]) -> str:
    if "enum" in part:
        return "|".join(str(choice) for choice in part["enum"])
    kinds = part.get("anyOf") or part.get("oneOf")
    if kinds:
        return "|".join(dict.fromkeys(_type(kind) for kind in kinds if kind.get("type") != "null"))
    return str(part.get("type") or "any")


@operation(
    "op_search",
    mode="own",
    budget=SEARCH_BUDGET,
    workspace=False,
    example={"query": "merge branches"},
    agent=AgentForm(("query",), search_lines),
)
def op_search(ctx: Context, args: OpSearch) -> dict[str, Any]:
    """Find operations by words; returns names, summaries or full schemas.

    Everything Clew can do is an operation. The tool list shows only the daily ones; the others are found here and run
    with op_read or op_call.
    """
    found = search(args.query)
    shown = found[: args.limit]
    named = catalogue().find(args.query.strip()) is not None
    detail = "schema" if named and args.detail == "summary" else args.detail
    return {
        "query": args.query,
        "operations": [described(entry, detail) for entry in shown],
        "count": len(shown),
        "total": len(found),
        "truncated": len(found) > len(shown),
    }


def search(query: str) -> list[OperationEntry]:
    """Operations by how well they answer the words; an exact name answers alone, no words give all of them."""
    exact = catalogue().find(query.strip())
    if exact is not None:
        return [exact]
    asked = set(terms(query))
    if not asked:
        return list(catalogue().operations)
    index = _index()
    wanted = asked - _FILLERS or asked
    scored = [(sum(fields.get(term, 0.0) for term in wanted), entry) for entry, fields in index]
    ranked = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].name))
    return [entry for _, entry in ranked]


@cache
def _index() -> list[tuple[OperationEntry, dict[str, float]]]:
    """Each operation with the weight of each of its terms: where it stands, and how few operations have it."""
    placed = [(entry, _placed(entry)) for entry in catalogue().operations]
    spread = Counter(term for _, fields in placed for term in fields)
    rare = {term: math.log(1 + len(placed) / count) for term, count in spread.items()}
    return [(entry, {term: weight * rare[term] for term, weight in fields.items()}) for entry, fields in placed]


def _placed(entry: OperationEntry) -> dict[str, float]:
    """The best place of each term: the name says most, then the words people use, then the summary."""
    arguments = " ".join(entry.input_schema.get("properties", {}))
    places = (
        (f"{entry.description} {arguments}", 0.4),
        (entry.summary, 1.5),
        (EVERYDAY_WORDS.get(entry.name, ""), 2.5),
        (f"{entry.name.replace('_', ' ')} {entry.name}", 3.0),
    )
    return {term: weight for text, weight in places for term in terms(text)}


def described(entry: OperationEntry, detail: str) -> dict[str, Any]:
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


@operation("op_read", mode="own", workspace=False, example={"name": "branch_list"})
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


@operation("op_call", writes=True, mode="own", destructive=True, workspace=False, example={"name": "branch_list"})
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
    return ctx.dispatcher.call(args.name, {**outer, **args.arguments}, ctx.connection, ctx.progress)
