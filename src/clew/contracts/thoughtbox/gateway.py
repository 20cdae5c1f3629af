"""thoughtbox_gateway: one tool in front of every operation of the ledger, as Thoughtbox's clients call it.

It routes by name over the registry, so an operation of the ledger can be called as soon as it is declared: under its
own name, or under an alias with a dot (`session.list`), which may also be written as group and sub-operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

import orjson
from pydantic import ConfigDict, Field

from clew.canonical import Json, canonical, without_none
from clew.errors import ClewError, Suggestion, shorten, suggest
from clew.ledger.inputs import LedgerInput
from clew.ledger.stages import GATEWAY, check_stage, peek_place
from clew.registry.arguments import nearest
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.context import Context
from clew.registry.envelope import Answer, failure, refusal_form
from clew.registry.operation import operation
from clew.registry.suggestions import fitted

WHERE = suggest(GATEWAY, "Shows where you are and what comes next.", "high", operation="get_state")
SERVED = ("clew.ledger.", "clew.contracts.thoughtbox.")
"""Modules whose operations the gateway exposes."""
SUB_NAMES = ("subOperation", "operation", "action")

# Clew's error codes in the closed list of the seed; other codes become INVALID_PAYLOAD, see `seed_error`.
CODES = {
    "INVALID_INPUT": "INVALID_PAYLOAD",
    "UNKNOWN_TOOL": "INVALID_OPERATION",
    "INTERNAL": "INTERNAL_ERROR",
    "IO_ERROR": "STORAGE_ERROR",
    "NOT_FOUND": "STORAGE_ERROR",
}
SEED_CODES = frozenset(
    {
        "SESSION_NOT_FOUND", "THOUGHT_NOT_FOUND", "INVALID_OPERATION", "STAGE_REQUIREMENT_NOT_MET", "INTERNAL_ERROR",
        "INVALID_PAYLOAD", "STORAGE_ERROR", "SAMPLING_NOT_SUPPORTED",
    }
)  # fmt: skip


OPERATIONS = (
    "get_state", "list_sessions", "navigate", "load_context", "start_new", "list_roots", "bind_root", "cipher",
    "thought", "read_thoughts", "get_structure", "deep_analysis", "session", "notebook", "mental_models", "knowledge",
    "session_outline", "import_thoughtbox", "export_thoughtbox",
)  # fmt: skip
"""The names shown in the schema; a response recommends calls only by one of these, because some clients
refuse others. Every operation of the ledger is also accepted under its own name, and as `session.list`."""


class Gateway(LedgerInput):
    """Its own arguments are loose: what they hold is checked by the operation they lead to."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"required": ["operation"]})

    operation: Annotated[
        Any,
        Field(
            json_schema_extra={"type": "string", "enum": list(OPERATIONS)},
            description="What to do; session, notebook, mental_models and knowledge need a subOperation.",
        ),
    ] = None
    sub_operation: Annotated[
        Any,
        Field(json_schema_extra={"type": "string"}, description="For these four: `session.list` is session with list."),
    ] = None
    args: Annotated[
        Any, Field(json_schema_extra={"type": "object"}, description="Arguments; they may also stand beside operation.")
    ] = None


@dataclass(frozen=True)
class Route:
    wire: str
    entry: OperationEntry
    arguments: Json

    @property
    def session(self) -> str | None:
        given = self.arguments.get("sessionId", self.arguments.get("session_id"))
        return given if isinstance(given, str) else None


@operation(GATEWAY, writes=True, mode="own", example={"operation": "get_state"})
def thoughtbox_gateway(ctx: Context, args: Gateway) -> Answer:
    """Think in numbered, linked thoughts: start or load a session, then cipher, then thought.

    {operation: "start_new", cipher: true} begins; {operation: "thought", thought, nextThoughtNeeded} records a step.
    Also session (list, get, search, resume, export, analyze, extract_learnings), notebook, mental_models, knowledge.
    """
    try:
        route = routed(args)
    except ClewError as error:
        return _refusal(ctx, _early(ctx, args) or error, group=args.operation)
    elsewhere = route.arguments.get("workspace")
    if isinstance(elsewhere, str) and elsewhere != ctx.workspace:
        # The workspace is named inside the arguments: the stage must be checked in that workspace.
        again = {"workspace": elsewhere, "operation": route.wire, "args": {**route.arguments, "workspace": None}}
        return ctx.dispatcher.call(GATEWAY, again, ctx.connection, ctx.progress)
    try:
        check_stage(ctx, wire_name(route.entry), peek_place(ctx, route.session), route.session)
    except ClewError as error:
        return _refusal(ctx, error, route)
    given = {"workspace": ctx.workspace, **_arguments(route)} if args.workspace else _arguments(route)
    answer = ctx.dispatcher.call(route.entry.name, given, ctx.connection, ctx.progress)
    # A request to the client's model belongs to the protocol and passes unchanged.
    return answer if answer.input_required is not None else _translated(ctx.connection.toolset, answer, route)


def _early(ctx: Context, args: Gateway) -> ClewError | None:
    """The refusal of a group that is called too early: its stage is checked before its sub-operation."""
    if not isinstance(args.operation, str) or args.operation not in groups():
        return None
    given = {**(args.model_extra or {}), **(args.args if isinstance(args.args, dict) else {})}
    session = given["sessionId"] if isinstance(given.get("sessionId"), str) else None
    try:
        check_stage(ctx, args.operation, peek_place(ctx, session), session)
    except ClewError as error:
        return error
    return None


def _refusal(ctx: Context, error: ClewError, route: Route | None = None, group: Any = None) -> Answer:
    if route is None and isinstance(group, str):
        error.details = {**_failure_mark(group), **error.details}
    return _translated(
        ctx.connection.toolset, Answer(False, failure(error, [], list(error.suggestions), ctx.clock())), route
    )


def routed(args: Gateway) -> Route:
    """The intended operation and its arguments, whether they are given flat or nested."""
    arguments = {**(args.model_extra or {}), **_object(args.args, "args")}
    wire = args.operation if isinstance(args.operation, str) else ""
    if wire in groups():
        sub = args.sub_operation or next((arguments.pop(name) for name in SUB_NAMES if name in arguments), None)
        wire = f"{wire}.{sub if isinstance(sub, str) else ''}"
    if "args" in arguments:
        # Some clients nest twice: {args: {subOperation, args: {...}}}.
        arguments |= _object(arguments.pop("args"), "args.args")
    if not arguments.get("workspace", True):
        del arguments["workspace"]  # an empty value would hide the workspace of this call
    return Route(wire, _entry(wire), arguments)


def _object(value: Any, field: str) -> Json:
    """Convert the value to an object. Some clients send the JSON text of one, or an empty value in another form."""
    if value in ("", []):
        return {}
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            pass
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ClewError(
            "INVALID_PAYLOAD",
            f"{field}: expected an object",
            "Put the operation's arguments into an object, or beside operation.",
            [{"kind": "type", "field": field, "expected": "object"}],
            [WHERE],
        )
    return value


def served() -> list[OperationEntry]:
    return [entry for entry in catalogue().operations if _is_served(entry)]


def _is_served(entry: OperationEntry) -> bool:
    return entry.name != GATEWAY and entry.module.startswith(SERVED)


@cache
def groups() -> frozenset[str]:
    return frozenset(alias.partition(".")[0] for entry in served() for alias in entry.aliases if "." in alias)


def wire_name(entry: OperationEntry) -> str:
    return next((alias for alias in entry.aliases if "." in alias), entry.name)


def gateway_call(entry: OperationEntry, arguments: Json) -> Json:
    """A call of the operation by the names in the schema."""
    name, _, sub = wire_name(entry).partition(".")
    return {"operation": name, **without_none(subOperation=sub or None), **without_none(args=arguments or None)}


def _entry(wire: str) -> OperationEntry:
    entry = catalogue().find(wire) if wire else None
    # Exact names only: the catalogue drops unknown prefixes and would turn `session.thought` into `thought`.
    if entry is not None and _is_served(entry) and wire in (entry.name, *entry.aliases):
        return entry
    raise _no_operation(wire)


def _no_operation(wire: str) -> ClewError:
    head, dot, sub = wire.partition(".")
    names = [wire_name(entry) for entry in served()]
    if dot and head in groups():
        known = sorted(name.partition(".")[2] for name in names if name.startswith(f"{head}."))
        message = f"{head} has no operation {shorten(sub, 80)!r}" if sub else f"{head} needs a subOperation"
        near = nearest(sub, known)
        advice = f"Set subOperation to one of: {', '.join(known)}."
    else:
        known = sorted({name.partition(".")[0] for name in names})
        message = f"no operation {shorten(wire, 80)!r}" if wire else "operation: is required"
        near = nearest(wire, known)
        advice = f"Set operation to one of: {', '.join(known)}."
    more = f" Did you mean {near}?" if near else ""
    return ClewError(
        "INVALID_OPERATION",
        message,
        advice + more,
        [{"kind": "choice", "field": "subOperation" if dot else "operation", "allowed": known}],
        [WHERE],
        {"availableOperations": known},
    )


def _arguments(route: Route) -> Json:
    """The given arguments. Stateless clients send a sessionId with every call; it is passed if the schema has it."""
    arguments = without_none(**route.arguments)
    if "sessionId" in route.entry.input_schema.get("properties", {}):
        return arguments
    return {name: value for name, value in arguments.items() if name not in {"sessionId", "session_id"}}


@refusal_form(GATEWAY)
def own_refusal(answer: Answer, arguments: Any, toolset: str) -> Answer:
    """A refusal from before the call was routed, such as for a character that cannot be stored."""
    error = answer.envelope["error"]
    group = arguments.get("operation") if isinstance(arguments, dict) else None
    if isinstance(group, str):
        error["details"] = {**_failure_mark(group), **error.get("details", {})}
    return _translated(toolset, answer)


def _translated(toolset: str, answer: Answer, route: Route | None = None) -> Answer:
    """Convert the response to the seed's form: its error codes, suggestions through the gateway, text or JSON."""
    suggestions = fitted(list(_through_gateway(answer.envelope["suggestions"])), catalogue(), toolset)
    envelope = {**answer.envelope, "suggestions": suggestions}
    if not answer.ok:
        envelope["error"] = seed_error(envelope["error"])
        return _in_json(envelope, _error_object(envelope, route))
    if isinstance(envelope["result"].get("text"), str):
        warnings = [f"Warning: {text}" for text in _warnings(envelope)]
        text = "\n".join([envelope["result"]["text"], *warnings])
        return Answer(True, envelope, text, resources=answer.resources)
    return replace(_in_json(envelope, _result_object(envelope)), resources=answer.resources)


def _in_json(envelope: Json, shown: Json) -> Answer:
    return Answer(envelope["success"], envelope, canonical(shown), shown)


def seed_error(error: Json) -> Json:
    code = error["code"]
    if code in SEED_CODES:
        return error
    translated = CODES.get(code) or ("STORAGE_ERROR" if code.startswith("STORE_") else "INVALID_PAYLOAD")
    return {**error, "code": translated, "details": {**error.get("details", {}), "code": code}}


def _error_object(envelope: Json, route: Route | None) -> Json:
    """The error and a correct call, as the text of the response, because many clients show nothing else."""
    error = envelope["error"]
    details = {name: value for name, value in error.get("details", {}).items() if name != "example"}
    # `message` is the seed's name, `error` the original's.
    shown = {"error": error["message"], "message": error["message"], "code": error["code"]}
    shown |= {"suggestion": error.get("recovery")}
    if route is not None:
        details = {**_failure_mark(wire_name(route.entry)), **details}
    if route is not None and "example" in error.get("details", {}):
        details |= _expected(route, error)
        shown["suggestion"] = _local_advice(error.get("recovery"))
        repaired = _corrected_call(envelope["suggestions"], route)
        if repaired is not None:
            details["example"] = repaired
            shown["suggestion"] = "Send the call in example: it is this one, mended."
    return {**details, **without_none(**shown)} | {"code": error["code"]}


def _corrected_call(suggestions: list[Suggestion], route: Route) -> Json | None:
    """The refused call with its error fixed, if the registry could fix it."""
    first: Json = next((item["params"] for item in suggestions if item["action"] == "call_tool"), {})
    called = {name: first[name] for name in ("operation", "subOperation") if name in first}
    return dict(first) if called == gateway_call(route.entry, {}) else None


def _failure_mark(wire: str) -> Json:
    """The field by which the clients of each group detect a failure."""
    group = wire.partition(".")[0]
    if group in ("session", "notebook"):
        return {"success": False}
    return {"status": "failed"} if group == "thought" else {}


def _expected(route: Route, error: Json) -> Json:
    """The arguments of the operation, and a well-formed example call through the gateway."""
    schema = route.entry.input_schema
    # Some are required by the function and not by the schema, so that the refusal can list the choices.
    asked = [hint["field"] for hint in error.get("hints", []) if hint["kind"] == "missing_required"]
    required = list(dict.fromkeys([*schema.get("required", []), *asked]))
    known = [name for name in schema.get("properties", {}) if name not in ("workspace", *required)]
    choices = {name: field["enum"] for name, field in schema.get("properties", {}).items() if "enum" in field}
    return {
        "required": required,
        "optional": known,
        "received": sorted(route.arguments),
        **without_none(choices=choices or None),
        "example": gateway_call(route.entry, route.entry.example),
    }


def _local_advice(recovery: str | None) -> str | None:
    """The advice, reworded if it refers to a part of the envelope that this text does not show."""
    if recovery is None or "details.example" in recovery:
        return "Compare the call with example; required and optional name its arguments."
    return recovery


def _warnings(envelope: Json) -> list[str]:
    return [f"{item['message']} {item['recovery']}" for item in envelope["warnings"]]


def _result_object(envelope: Json) -> Json:
    result = envelope["result"]
    if not result.get("budget", {}).get("truncated"):
        result = {name: value for name, value in result.items() if name != "budget"}
    warnings = _warnings(envelope)
    return {**result, **without_none(warnings=warnings or None), **_next_call(envelope)}


def _next_call(envelope: Json) -> Json:
    """The call for the next page or a larger budget, if something was left out."""
    result = envelope["result"]
    places = [place for place in (result, result.get("pagination"), result.get("budget")) if isinstance(place, dict)]
    if not any(place.get(name) for place in places for name in ("has_more", "hasMore", "truncated")):
        return {}
    way = next((item for item in envelope["suggestions"] if item.get("target") == GATEWAY), None)
    return {"nextCall": way["params"]} if way is not None else {}


def _through_gateway(suggestions: Iterable[Suggestion]) -> Iterable[Suggestion]:
    for item in suggestions:
        entry = catalogue().find(item.get("target", "")) if item["action"] == "call_tool" else None
        if entry is None:
            continue  # it would enlarge the tool list, but the gateway reaches every operation anyway
        if not _is_served(entry):
            yield item
            continue
        params = dict(item["params"])
        routed = gateway_call(entry, {k: v for k, v in params.items() if k != "workspace"})
        if "workspace" in params:
            routed["workspace"] = params["workspace"]
        yield {**item, "target": GATEWAY, "params": routed}
