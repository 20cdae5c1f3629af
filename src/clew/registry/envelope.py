"""The one shape of every answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clew.clock import rfc3339
from clew.errors import ClewError, Suggestion
from clew.registry.connection import InputRequired


@dataclass
class Answer:
    """One answer in the forms that faces need: the whole `envelope`, and `text` as a model reads it."""

    ok: bool
    envelope: dict[str, Any]
    text: str = ""
    structured: dict[str, Any] | None = None
    """The object that `text` holds as JSON; None when the text is lines or prose. Clients show a model this instead
    of the text, so the two must never say different things."""
    lines: list[str] = field(default_factory=list)
    input_required: InputRequired | None = None
    resources: list[str] = field(default_factory=list)
    """Addresses that the answer points to, for faces with links of their own."""


def success(
    intent: str,
    result: dict[str, Any],
    warnings: list[dict[str, str]],
    suggestions: list[Suggestion],
    ts_ms: int,
) -> dict[str, Any]:
    return _envelope(True, intent, result, warnings, suggestions, None, ts_ms)


def failure(
    error: ClewError, warnings: list[dict[str, str]], suggestions: list[Suggestion], ts_ms: int
) -> dict[str, Any]:
    return _envelope(False, "error", {}, warnings, suggestions, error.to_dict(), ts_ms)


def _envelope(
    ok: bool,
    intent: str,
    result: dict[str, Any],
    warnings: list[dict[str, str]],
    suggestions: list[Suggestion],
    error: dict[str, Any] | None,
    ts_ms: int,
) -> dict[str, Any]:
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


def page_json(cursor: Cursor, limit: int, count: int, next_cursor: Cursor) -> dict[str, Any]:
    """What was asked for, what came, and where to go on; without a next cursor there is no more."""
    return {
        "cursor": cursor,
        "next_cursor": next_cursor,
        "has_more": next_cursor is not None,
        "limit": limit,
        "count": count,
    }
