"""The one shape of `pagination` in answers."""

from __future__ import annotations

from typing import Any

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
