"""Converts an envelope to the response a client gets: the envelope itself, the JSON of a contract, or lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clew.canonical import Json, canonical
from clew.contract import contract_of
from clew.errors import Suggestion
from clew.harmless import harmless
from clew.registry import budget_fit
from clew.registry.call import Call
from clew.registry.envelope import (
    Answer,
    error_lines,
    generic_lines,
    intent_of,
    is_cut,
    outline,
    rest_of,
    suggestion_line,
    warning_lines,
)
from clew.registry.operation import AgentForm, Operation
from clew.registry.toolsets import tier_of
from clew.settings import Settings


@dataclass(frozen=True)
class Presenter:
    """Renders a response of one server for the client of a call."""

    settings: Settings
    workspace_of: Callable[[Call], str]
    """The default workspace of calls."""

    def present(self, call: Call, operation: Operation | None, envelope: Json) -> Answer:
        shown, text = _redacted(_within_limit(operation, envelope))
        resources, written = call.remarks.resources, call.remarks.written
        answer = Answer(shown["success"], shown, text, structured=shown, resources=resources, written=written)
        if operation is None:
            if call.connection.toolset == "agent" and call.fmt != "json":
                self._show_lines(answer, self._error_lines(call, shown))
        elif in_lines(operation, call):
            self._show_lines(answer, self._lines(call, operation, shown))
        elif operation.view.bare is not None and call.fmt is None:
            bare = self._with_notice(call, _bare(operation.view.bare, shown))
            answer.text = canonical(bare)
            answer.structured = contract_of(call.connection.toolset).structured(bare)
        return answer

    def _show_lines(self, answer: Answer, lines: list[str]) -> None:
        answer.lines = lines
        answer.text = "\n".join(lines)
        answer.structured = None

    def _with_notice(self, call: Call, bare: Any) -> Any:
        """The first response that has room for it includes the notice for clients of the contract."""
        notice = self.settings.notice if call.connection.toolset == self.settings.toolset else ""
        if not notice or not isinstance(bare, dict) or call.connection.noticed:
            return bare
        call.connection.noticed = True
        return {**bare, "warnings": [*bare.get("warnings", []), notice]}

    def _error_lines(self, call: Call, envelope: Json) -> list[str]:
        error, default = envelope["error"], self.workspace_of(call)
        if call.connection.toolset == "agent":
            error = _with_own_call(error, envelope["suggestions"], default)
        return error_lines(error, envelope["suggestions"], default)

    def _lines(self, call: Call, operation: Operation, envelope: Json) -> list[str]:
        if not envelope["success"]:
            return self._error_lines(call, envelope)
        default = self.workspace_of(call)
        warnings = warning_lines(envelope["warnings"], rest_of(envelope, default))
        if operation.view.is_text:
            return [envelope["result"].get("text", ""), *warnings]
        form = agent_form(operation, call)
        lines = form.lines if form is not None else operation.view.lines
        if lines is None and call.connection.toolset == "agent":
            told = _shown(call, outline(envelope["result"])) or [f"ok {intent_of(operation.name)}"]
            ways = [f"next: {suggestion_line(way, default)}" for way in envelope["suggestions"][:2]]
            return told + warning_lines(envelope["warnings"]) + ways
        rendered = _rendered(lines, envelope["result"], default) if lines is not None else []
        told = _shown(call, [line for line in rendered if line]) or generic_lines(intent_of(operation.name))
        return told + warnings


def _with_own_call(error: Json, suggestions: list[Suggestion], default: str | None) -> Json:
    """Replace an example about something else with the caller's corrected call, if there is one."""
    if not suggestions or "details.example" not in (error.get("recovery") or ""):
        return error
    return {**error, "recovery": suggestion_line(suggestions[0], default)}


def agent_form(operation: Operation, call: Call) -> AgentForm | None:
    return operation.view.agent if call.connection.toolset == "agent" else None


def _within_limit(operation: Operation | None, envelope: Json) -> tuple[Json, str]:
    """The envelope with its text. The same text is measured, searched for secrets and sent."""
    text = canonical(envelope)
    if len(text) <= budget_fit.UNDECLARED or operation is None or operation.budget or operation.view.whole:
        return envelope, text
    result, told = budget_fit.cut(envelope["result"])
    shorter = {**envelope, "result": result, "warnings": [*envelope["warnings"], told]}
    return shorter, canonical(shorter)


def _redacted(whole: tuple[Json, str]) -> tuple[Json, str]:
    from clew.secrets import redact  # its patterns are slow to compile, and startup needs none

    envelope, text = whole
    shown = redact(envelope, text)
    return shown, text if shown is envelope else canonical(shown)


def in_lines(operation: Operation, call: Call) -> bool:
    if call.fmt is not None:
        return call.fmt == "lines"
    view = operation.view
    if agent_form(operation, call) is not None or view.is_text:
        return True
    return view.in_lines if isinstance(view.in_lines, bool) else tier_of(call.connection.toolset) in view.in_lines


def _bare(pick: Callable[[Json], Any], envelope: Json) -> Any:
    """The response for a client that expects no envelope: the selected JSON, or an object with `error`."""
    result = envelope["result"]
    if envelope["success"]:
        # Data that a bare response has no field for must not be lost with it.
        cut = {**result, **{name: envelope[name] for name in ("warnings", "suggestions")}} if is_cut(result) else None
        return cut or pick(result)
    error = envelope["error"]
    told = {key: error[key] for key in ("code", "recovery") if key in error}
    if "recovery" in told:
        told["recovery"] = told["recovery"].replace("details.example", "example")  # details are top-level fields here
    return {**error.get("details", {}), "error": error["message"], **told}


def _shown(call: Call, lines: list[str]) -> list[str]:
    """Escape stored text in what is shown to a model, so that it does not read as markup or as a turn."""
    return [harmless(line) for line in lines] if call.connection.toolset == "agent" else lines


def _rendered(lines: Callable[[Json, str], list[str]], result: Json, default: str) -> list[str]:
    """The lines of a result; its outline if a budget removed a field that they need."""
    try:
        return lines(result, default)
    except KeyError:
        if is_cut(result):
            return outline(result)
        raise
