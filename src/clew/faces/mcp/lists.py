"""Lists here are short and fixed, so each is one page."""

from __future__ import annotations

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS


def check_cursor(cursor: str | None) -> None:
    """No list ever handed out a cursor, so a caller that has one made it up."""
    if cursor:
        raise MCPError(INVALID_PARAMS, "unknown cursor; leave it out, the list has one page")
