"""From a short tool list to every operation: search by words, then read or call by name."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from clew.errors import ClewError, suggest
from clew.index.terms import terms
from clew.registry.budget import Budget, Follow, Trim
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.context import Context
from clew.registry.envelope import Answer, command
from clew.registry.operation import AgentForm, Bounded, Input, Name, View, operation

_NEXT = Follow("next_offset", lambda whole, result: _following(result["offset"] + len(result["operations"]), result))
SEARCH_BUDGET = Budget(
    (
        Trim("operations", drop="last", floor=1, count="count", follow=_NEXT),
        Trim("operations", drop="last", count="count", follow=_NEXT),
    ),
    16_000,
    keep=("query",),
)


class OpSearch(Bounded):
    names_workspace = False
    synonyms: ClassVar[dict[str, str]] = dict.fromkeys(("q", "text", "search", "words", "name", "wish"), "query")

    query: Annotated[Name, Field(description="Words, or the name of an operation.")]
    limit: Annotated[int, Field(ge=1, le=50, description="Most operations to return.")] = 8
    offset: Annotated[int, Field(ge=0, le=10_000, description="Operations to pass over.")] = 0
    detail: Annotated[
        Literal["names", "summary", "schema"], Field(description="schema adds arguments and an example.")
    ] = "summary"


def search_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    """A line for each operation; for an exact name, its arguments and an example too."""
    found = result["operations"]
    if not found:
        return ["no operation fits; try other words"]
    if len(found) == 1 and "arguments" in found[0]:
        return _schema_lines(found[0])
    lines = [": ".join(filter(None, (item["name"], item.get("summary")))) for item in found]
    left = result["total"] - result["next_offset"] if result.get("next_offset") else 0
    on = {"query": result["query"], "offset": result.get("next_offset")}
    more = [f"and {left} more: {command('op_search', on)}"] if left else []
    return [*lines, *more, "op_search with a name shows its arguments"]


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
    example={"query": "merge branches"},
    view=View(agent=AgentForm(("query",), search_lines)),
)
def op_search(ctx: Context, args: OpSearch) -> dict[str, Any]:
    """Find operations by words; returns names, summaries or full schemas.

    Everything Clew can do is an operation. The tool list shows only the daily ones; the others are found here and run
    with op_read or op_call.
    """
    found = search(args.query)
    shown = found[args.offset : args.offset + args.limit]
    named = catalogue().find(args.query.strip()) is not None
    detail = "schema" if named and args.detail == "summary" else args.detail
    return {
        "query": args.query,
        "operations": [described(entry, detail) for entry in shown],
        "count": len(shown),
        "offset": args.offset,
        "total": len(found),
        "next_offset": _following(args.offset + len(shown), {"total": len(found)}),
        "truncated": args.offset + len(shown) < len(found),
    }


def _following(after: int, result: dict[str, Any]) -> int | None:
    return after if after < result["total"] else None


def search(query: str) -> list[OperationEntry]:
    """Operations by how well they match the query; an exact name returns only that one, no words return all of them."""
    exact = catalogue().find(query.strip())
    if exact is not None:
        return [exact]
    if not terms(query):
        return list(catalogue().operations)
    from clew.registry.wish_ranking import ranked  # loads a model, which startup does not need

    return [entry for name in ranked(query) if (entry := catalogue().find(name)) is not None]


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


_CALL_NAMES = {
    **dict.fromkeys(("operation", "op", "tool", "method", "tool_name"), "name"),
    **dict.fromkeys(("args", "params", "parameters", "input"), "arguments"),
}


def _refused_only(result: dict[str, Any], default_workspace: str) -> list[str]:
    return []  # the result belongs to the other operation; only its own refusals are shown


_DOOR = View(agent=AgentForm(("name", "arguments"), _refused_only))


class Forwarded(Input):
    """A name and its arguments, also where these stand beside the name."""

    names_workspace = False

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, given: Any) -> Any:
        inner = given.get("arguments", {}) if isinstance(given, dict) else None
        if isinstance(inner, str) and not inner.lstrip().startswith("{"):
            return _with_only_argument(given, inner)
        if not isinstance(inner, dict):
            return given
        beside = {name: value for name, value in given.items() if name not in cls.model_fields and name not in inner}
        rest = {name: value for name, value in given.items() if name not in beside}
        return {**rest, "arguments": {**beside, **inner}} if beside and "name" in given else given


def _with_only_argument(given: dict[str, Any], value: str) -> Any:
    """Wrap a bare value as the argument of an operation that needs exactly one."""
    name = next((given[name] for name in ("name", *_CALL_NAMES) if isinstance(given.get(name), str)), "")
    entry = catalogue().find(name)
    required = entry.input_schema.get("required", []) if entry is not None else []
    return {**given, "arguments": {required[0]: value}} if len(required) == 1 else given


class OpRead(Forwarded):
    synonyms: ClassVar[dict[str, str]] = _CALL_NAMES

    name: Annotated[Name, Field(description="Operation to run; it must be read-only.")]
    arguments: Annotated[dict[str, Any], Field(description="Its arguments.")] = {}


class OpCall(Forwarded):
    synonyms: ClassVar[dict[str, str]] = _CALL_NAMES
    # Masked when the target operation is called, which then reports it.
    exact = ("arguments",)

    name: Annotated[Name, Field(description="Operation to run.")]
    arguments: Annotated[dict[str, Any], Field(description="Its arguments.")] = {}


@operation("op_read", mode="own", example={"name": "branch_list"}, view=_DOOR)
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


@operation("op_call", writes=True, mode="own", destructive=True, example={"name": "branch_list"}, view=_DOOR)
def op_call(ctx: Context, args: OpCall) -> Answer:
    """Run any operation by name, writing ones included."""
    return _forward(ctx, args)


def _forward(ctx: Context, args: OpRead | OpCall) -> Answer:
    """The response is the operation's own, as if it had been called directly."""
    if args.name in {"op_read", "op_call"}:
        raise ClewError(
            "INVALID_INPUT",
            f"{args.name} cannot run itself",
            "Name the operation to run.",
            [{"kind": "value", "field": "name"}],
        )
    # A workspace next to the name applies to the operation, unless its own arguments name another.
    outer = {} if args.workspace is None else {"workspace": args.workspace}
    # A client whose listed tools answer in text gets text from the others too.
    form = {"fmt": "lines"} if ctx.connection.toolset == "agent" else {}
    return ctx.dispatcher.call(args.name, {**form, **outer, **args.arguments}, ctx.connection, ctx.progress)
