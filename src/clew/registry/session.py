"""What the server remembers of one caller, and nothing more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Sampler = Callable[[dict[str, Any], float], dict[str, Any]]
"""Asks the client's model: (request, timeout in seconds) -> {text, model}."""


@dataclass
class Session:
    """One connection with a handshake, or one request of the stateless protocol (then not durable)."""

    toolset: str = "daily"
    workspace_override: str | None = None
    agent_id: str | None = None
    handle: str | None = None
    client: str | None = None
    durable: bool = True
    sampler: Sampler | None = None
