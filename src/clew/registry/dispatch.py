"""From a name and raw arguments to an answer: the one path that every face takes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from clew.canonical import Json, canonical, digest
from clew.clock import Clock, system_clock
from clew.errors import ClewError, Suggestion, suggest
from clew.ids import check_agent, check_workspace
from clew.registry import budget_fit
from clew.registry import envelope as line_protocol
from clew.registry.arguments import check_inner, check_raw, complete_refusal, parse
from clew.registry.budget import size
from clew.registry.callers import AUTO, client_author, stored_agent
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection, InputRequired
from clew.registry.context import Context, Progress, Remarks
from clew.registry.envelope import Answer, failure, outline, success
from clew.registry.import_offer import offered, waiting_store
from clew.registry.lookup import find_completer, find_operation, find_prompt, find_resource
from clew.registry.operation import AgentForm, Input, Operation
from clew.registry.permission import own_workspace, permitted
from clew.registry.repeats import once, once_in_parts, repeated
from clew.registry.suggestions import fitted, leads_to, next_page, with_room
from clew.registry.toolsets import TOOLSETS, tier_of
from clew.settings import MIND_MEM, Settings
from clew.store.database import Database
from clew.store.requests import StoredRequest, check_request_id

log = logging.getLogger("clew.dispatch")

CALLS_ANOTHER = "op_call"
"""Hands its request id on to the operation that it calls."""

STANDING = "status"
"""Says how things stand in the workspace, also what waits to be imported."""

LONGEST_BEGINNING = 1_000
"""Nothing that is offered for completion begins with more than this."""


class ResourceText(NamedTuple):
    uri: str
    mime_type: str
    text: str


class PromptText(NamedTuple):
    description: str
    messages: list[tuple[str, str]]


@dataclass
class Call:
    """One call on its way through the dispatcher."""

    name: str
    connection: Connection
    workspace: str
    explicit_workspace: bool
    fmt: str | None
    progress: Progress | None
    remarks: Remarks
    request: StoredRequest | None = None


class Dispatcher:
    def __init__(self, settings: Settings, database: Database, clock: Clock = system_clock) -> None:
        self.settings = settings
        self.database = database
        self.clock = clock
        self._made_agent: str | None = None
        self._settled = False

    def call(
        self, name: str, arguments: dict[str, Any] | None, connection: Connection, progress: Progress | None = None
    ) -> Answer:
        """Run an operation. Never raises for anything a caller can send or a store can do."""
        # Made before anything can fail, so that a refusal of any step has a call to speak of.
        call = Call(name, connection, self.settings.workspace, False, None, progress, Remarks())
        operation: Operation | None = None
        try:
            operation = find_operation(name)
            call.name = operation.name
            # Before the workspace is chosen: settling may give this directory another one than its name suggests.
            self.settle()
            raw = self._unwrap(call, operation, check_raw(arguments))
            # Kept as the caller sent it: the suggestion of a next page or a larger budget repeats these arguments.
            call.remarks.call = (operation.name, raw)
            args = parse(operation, raw)
            result = self._run(call, operation, args)
            return _passed_on(call, result) if isinstance(result, Answer) else self._answer(call, operation, result)
        except ClewError as error:
            return self._refusal(call, operation, error)
        # Not an error: the operation asks the client's model something first, and is called again with the answer.
        except InputRequired as needed:
            return Answer(True, success(call.name, {}, [], [], self.clock()), input_required=needed)
        except Exception as defect:
            log.exception("operation %s failed", call.name)
            return self._refusal(call, operation, _defect(operation, defect))

    def invoke(self, ctx: Context, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run another operation inside the transaction of this one, under the same checks."""
        operation = find_operation(name)
        # It would commit in the middle of the outer transaction, and a refusal afterwards could not undo that.
        if operation.mode == "own":
            raise ClewError("INVALID_INPUT", f"{name} opens transactions of its own and cannot run inside another")
        args = parse(operation, {"workspace": ctx.workspace, **check_raw(arguments)})
        return self._shaped(operation.function(ctx, args))

    def read_resource(self, uri: str, connection: Connection) -> ResourceText:
        found, values = find_resource(check_inner(uri, "uri"))
        check_inner(values, "uri")  # an escape such as %00 shows only now
        unbound = self._context(connection)
        if found.own:
            # `own` resources open their transactions themselves, because they also bring files and store together.
            text = found.function(unbound, **values)
        else:
            with unbound.reading() as ctx:
                text = found.function(ctx, **values)
        return ResourceText(uri, found.mime_type, _without_secrets(text))

    def get_prompt(self, name: str, arguments: dict[str, str], connection: Connection) -> PromptText:
        found = find_prompt(check_inner(name, "name"))
        check_inner(arguments, "arguments")
        missing = [item.name for item in found.arguments if item.required and not arguments.get(item.name)]
        if missing:
            raise ClewError("INVALID_INPUT", f"prompt {name} needs {', '.join(missing)}")
        with self._context(connection).reading() as ctx:
            text = found.function(ctx, arguments)
        return PromptText(found.summary, [("user", _without_secrets(text))])

    def complete(self, ref_kind: str, ref: str, argument: str, value: str, connection: Connection) -> list[str]:
        check_inner([ref, argument, value], "argument")
        completer = find_completer(ref_kind, ref, argument)
        if completer is None or len(value) > LONGEST_BEGINNING:
            return []
        with self._context(connection).reading() as ctx:
            return completer(ctx, value)[:100]

    def settle(self) -> None:
        """Before its first calls: a workspace named after this directory may be another project's already."""
        if not self._settled:
            self.settings, self._settled = own_workspace(self.settings, self.database)

    def _context(self, connection: Connection) -> Context:
        self.settle()
        workspace = connection.workspace_override or self.settings.workspace
        return Context(self, connection, workspace, self._agent(connection, None))

    def _unwrap(self, call: Call, operation: Operation, raw: dict[str, Any]) -> dict[str, Any]:
        """Take out what belongs to every call: the workspace, the format and the id of the request."""
        raw = {**_toolset_defaults(operation, call, raw), **raw}
        request_id = raw.pop("request_id", None)
        if request_id is not None and operation.name == CALLS_ANOTHER and isinstance(raw.get("arguments"), dict):
            # The id belongs to the call that is meant; op_call only passes it on.
            raw["arguments"] = {**raw["arguments"], "request_id": request_id}
            request_id = None
        if "fmt" not in operation.input.model_fields:
            call.fmt = _format(raw.pop("fmt", None))
        elif isinstance(raw.get("fmt"), str):
            call.fmt = _format(raw["fmt"])
        given = raw.get("workspace")
        if given == "" and operation.input.blank_is_nothing:
            given = raw.pop("workspace") or None
        # Left in place: validation then refuses it in the same words as any other argument of a wrong type.
        if given is not None and not isinstance(given, str):
            return raw  # the model says what is wrong
        call.explicit_workspace = given is not None
        call.workspace = self._workspace(call.connection, given, operation)
        if request_id is not None and operation.writes:
            # Without the request id itself, which was taken out above: only what is asked for tells two calls apart.
            told = digest(canonical(raw))
            call.request = StoredRequest(call.workspace, check_request_id(request_id), operation.name, told)
        return raw

    def _workspace(self, connection: Connection, given: str | None, operation: Operation) -> str:
        default = connection.workspace_override or self.settings.workspace
        chosen = check_workspace(given) if given is not None else default
        return permitted(self.settings, chosen)

    def _agent(self, connection: Connection, given: str | None, writes: bool = False) -> str | None:
        """Who calls: by the id it gives, by the server's settings, else by its client's name for itself."""
        chosen = given or connection.agent_id or self.settings.agent_id
        if chosen == AUTO:
            self._made_agent = self._made_agent or stored_agent(self.database, self.clock)
            return self._made_agent
        return check_agent(chosen) if chosen else client_author(self.database, connection, writes)

    def _run(self, call: Call, operation: Operation, args: Input) -> dict[str, Any] | Answer:
        agent = self._agent(call.connection, getattr(args, "agent_id", None), operation.writes)
        ctx = Context(self, call.connection, call.workspace, agent, call.progress, call.remarks)
        if operation.mode == "own":
            result = once_in_parts(ctx, call.request, lambda: operation.function(ctx, args))
        elif operation.mode == "write":
            result = self._write(ctx, call, operation, args)
        else:
            with ctx.reading() as bound:
                result = operation.function(bound, args)
        # Only here, after the commit: what they wake or start must find what this call has written.
        for action in call.remarks.after:
            action()
        if isinstance(result, ClewError):
            raise result  # refused, and what was said stays: a run that failed is news, not bad input
        if isinstance(result, Answer):
            return result  # another operation's answer, passed on
        return self._bounded(call, operation, args, self._shaped(result))

    def _write(self, ctx: Context, call: Call, operation: Operation, args: Input) -> Any:
        # Most calls of such an operation find nothing to do, and a read finds that out without the lock of writers.
        if operation.idle is not None:
            with ctx.reading() as bound:
                early = repeated(bound, call.request) or operation.idle(bound, args)
            if early is not None:
                return early
        with ctx.writing() as bound:
            return once(bound, call.request, lambda: operation.function(bound, args))

    def _shaped(self, result: Any) -> dict[str, Any]:
        if not isinstance(result, dict):
            raise TypeError(f"an operation returned {type(result).__name__}, not an object")
        return result

    def _bounded(self, call: Call, operation: Operation, args: Input, result: dict[str, Any]) -> dict[str, Any]:
        budget = operation.budget
        if budget is None:
            self._suggest_the_rest(call, operation, result, None)
            return result
        # Two names of one limit. Where both are given, the smaller one is meant to hold.
        asked = [getattr(args, name, None) for name in ("max_chars", "context_budget")]
        given = [limit for limit in asked if limit is not None]
        shown, fitted = budget_fit.bounded(result, budget, given, budget.default_for(call.connection.toolset))
        if fitted is not None:
            call.remarks.warnings.extend(budget_fit.budget_warnings(fitted))
        for action in call.remarks.shown:
            action(shown, _in_lines(operation, call))
        self._suggest_the_rest(call, operation, shown, result if fitted and fitted.truncated else None)
        return shown

    def _suggest_the_rest(self, call: Call, operation: Operation, shown: Json, whole: Json | None) -> None:
        """An answer that leaves something out says how to get it. `whole` is what a budget has cut, if it did."""
        if call.remarks.call is None:
            return
        own = {name: value for name, value in call.remarks.call[1].items() if name != "workspace"}
        larger = _larger(operation, own, whole) if whole is not None else None
        if larger is not None:
            # The operation may have said so itself, and knows better than this general rule.
            ways = [way["params"] for way in call.remarks.suggestions if way.get("target") == operation.name]
            # First: what was asked for comes before what else could be done.
            call.remarks.suggestions[:0] = [] if any("max_chars" in params for params in ways) else [larger]
        elif not call.remarks.suggestions:
            again = _again(operation, own)
            after = next_page(shown, operation.input, own) if again is not None else None
            if again is not None and after is not None:
                call.remarks.suggestions.append(suggest(operation.name, leads_to(after), "medium", **(again | after)))

    def _answer(self, call: Call, operation: Operation, result: dict[str, Any]) -> Answer:
        if call.remarks.empty or operation.name == STANDING:
            self._offer_import(call, call.remarks.suggestions)
        suggestions = self._suggestions(call, call.remarks.suggestions)
        envelope = success(operation.intent, result, call.remarks.warnings, suggestions, call.remarks.state_ms)
        return self._finished(call, operation, envelope)

    def _refusal(self, call: Call, operation: Operation | None, error: ClewError) -> Answer:
        complete_refusal(operation, error)
        ways = list(error.suggestions) or _default_ways(error, operation)
        if error.code == "UNKNOWN_ID" or (call.remarks.empty and error.code == "INVALID_INPUT"):
            self._offer_import(call, ways)
        suggestions = self._suggestions(call, ways)
        # An error leaves no state behind, so its time is that of the call.
        envelope = failure(error, call.remarks.warnings, suggestions, self.clock())
        return self._finished(call, operation, envelope)

    def _offer_import(self, call: Call, ways: list[Suggestion]) -> None:
        """Before all other ways: what is missed here may lie in the store of the program that was here before."""
        # What was done is done: a store that cannot be read right now only means that nothing is offered.
        with suppress(ClewError):
            store = waiting_store(self.settings, self.database, call.connection.toolset)
            if store is not None:
                told, way = offered(self.settings, store)
                call.remarks.warnings.append(told)
                ways.insert(0, way)

    def _suggestions(self, call: Call, suggestions: list[Suggestion]) -> list[Suggestion]:
        placed = [_in_workspace(item, call) for item in suggestions]
        return fitted(placed, catalogue(), call.connection.toolset)

    def _finished(self, call: Call, operation: Operation | None, envelope: dict[str, Any]) -> Answer:
        from clew.secrets import redact  # its patterns take a while to compile, and a start answers nothing

        # One text is measured, searched for secrets and sent; it is written anew only when the envelope changes.
        text = canonical(envelope)
        if len(text) > budget_fit.UNDECLARED and operation is not None and not (operation.budget or operation.whole):
            result, told = budget_fit.cut(envelope["result"])
            envelope = {**envelope, "result": result, "warnings": [*envelope["warnings"], told]}
            text = canonical(envelope)
        shown = redact(envelope, text)
        if shown is not envelope:
            text = canonical(shown)
        answer = Answer(shown["success"], shown, text, structured=shown, resources=call.remarks.resources)
        in_lines = operation is not None and _in_lines(operation, call)
        if operation is not None and operation.bare is not None and call.fmt is None and not in_lines:
            bare = bare_text(operation.bare, shown)
            if shown["success"] and line_protocol.is_cut(shown["result"]):
                # What a bare answer has no place for must not be lost with it.
                bare = {**shown["result"], **{name: shown[name] for name in ("warnings", "suggestions")}}
            bare = self._with_notice(call, bare)
            answer.text = canonical(bare)
            answer.structured = _structured(bare, call.connection.toolset)
        elif operation is not None and in_lines:
            answer.lines = self._lines(call, operation, shown)
            answer.text = "\n".join(answer.lines)
            answer.structured = None
        return answer

    def _with_notice(self, call: Call, bare: Any) -> Any:
        """The first answer that has room for it says that memory is not where a client of Mind-Mem expects it."""
        notice = self.settings.no_workspace if call.connection.toolset == MIND_MEM else ""
        if not notice or not isinstance(bare, dict) or call.connection.noticed:
            return bare
        call.connection.noticed = True
        return {**bare, "warnings": [*bare.get("warnings", []), notice]}

    def _lines(self, call: Call, operation: Operation, envelope: dict[str, Any]) -> list[str]:
        default = call.connection.workspace_override or self.settings.workspace
        if not envelope["success"]:
            return line_protocol.error_lines(envelope["error"], envelope["suggestions"], default)
        warnings = line_protocol.warning_lines(envelope["warnings"], line_protocol.rest_of(envelope, default))
        if operation.raw_text:
            return [envelope["result"].get("text", ""), *warnings]
        form = _agent_form(operation, call)
        lines = form.lines if form is not None else operation.lines
        if lines is None and call.connection.toolset == "agent":
            told = outline(envelope["result"]) or [f"ok {operation.intent}"]
            ways = [f"next: {line_protocol.suggestion_line(way, default)}" for way in envelope["suggestions"][:2]]
            return told + line_protocol.warning_lines(envelope["warnings"]) + ways
        rendered = _rendered(lines, envelope["result"], default) if lines is not None else []
        told = [line for line in rendered if line] or line_protocol.generic_lines(operation.intent)
        return told + warnings


def _larger(operation: Operation, own: Json, whole: Json) -> Suggestion | None:
    """The call that shows the whole of what a budget has cut; None where only acting again would show it."""
    budget = operation.budget
    if budget is None or budget.rest is not None:
        return budget.rest(whole) if budget is not None and budget.rest is not None else None
    again = _again(operation, own)
    if "max_chars" not in operation.input.model_fields or again is None:
        return None
    return with_room(operation.name, size(whole), again)


def _again(operation: Operation, own: Json) -> Json | None:
    """The arguments with which a call shows more and does nothing twice; None where it would act again."""
    if not operation.writes:
        return own
    once = operation.budget.once if operation.budget is not None else ()
    if not operation.idempotent and not once:
        return None
    kept = {name: value for name, value in own.items() if name not in once}
    # A view that moves the focus has moved it; to see the rest it need not write again.
    return kept | ({"read_only": True} if "read_only" in operation.input.model_fields else {})


def _rendered(lines: Callable[[dict[str, Any], str], list[str]], result: dict[str, Any], default: str) -> list[str]:
    """The lines of a result; its outline where a budget took away a field that they speak of."""
    try:
        return lines(result, default)
    except KeyError:
        if line_protocol.is_cut(result):
            return outline(result)
        raise


def _passed_on(call: Call, answer: Answer) -> Answer:
    """Another operation's answer, as it gave it; the envelope when this call asks for that."""
    if call.fmt != "json" or answer.input_required is not None:
        return answer
    return Answer(answer.ok, answer.envelope, canonical(answer.envelope), answer.envelope, resources=answer.resources)


def _agent_form(operation: Operation, call: Call) -> AgentForm | None:
    return operation.agent if call.connection.toolset == "agent" else None


def _toolset_defaults(operation: Operation, call: Call, raw: dict[str, Any]) -> dict[str, Any]:
    """The toolset's defaults for what the caller did not give under any of its names."""
    form = _agent_form(operation, call)
    defaults = form.defaults if form is not None else TOOLSETS[call.connection.toolset].defaults.get(operation.name)
    if not defaults:
        return {}
    given = {operation.input.synonyms.get(name, name) for name in raw}
    return {name: value for name, value in defaults.items() if name not in given}


def _in_lines(operation: Operation, call: Call) -> bool:
    if call.fmt is not None:
        return call.fmt == "lines"
    if _agent_form(operation, call) is not None:
        return True
    if operation.raw_text or operation.portal is True:
        return True
    return bool(operation.portal) and tier_of(call.connection.toolset) in (operation.portal or ())


def _without_secrets(text: str) -> str:
    from clew.secrets import redact_text

    return redact_text(text)


def _structured(bare: Any, toolset: str) -> dict[str, Any] | None:
    """The same JSON as structured content, which must be an object: an array stands under `result`, if at all."""
    if isinstance(bare, list) and TOOLSETS[toolset].wraps_arrays:
        return {"result": bare}
    return bare if isinstance(bare, dict) else None


def bare_text(pick: Callable[[dict[str, Any]], Any], envelope: dict[str, Any]) -> Any:
    """What a client that expects no envelope gets: the picked JSON, or an object with `error`."""
    if envelope["success"]:
        return pick(envelope["result"])
    error = envelope["error"]
    told = {key: error[key] for key in ("code", "recovery") if key in error}
    if "recovery" in told:
        told["recovery"] = told["recovery"].replace("details.example", "example")  # details are spread out here
    return {**error.get("details", {}), "error": error["message"], **told}


def _defect(operation: Operation | None, defect: Exception) -> ClewError:
    """One transaction is undone; an operation of several may have committed some of them."""
    several = operation is not None and operation.writes and operation.mode == "own"
    state = "look at what is there before you repeat the call" if several else "nothing was written"
    said = f"{type(defect).__name__}: {defect}".encode(errors="replace").decode()
    return ClewError("INTERNAL", said, f"Report this; {state}.")


def _format(value: Any) -> str | None:
    if value in (None, "json", "lines"):
        return value if isinstance(value, str) else None
    raise ClewError(
        "INVALID_INPUT",
        "fmt: expected one of 'json', 'lines'",
        hints=[{"kind": "choice", "field": "fmt", "expected": "'json' or 'lines'"}],
    )


def _in_workspace(suggestion: Suggestion, call: Call) -> Suggestion:
    """A suggestion of a call that named its workspace names it too."""
    if not call.explicit_workspace or suggestion["action"] != "call_tool" or "workspace" in suggestion["params"]:
        return suggestion
    entry = catalogue().find(suggestion["target"])
    if entry is None or "workspace" not in entry.input_schema.get("properties", {}):
        return suggestion
    return {**suggestion, "params": {**suggestion["params"], "workspace": call.workspace}}


def _default_ways(error: ClewError, operation: Operation | None) -> list[Suggestion]:
    """Every mistake of a caller has a way out: an agent that is refused without one tends to repeat the same call.

    While the store fails, or belongs to another project, no operation helps; what does stands in the recovery.
    """
    if error.code.startswith("STORE_") or error.code == "PROJECT_GUARD_MISMATCH":
        return []
    if operation is None:
        return [suggest("op_search", "Finds operations by words.", "high", query="help")]
    schema = {"query": operation.name, "detail": "schema"}
    return [suggest("op_search", "Shows the arguments of this operation.", "medium", **schema)]
