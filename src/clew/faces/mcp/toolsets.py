"""Which tools a list shows: the server's toolset, or for one call the one its parameters name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from clew.settings import TOOLSETS


def toolset_of(params: Mapping[str, Any] | None, default: str) -> str:
    if params is None or "toolset" not in params:
        return default
    asked = params["toolset"]
    if not isinstance(asked, str):
        raise _refusal(f"toolset must be a string, not {type(asked).__name__}")
    if asked not in TOOLSETS:
        raise _refusal(f"toolset {asked[:40]!r} is unknown")
    return TOOLSETS[asked]


def _refusal(problem: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"{problem}; use core, daily or full", {"toolsets": ["core", "daily", "full"]})
