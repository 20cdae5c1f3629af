"""What every handler of the protocol needs: the request, final results, progress and log messages."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeAlias, get_args

from mcp.server.connection import Connection, allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from clew.registry.credentials import Principal
from clew.registry.envelope import Answer

REQUEST_ID = "x-request-id"
SESSION_KEPT = "clew.session"
"""The key of a scope with what the store keeps of a session of MCP over HTTP."""
_FIT_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
Request: TypeAlias = ServerRequestContext[Any, Any]

current: ContextVar[Request] = ContextVar("clew_mcp_request")
"""The request a worker thread is serving; the sampler needs it to ask the right caller."""


def is_stateless(request: Request) -> bool:
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def wire_of(request: Request) -> Connection:
    """The object that all requests of one connection share.

    The SDK's migration notes name it as the place for state that lives as long as a connection, and
    say that no public way leads to it yet.
    """
    return request.session._connection


def client_name(request: Request) -> str | None:
    params = request.session.client_params
    return params.client_info.name if params is not None else None


def principal_of(request: Request) -> Principal | None:
    """Whom the gate of the HTTP server let in; None over a pipe."""
    if request.request is None:
        return None
    from clew.faces.http import PRINCIPAL  # a server over a pipe never loads what serves HTTP

    found: Principal | None = request.request.scope.get(PRINCIPAL)
    return found


def session_kept(request: Request) -> tuple[dict[str, Any], Callable[[dict[str, Any]], Awaitable[None]]] | None:
    """What the store keeps of the request's session, and the callback for its changes; None if it keeps none."""
    scope = getattr(request.request, "scope", None)
    return scope.get(SESSION_KEPT) if scope is not None else None


def complete(**fields: Any) -> dict[str, Any]:
    """A final result; the stateless era wants it said, the handshake era has the word left out for it."""
    return {"resultType": "complete", **fields}


def check_cursor(cursor: str | None) -> None:
    """No list ever handed out a cursor, so a caller that has one made it up."""
    if cursor:
        raise MCPError(INVALID_PARAMS, "unknown cursor; leave it out, the list has one page")


class ProgressReport:
    """Callable from any thread; reports that do not move forward are left out, as the protocol asks."""

    def __init__(self, request: Request) -> None:
        self._session = request.session
        self._loop = asyncio.get_running_loop()
        self._last = float("-inf")
        self._tasks: list[asyncio.Task[None]] = []

    def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if progress <= self._last:
            return
        self._last = progress
        # The loop is closed when the client left and the server ended while the work went on.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._send, progress, total, message)

    def _send(self, progress: float, total: float | None, message: str | None) -> None:
        report = self._session.report_progress(progress, total, message)
        self._tasks.append(self._loop.create_task(report))

    async def delivered(self) -> None:
        """Waits until every report is on the wire, so that none comes after the result."""
        if self._tasks:
            await asyncio.wait(self._tasks)


_SEVERITY: tuple[LoggingLevel, ...] = get_args(LoggingLevel)


async def narrate(request: Request, threshold: LoggingLevel | None, name: str, answer: Answer) -> None:
    """`threshold` is what logging/setLevel chose; the stateless era names its level in the request."""
    level = level_of(answer)
    if not _wanted(request, threshold, level):
        return
    codes = [warning.get("code") for warning in answer.envelope.get("warnings", ())]
    data = {"operation": name, "success": answer.ok, "warnings": codes}
    notice = LoggingMessageNotificationParams(level=level, logger="clew", data=data)
    await request.session.send_notification(LoggingMessageNotification(params=notice), request.request_id)


def level_of(answer: Answer) -> LoggingLevel:
    if not answer.ok:
        return "error"
    return "warning" if answer.envelope.get("warnings") else "info"


def _wanted(request: Request, threshold: LoggingLevel | None, level: LoggingLevel) -> bool:
    if is_stateless(request):
        return level in allowed_log_levels(request.protocol_version, request.meta)
    return threshold is not None and _SEVERITY.index(level) >= _SEVERITY.index(threshold)


def request_id_of(request: Request) -> str:
    """As the proxy in front named the HTTP request, else a new one; over a pipe the id of the message."""
    headers = getattr(request.request, "headers", None)
    if headers is None:
        return str(request.request_id or "")
    given = str(headers.get(REQUEST_ID, ""))
    return given if _FIT_ID.fullmatch(given) else secrets.token_hex(8)
