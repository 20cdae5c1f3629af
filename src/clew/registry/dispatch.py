"""From a name and raw arguments to a response: the one path that every transport uses."""

from __future__ import annotations

import logging
from contextlib import nullcontext, suppress
from time import monotonic
from typing import Any, NamedTuple

from clew.canonical import Json, canonical, digest
from clew.clock import Clock, system_clock
from clew.errors import ClewError, Suggestion, suggest
from clew.ids import check_agent, check_workspace
from clew.registry import budget_fit, repair
from clew.registry.accounts import account
from clew.registry.arguments import (
    SELECTING,
    check_inner,
    check_raw,
    complete_refusal,
    parse,
    under_own_names,
    without_secrets,
)
from clew.registry.budget import size
from clew.registry.call import Call
from clew.registry.callers import AUTO, client_author, stored_agent
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection, InputRequired
from clew.registry.context import Context, Progress, Remarks
from clew.registry.envelope import Answer, command, failure, import_offer, intent_of, refusal_form, success
from clew.registry.lookup import find_completer, find_operation, find_prompt, find_resource
from clew.registry.operation import Input, Operation
from clew.registry.permission import check_scope, narrowed, own_workspace, permitted
from clew.registry.presentation import Presenter, agent_form, in_lines
from clew.registry.quiet import quiet
from clew.registry.quota import count_write
from clew.registry.repeats import once, once_in_parts, repeated
from clew.registry.suggestions import fitted, leads_to, next_page, with_room
from clew.registry.toolsets import toolset_named
from clew.settings import Settings
from clew.store.database import Database
from clew.store.requests import StoredRequest, check_request_id
from clew.surroundings import elsewhere

log = logging.getLogger("clew.dispatch")

CALLS_ANOTHER = "op_call"
"""Passes its request id to the operation that it calls."""

STATUS = "status"
"""Reports the status of the workspace, and what can be imported."""

LONGEST_BEGINNING = 1_000
"""Maximum length of a prefix to complete; no completion is longer."""


class ResourceText(NamedTuple):
    uri: str
    mime_type: str
    text: str


class PromptText(NamedTuple):
    description: str
    messages: list[tuple[str, str]]


class Dispatcher:
    keeps_store = True
    """Whether the store belongs to this process; else every call goes to a server that has it."""

    def __init__(self, settings: Settings, database: Database, clock: Clock = system_clock) -> None:
        self.settings = settings
        self.database = database
        self.clock = clock
        self._made_agent: str | None = None
        self._settled = False
        self._presenter = Presenter(settings, self._default_workspace)

    def call(
        self, name: str, arguments: dict[str, Any] | None, connection: Connection, progress: Progress | None = None
    ) -> Answer:
        """Run an operation. Never raises for any input of a caller or failure of a store."""
        began = monotonic()
        is_elsewhere = connection.place is not None or (connection.principal is not None and self.settings.public_url)
        with quiet.call(), elsewhere() if is_elsewhere else nullcontext():
            call, answer = self._call(name, arguments, connection, progress)
        account(call.name, call.workspace, call.agent, answer, monotonic() - began)
        return answer

    def _call(
        self, name: str, arguments: dict[str, Any] | None, connection: Connection, progress: Progress | None
    ) -> tuple[Call, Answer]:
        # Created before anything can fail, so that a refusal at any step has a call to refer to.
        call = Call(name, connection, self.settings.workspace, False, None, progress, Remarks())
        operation: Operation | None = None
        try:
            operation = find_operation(name)
            call.name = operation.name
            # Before the workspace is chosen: settling may give this directory another one than its name suggests.
            self.settle()
            if operation.name != CALLS_ANOTHER:  # which writes only if the operation that it calls does
                check_scope(connection, operation.writes)
                if operation.writes:
                    count_write(self.settings, self.database, self.clock, connection)
            call.workspace = self.settings_for(connection).workspace
            raw = self._unwrap(call, operation, self._public(call, operation, check_raw(arguments)))
            # Kept as the caller sent it: the suggestion of a next page or a larger budget repeats these arguments.
            call.remarks.call, call.remarks.sent = (operation.name, raw), raw
            args = parse(operation, raw)
            # From here on under the names that the tool list publishes, which suggestions must use.
            call.remarks.call = (operation.name, under_own_names(operation, raw))
            result = self._run(call, operation, args)
            if isinstance(result, Answer):
                return call, _passed_on(call, result)
            return call, self._answer(call, operation, result)
        except ClewError as error:
            return call, self._refused(call, operation, error, arguments)
        # Not an error: the operation first sends a request to the client's model, and is called again with the reply.
        except InputRequired as needed:
            envelope = success(call.name, {}, [], [], self.clock())
            return call, Answer(True, envelope, input_required=needed)
        except Exception as defect:
            log.exception("operation %s failed", call.name)
            return call, self._refusal(call, operation, _defect(operation, defect))

    def invoke(self, ctx: Context, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run another operation inside the transaction of this one, with the same checks."""
        operation = find_operation(name)
        # It would commit in the middle of the outer transaction, and a later refusal could not undo that.
        if operation.mode == "own":
            raise ClewError("INVALID_INPUT", f"{name} opens transactions of its own and cannot run inside another")
        public, _ = without_secrets(operation, check_raw(arguments))
        args = parse(operation, {"workspace": ctx.workspace, **public})
        return self._shaped(operation.function(ctx, args))

    def read_resource(self, uri: str, connection: Connection) -> ResourceText:
        found, values = find_resource(check_inner(uri, "uri"))
        check_inner(values, "uri")  # an escape such as %00 is only visible now
        unbound = self._context(connection)
        if found.own:
            # `own` resources open their transactions themselves, because they also synchronize files and store.
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
        """Before the first call: another project may already use a workspace with the name of this directory."""
        if not self._settled:
            self.settings, self._settled = own_workspace(self.settings, self.database)

    def settings_for(self, connection: Connection) -> Settings:
        """The server's settings, narrowed to the workspaces that the caller's token lists."""
        wanted = connection.principal.workspaces if connection.principal is not None else ()
        return narrowed(self.settings, wanted) if wanted else self.settings

    def _context(self, connection: Connection) -> Context:
        self.settle()
        check_scope(connection, writes=False)
        settings = self.settings_for(connection)
        workspace = permitted(settings, connection.workspace_override or settings.workspace)
        return Context(self, connection, workspace, self._agent(connection, None))

    def _public(self, call: Call, operation: Operation, raw: Json) -> Json:
        """The raw arguments, without secrets."""
        public, found = without_secrets(operation, raw)
        if operation.writes:
            call.remarks.note_masked(found)
        return public

    def _unwrap(self, call: Call, operation: Operation, raw: dict[str, Any]) -> dict[str, Any]:
        """Extract the arguments common to every call: the workspace, the format and the request id."""
        raw = {**_toolset_defaults(operation, call, raw), **raw}
        request_id = raw.pop("request_id", None)
        if request_id is not None and operation.name == CALLS_ANOTHER and isinstance(raw.get("arguments"), dict):
            # The id belongs to the target call; op_call only passes it on.
            raw["arguments"] = {**raw["arguments"], "request_id": request_id}
            request_id = None
        if "fmt" not in operation.input.model_fields:
            call.fmt = _format(raw.pop("fmt", None))
        elif isinstance(raw.get("fmt"), str):
            call.fmt = _format(raw["fmt"])
        given = raw.get("workspace")
        if given == "" and operation.input.blank_is_nothing:
            given = raw.pop("workspace") or None
        # Left in place: validation then refuses it with the same message as any other argument of a wrong type.
        if given is not None and not isinstance(given, str):
            return raw  # the model reports the error
        call.explicit_workspace = given is not None
        call.workspace = self._workspace(call.connection, given, operation)
        if request_id is not None and operation.writes:
            # Without the request id itself, which was removed above: only the arguments distinguish two calls.
            told = digest(canonical(raw))
            call.request = StoredRequest(call.workspace, check_request_id(request_id), operation.name, told)
        return raw

    def _workspace(self, connection: Connection, given: str | None, operation: Operation) -> str:
        settings = self.settings_for(connection)
        default = connection.workspace_override or settings.workspace
        chosen = check_workspace(given) if given is not None else default
        return permitted(settings, chosen)

    def _agent(self, connection: Connection, given: str | None, writes: bool = False) -> str | None:
        """The agent id: a person, else the id that is given, the one in the server's settings, or the client name."""
        if connection.person:
            return connection.person
        if connection.principal is not None and connection.principal.agent:
            return connection.principal.agent
        chosen = given or connection.agent_id or self.settings.agent_id
        if chosen == AUTO:
            self._made_agent = self._made_agent or stored_agent(self.database, self.clock)
            return self._made_agent
        return check_agent(chosen) if chosen else client_author(self.database, connection, writes)

    def _run(self, call: Call, operation: Operation, args: Input) -> dict[str, Any] | Answer:
        agent = self._agent(call.connection, getattr(args, "agent_id", None), operation.writes)
        call.agent = agent
        ctx = Context(self, call.connection, call.workspace, agent, call.progress, call.remarks)
        if operation.mode == "own":
            result = once_in_parts(ctx, call.request, lambda: operation.function(ctx, args))
        elif operation.mode == "write":
            result = self._write(ctx, call, operation, args)
        else:
            with ctx.reading() as bound:
                result = operation.function(bound, args)
        # Only here, after the commit: whatever they wake or start must find what this call has written.
        for action in call.remarks.after:
            action()
        if isinstance(result, ClewError):
            raise result  # refused, but its writes are kept: a run that failed is news, not bad input
        if isinstance(result, Answer):
            return result  # another operation's response, passed on
        return self._bounded(call, operation, args, self._shaped(result))

    def _write(self, ctx: Context, call: Call, operation: Operation, args: Input) -> Any:
        # Most calls of such an operation have nothing to do, and a read detects that without the write lock.
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
        # Two names of one limit. If both are given, the smaller one applies.
        asked = [getattr(args, name, None) for name in ("max_chars", "context_budget")]
        given = [limit for limit in asked if limit is not None]
        shown, fitted = budget_fit.bounded(result, budget, given, budget.default_for(call.connection.toolset))
        if fitted is not None:
            call.remarks.warnings.extend(budget_fit.budget_warnings(fitted))
        for action in call.remarks.shown:
            action(shown, in_lines(operation, call))
        self._suggest_the_rest(call, operation, shown, result if fitted and fitted.truncated else None)
        return shown

    def _suggest_the_rest(self, call: Call, operation: Operation, shown: Json, whole: Json | None) -> None:
        """Suggest how to get what a response leaves out. `whole` is the untruncated result, if one was truncated."""
        if call.remarks.call is None:
            return
        own = {name: value for name, value in call.remarks.call[1].items() if name != "workspace"}
        larger = _larger(operation, own, whole) if whole is not None else None
        if larger is not None:
            # The operation may have suggested it itself, with more knowledge than this general rule.
            ways = [way["params"] for way in call.remarks.suggestions if way.get("target") == operation.name]
            # First: the requested data comes before other suggestions.
            call.remarks.suggestions[:0] = [] if any("max_chars" in params for params in ways) else [larger]
        elif not call.remarks.suggestions:
            again = _again(operation, own)
            after = next_page(shown, operation.input, own) if again is not None else None
            if again is not None and after is not None:
                call.remarks.suggestions.append(suggest(operation.name, leads_to(after), "medium", **(again | after)))

    def _answer(self, call: Call, operation: Operation, result: dict[str, Any]) -> Answer:
        if call.remarks.empty or operation.name == STATUS:
            self._offer_import(call, call.remarks.suggestions)
        if operation.view.bare is None:
            call.remarks.warnings += call.connection.take_notes()
        suggestions = self._suggestions(call, call.remarks.suggestions)
        envelope = success(intent_of(operation.name), result, call.remarks.warnings, suggestions, call.remarks.state_ms)
        return self._presenter.present(call, operation, envelope)

    def _default_workspace(self, call: Call) -> str:
        return call.connection.workspace_override or self.settings_for(call.connection).workspace

    def _refused(self, call: Call, operation: Operation | None, error: ClewError, arguments: Any) -> Answer:
        """The refusal in the operation's own form, if it has one."""
        answer = self._refusal(call, operation, error, arguments)
        translate = refusal_form.find(call.name) if operation is not None else None
        return translate(answer, arguments, call.connection.toolset) if translate is not None else answer

    def _refusal(self, call: Call, operation: Operation | None, error: ClewError, arguments: Any = None) -> Answer:
        complete_refusal(operation, error)
        repaired = self._repaired(call, operation, error, arguments)
        # For the name of an unknown tool the intended one is all there is to report; the same for an id an agent meant.
        is_all = operation is None or (error.code == "UNKNOWN_ID" and call.connection.toolset == "agent")
        ways = [] if repaired and is_all else list(error.suggestions) or _default_ways(error, operation)
        ways = [_as_sent(way, call, operation, arguments) for way in (*repaired, *ways)]
        if error.code == "UNKNOWN_ID" or (call.remarks.empty and error.code == "INVALID_INPUT"):
            self._offer_import(call, ways)
        suggestions = self._suggestions(call, ways)
        # An error has no associated state, so its time is that of the call.
        envelope = failure(error, call.remarks.warnings, suggestions, self.clock())
        return self._presenter.present(call, operation, envelope)

    def _repaired(self, call: Call, operation: Operation | None, error: ClewError, arguments: Any) -> list[Suggestion]:
        """The intended call, before all other suggestions, if only a name or an id was spelled differently."""
        if call.connection.toolset not in ("agent", "full"):
            return []  # the responses of the other toolsets are those of their contracts
        if operation is None or (error.code == "INVALID_INPUT" and call.connection.toolset == "agent"):
            return _tool_meant(call, operation, error, arguments) or _without_fault(call, operation, error)
        if error.code != "UNKNOWN_ID" or error.unknown is None or call.remarks.call is None:
            return []
        # The call itself is complete: if the store cannot be read right now, no similar id is suggested.
        with suppress(ClewError):
            agent = self._agent(call.connection, None)
            ctx = Context(self, call.connection, call.workspace, agent)
            with ctx.reading() as bound:
                near = repair.near_ids(bound, error.unknown, of_work=error.message.startswith("unknown task"))
            found = repair.with_near_ids(error, near, *call.remarks.call)
            return found or self._ways_around(call, error.unknown)
        return []

    @staticmethod
    def _ways_around(call: Call, unknown: str) -> list[Suggestion]:
        """Suggestions for something that is not an id, for toolsets that list recall and resume."""
        if call.connection.toolset != "agent" or call.remarks.call is None:
            return []
        given = call.remarks.call[1]
        named = [one for value in given.values() for one in (value if isinstance(value, list) else [value])]
        return repair.other_ways(unknown) if unknown in named else []

    def _offer_import(self, call: Call, ways: list[Suggestion]) -> None:
        """Before all other suggestions: missing data may be in the store of the program that was used before."""
        # The call itself is complete: if the store cannot be read right now, nothing is offered.
        with suppress(ClewError):
            for find in import_offer.all():
                offer = find(self.settings, self.database, call.connection.toolset)
                if offer is not None:
                    call.remarks.warnings.append(offer.warning)
                    ways.insert(0, offer.way)

    def _suggestions(self, call: Call, suggestions: list[Suggestion]) -> list[Suggestion]:
        placed = [_in_workspace(item, call) for item in suggestions]
        return fitted(placed, catalogue(), call.connection.toolset)


def _tool_meant(call: Call, operation: Operation | None, error: ClewError, arguments: Any) -> list[Suggestion]:
    if operation is None and error.code != "UNKNOWN_TOOL":
        return []
    if operation is not None and not repair.is_other_name(operation.name):
        return []
    meant = repair.tool_meant(call.name, arguments)
    if meant is not None:
        whole = meant["reason"].startswith(f"{meant['target']} does this")
        as_listed = fitted([meant], catalogue(), call.connection.toolset)[-1]
        error.recovery = command(as_listed["target"], as_listed["params"]) if whole else meant["reason"]
    return [meant] if meant is not None else []


def _without_fault(call: Call, operation: Operation | None, error: ClewError) -> list[Suggestion]:
    """For a read: the same call without the invalid argument, if that is optional and selects nothing."""
    field = str(error.hints[0].get("field", "")) if error.hints else ""
    if operation is not None and operation.name == "open" and field == "id":
        return [suggest("resume", "Shows ids to open.", "high")]
    if operation is None or operation.writes or error.suggestions or call.remarks.call is None:
        return []
    given = call.remarks.call[1]
    if field not in given or not _can_be_left_out(operation, field):
        return []
    defaults = _toolset_defaults(operation, call, {})
    rest = {name: value for name, value in given.items() if name != field and defaults.get(name) != value}
    return [suggest(operation.name, f"The same call without {field}.", "high", **rest)]


def _can_be_left_out(operation: Operation, field: str) -> bool:
    known = operation.input.model_fields.get(field)
    return known is not None and not known.is_required() and field not in SELECTING


def _larger(operation: Operation, own: Json, whole: Json) -> Suggestion | None:
    """The call that shows the whole of a truncated result; None if only repeating the action would show it."""
    budget = operation.budget
    if budget is None or budget.rest is not None:
        return budget.rest(whole) if budget is not None and budget.rest is not None else None
    again = _again(operation, own)
    if "max_chars" not in operation.input.model_fields or again is None:
        return None
    return with_room(operation.name, size(whole), again)


def _again(operation: Operation, own: Json) -> Json | None:
    """The arguments that show more without repeating the action; None if it would be repeated."""
    if not operation.writes:
        return own
    once = operation.budget.once if operation.budget is not None else ()
    if not operation.idempotent and not once:
        return None
    kept = {name: value for name, value in own.items() if name not in once}
    # A view that moves the focus has moved it already; showing the rest need not write again.
    return kept | ({"read_only": True} if "read_only" in operation.input.model_fields else {})


def _passed_on(call: Call, answer: Answer) -> Answer:
    """Another operation's response, unchanged; the envelope if this call requests that."""
    if call.fmt != "json" or answer.input_required is not None:
        return answer
    return Answer(answer.ok, answer.envelope, canonical(answer.envelope), answer.envelope, resources=answer.resources)


def _as_sent(way: Suggestion, call: Call, operation: Operation | None, sent: Any) -> Suggestion:
    """The same operation without the toolset's defaults, which the caller did not write."""
    if operation is None or way.get("target") != operation.name:
        return way
    given = sent if isinstance(sent, dict) else {}
    defaults = {name: value for name, value in _toolset_defaults(operation, call, given).items() if name not in given}
    left = {name: value for name, value in way["params"].items() if name not in defaults or defaults[name] != value}
    return {**way, "params": left}


def _toolset_defaults(operation: Operation, call: Call, raw: dict[str, Any]) -> dict[str, Any]:
    """The toolset's defaults for arguments that the caller did not give under any of their names."""
    form = agent_form(operation, call)
    defaults = (
        form.defaults if form is not None else toolset_named(call.connection.toolset).defaults.get(operation.name)
    )
    if not defaults:
        return {}
    given = {operation.input.synonyms.get(name, name) for name in raw}
    return {name: value for name, value in defaults.items() if name not in given}


def _without_secrets(text: str) -> str:
    from clew.secrets import redact_text

    return redact_text(text)


def _defect(operation: Operation | None, defect: Exception) -> ClewError:
    """A single transaction is rolled back; an operation with several may have committed some of them."""
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
    """Add the workspace to a suggestion if the call named it."""
    if not call.explicit_workspace or suggestion["action"] != "call_tool" or "workspace" in suggestion["params"]:
        return suggestion
    entry = catalogue().find(suggestion["target"])
    if entry is None or "workspace" not in entry.input_schema.get("properties", {}):
        return suggestion
    return {**suggestion, "params": {**suggestion["params"], "workspace": call.workspace}}


def _default_ways(error: ClewError, operation: Operation | None) -> list[Suggestion]:
    """Suggestions for each caller error: an agent that is refused without one tends to repeat the same call.

    While the store fails, or belongs to another project, no operation helps; the recovery text explains what does.
    """
    if error.code.startswith("STORE_") or error.code == "PROJECT_GUARD_MISMATCH":
        return []
    if operation is None:
        return [suggest("op_search", "Finds operations by words.", "high", query="help")]
    schema = {"query": operation.name, "detail": "schema"}
    return [suggest("op_search", "Shows the arguments of this operation.", "medium", **schema)]
