"""The one shape of every response, and the line protocol in which a model reads it: a state line, then commands that
can be pasted; no JSON, no blank lines. An operation without its own lines is shown as an outline: its result as
indented text, from which only blanks are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clew.canonical import Json, canonical
from clew.clock import rfc3339
from clew.errors import ClewError, Suggestion
from clew.hooks import HookPoint
from clew.registry.connection import InputRequired


@dataclass
class Answer:
    """One response in the forms that transports need: the whole `envelope`, and `text` for a model."""

    ok: bool
    envelope: Json
    text: str = ""
    structured: Json | None = None
    """The object that `text` contains as JSON; None if the text is lines or prose. Clients show a model this instead
    of the text, so the two must never differ."""
    lines: list[str] = field(default_factory=list)
    input_required: InputRequired | None = None
    resources: list[str] = field(default_factory=list)
    """Addresses that the response refers to, for transports with links."""
    written: int | None = None
    """The number of the last event that the call wrote."""


class ImportOffer(NamedTuple):
    """What can be imported: the warning, and the call that imports it."""

    warning: dict[str, str]
    way: Suggestion


import_offer: HookPoint[Callable[..., ImportOffer | None]] = HookPoint("import_offer")
"""`(settings, database, toolset)` -> the import of data that a client of the toolset may expect here, if any."""

refusal_form: HookPoint[Callable[[Answer, Any, str], Answer]] = HookPoint("refusal_form")
"""`(answer, arguments, toolset)` -> the refusal of an operation as its clients read refusals; by operation name."""


_IN_FULL = (*("jobs_", "macro_", "runner_", "receipt_", "chain_", "bootstrap", "marks", "scaffold", "storage"),)
"""Prefixes of the operations on tasks that an envelope shows with their full name."""


def intent_of(operation: str) -> str:
    """The intent of an operation in an envelope: in BranchMind, operations on tasks were arguments of one tool."""
    short = operation.removeprefix("tasks_")
    return operation if short.startswith(_IN_FULL) else short


def success(
    intent: str,
    result: Json,
    warnings: list[dict[str, str]],
    suggestions: list[Suggestion],
    ts_ms: int,
) -> Json:
    return _envelope(True, intent, result, warnings, suggestions, None, ts_ms)


def failure(error: ClewError, warnings: list[dict[str, str]], suggestions: list[Suggestion], ts_ms: int) -> Json:
    return _envelope(False, "error", {}, warnings, suggestions, error.to_dict(), ts_ms)


def _envelope(
    ok: bool,
    intent: str,
    result: Json,
    warnings: list[dict[str, str]],
    suggestions: list[Suggestion],
    error: Json | None,
    ts_ms: int,
) -> Json:
    return {
        "success": ok,
        "intent": intent,
        "result": result,
        "warnings": warnings,
        "suggestions": suggestions,
        "context": {},
        "error": error,
        "timestamp": rfc3339(ts_ms),
    }


Cursor = int | str | None


def page_json(cursor: Cursor, limit: int, count: int, next_cursor: Cursor) -> Json:
    """Pagination: requested limit, returned count, and the next cursor; without one there are no more items."""
    return {
        "cursor": cursor,
        "next_cursor": next_cursor,
        "has_more": next_cursor is not None,
        "limit": limit,
        "count": count,
    }


_BARE = re.compile(r"[A-Za-z0-9_./:@+-]+")
SILENT_WARNINGS = frozenset({"ALREADY_DONE"})
CUT_WARNINGS = frozenset({"BUDGET_TRUNCATED", "BUDGET_MINIMAL"})


def command(name: str, params: Json, default_workspace: str | None = None) -> str:
    """Format `name key=value ...`: keys sorted, without nulls and the default workspace."""
    parts = [name]
    for key in sorted(params):
        value = params[key]
        if value is None or (key == "workspace" and value == default_workspace):
            continue
        parts.append(f"{key}={argument(value)}")
    return " ".join(parts)


def argument(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return canonical(value)


def suggestion_line(suggestion: Suggestion, default_workspace: str | None = None) -> str:
    if suggestion["action"] == "call_method":
        return command(suggestion["method"], suggestion["params"], default_workspace)
    return command(suggestion["target"], suggestion["params"], default_workspace)


def error_lines(error: Json, suggestions: list[Suggestion], default_workspace: str | None) -> list[str]:
    advice = _advice(error, default_workspace)
    fix = f" | fix: {advice}" if advice else ""
    lines = [one_line(f"ERROR: {error['code']} {error['message']}{fix}")]
    # At most two commands; one that lists the following calls is useless if that found no room.
    shown = suggestions[:2]
    shown = shown[:-1] if shown and shown[-1]["action"] == "call_method" else shown
    told = [suggestion_line(item, default_workspace) for item in shown]
    return lines + [line for line in told if line != advice]


def _advice(error: Json, default_workspace: str | None) -> str:
    """The recovery, with the example inlined if it refers to its field in the envelope: lines have no such field."""
    example = error.get("details", {}).get("example")
    if not example:
        return error.get("recovery") or ""
    call = command(example["name"], example["arguments"], default_workspace)
    return (
        (error.get("recovery") or "").replace("is in details.example.", f"is: {call}").replace("details.example", call)
    )


def warning_lines(warnings: list[dict[str, str]], rest: str = "") -> list[str]:
    """A line for each warning. `rest` is the call that returns what a budget left out: the fix for such a warning."""
    return [
        one_line(f"WARNING: {item['code']} {item['message']} | fix: {_fixes(item, rest)}")
        for item in warnings
        if item["code"] not in SILENT_WARNINGS
    ]


def _fixes(item: dict[str, str], rest: str) -> str:
    return rest if rest and item["code"] in CUT_WARNINGS else item["recovery"]


def is_cut(result: Json) -> bool:
    """Whether a budget left something out."""
    places = [result, *(part for part in result.values() if isinstance(part, dict))]
    # A macro answers with a view that has its own budget.
    return any(isinstance(place.get("budget"), dict) and place["budget"].get("truncated") for place in places)


def rest_of(envelope: Json, default_workspace: str | None) -> str:
    """The call that returns what a budget left out, as a command; empty if nothing was left out."""
    calls = [way for way in envelope["suggestions"] if way["action"] == "call_tool"]
    return suggestion_line(calls[0], default_workspace) if calls and is_cut(envelope["result"]) else ""


def item_lines(result: Json, items: Iterable[Json], line: Callable[[Json], str]) -> list[str]:
    """A line for each item. One that a budget has shortened may lack fields that its line needs, and is shown as is."""
    return [shown for item in items for shown in _item_lines(result, item, line)]


def _item_lines(result: Json, item: Json, line: Callable[[Json], str]) -> list[str]:
    try:
        return [line(item)]
    except KeyError:
        if is_cut(result):
            return _entry(item)
        raise


def generic_lines(intent: str) -> list[str]:
    """For operations without their own lines."""
    return [f"ok intent={intent}", "tools/list toolset=full"]


def one_line(text: str) -> str:
    return " ".join(text.split())


WIDEST = 160
"""Maximum length of an object on one line."""
FURNITURE = frozenset({"workspace", "budget"})


def outline(result: Json) -> list[str]:
    """`name: value` lines; lists have one entry per line, and deeper values are indented.

    Below the first level, empty and false values are omitted.
    """
    return [line for name, value in result.items() if name not in FURNITURE for line in _field(name, value)]


def _says_nothing(value: Any) -> bool:
    return value is None or value is False or value in ("", [], {})


def _field(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) and "\n" in value:
        return [f"{name}:", *(f"  {line}" for line in value.splitlines())]
    flat = _flat(value)
    if (flat is not None and len(flat) <= WIDEST) or not isinstance(value, dict | list):
        return [f"{name}: {value if isinstance(value, str) else flat}"]
    if isinstance(value, list):
        return [f"{name}:", *(f"  {line}" for item in value for line in _entry(item))]
    return [f"{name}:", *(f"  {line}" for key, item in _telling(value) for line in _field(key, item))]


def _telling(value: Json) -> list[tuple[str, Any]]:
    return [(name, item) for name, item in value.items() if not _says_nothing(item)]


def _entry(item: Any) -> list[str]:
    flat = _flat(item)
    if (flat is not None and len(flat) <= WIDEST) or not isinstance(item, dict | list):
        return [f"- {item if isinstance(item, str) else flat}"]
    inner = [line for key, value in _telling(item) for line in _field(key, value)] if isinstance(item, dict) else []
    inner = inner or [line for value in item for line in _entry(value)]
    return [f"{'- ' if place == 0 else '  '}{line}" for place, line in enumerate(inner)]


def _flat(value: Any) -> str | None:
    """On one line; None for nested objects or multi-line text."""
    if isinstance(value, str):
        return None if "\n" in value else argument(value)
    if isinstance(value, dict):
        return _flat_object(value)
    if isinstance(value, list):
        return _flat_list(value)
    return argument(value)


def _flat_object(value: Json) -> str | None:
    given = dict(_telling(value))
    parts = {name: _flat(item) for name, item in given.items()}
    if None in parts.values() or any(isinstance(item, dict) for item in given.values()):
        return None
    return " ".join(f"{name}={part}" for name, part in parts.items()) or "{}"


def _flat_list(value: list[Any]) -> str | None:
    if any(isinstance(item, dict | list) for item in value):
        return None
    entries = [_flat(item) for item in value]
    return None if None in entries else ", ".join(map(str, entries)) or "none"
