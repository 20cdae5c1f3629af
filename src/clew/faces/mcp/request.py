"""What the SDK hands to a handler, and the few facts about it that several handlers need."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, TypeAlias

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Request: TypeAlias = ServerRequestContext[Any, Any]

current: ContextVar[Request] = ContextVar("clew_mcp_request")
"""The request a worker thread is serving; the sampler needs it to ask the right caller."""


def is_stateless(request: Request) -> bool:
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def connection_of(request: Request) -> Connection:
    """The object that all requests of one connection share.

    The SDK's migration notes name it as the place for state that lives as long as a connection, and
    say that no public way leads to it yet.
    """
    return request.session._connection


def client_name(request: Request) -> str | None:
    params = request.session.client_params
    return params.client_info.name if params is not None else None
