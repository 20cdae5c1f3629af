"""The line protocol: a state line, then commands that can be pasted. No JSON, no blank lines."""

from __future__ import annotations

import re
from typing import Any

from clew.canonical import canonical
from clew.errors import Suggestion

_BARE = re.compile(r"[A-Za-z0-9_./:@+-]+")
SILENT_WARNINGS = frozenset({"ALREADY_DONE"})


def command(name: str, params: dict[str, Any], default_workspace: str | None = None) -> str:
    """`name key=value ...`, keys sorted, nulls left out, the default workspace left out."""
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


def error_lines(error: dict[str, Any], suggestions: list[Suggestion], default_workspace: str | None) -> list[str]:
    advice = _advice(error, default_workspace)
    fix = f" | fix: {advice}" if advice else ""
    lines = [one_line(f"ERROR: {error['code']} {error['message']}{fix}")]
    return lines + [suggestion_line(item, default_workspace) for item in suggestions[:2]]


def _advice(error: dict[str, Any], default_workspace: str | None) -> str:
    """The recovery, with the example itself where it speaks of its place in the envelope: lines have no such place."""
    example = error.get("details", {}).get("example")
    if not example:
        return error.get("recovery") or ""
    call = command(example["name"], example["arguments"], default_workspace)
    return (
        (error.get("recovery") or "").replace("is in details.example.", f"is: {call}").replace("details.example", call)
    )


def warning_lines(warnings: list[dict[str, str]]) -> list[str]:
    return [
        one_line(f"WARNING: {item['code']} {item['message']} | fix: {item['recovery']}")
        for item in warnings
        if item["code"] not in SILENT_WARNINGS
    ]


def generic_lines(intent: str) -> list[str]:
    """For operations without lines of their own."""
    return [f"ok intent={intent}", "tools/list toolset=full"]


def one_line(text: str) -> str:
    return " ".join(text.split())
