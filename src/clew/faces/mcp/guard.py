"""What surrounds every request: a lenient handshake, sealed state, no leaking of internals."""

from __future__ import annotations

import hashlib
import logging
import os
from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from mcp_types.methods import is_input_required
from pydantic import ValidationError

from clew.faces.mcp.connections import Connections
from clew.faces.mcp.request import Request, connection_of, is_stateless

if TYPE_CHECKING:
    from mcp.server.request_state import RequestStateBoundary

logger = logging.getLogger(__name__)


class Guard:
    """Turns an exception nobody expected into a plain internal error; the SDK would send its text."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        if not is_stateless(ctx):
            self._admit(ctx)
        try:
            return await call_next(ctx)
        except (MCPError, ValidationError):
            raise
        except Exception:
            logger.exception("request %s failed", ctx.method)
            raise MCPError(INTERNAL_ERROR, "internal error; the server's log has the details") from None

    def _admit(self, request: Request) -> None:
        """Clients that skip parts of the handshake are served all the same (the seeds pin it)."""
        if request.method == "initialize":
            return
        connection = connection_of(request)
        if not connection.initialize_accepted:
            connection.initialized.set()
        self._connections.link(request)


class SealedState:
    """Seals the state that a client carries from one round of a call to the next.

    The SDK's boundary does the work. It imports a cryptography library, which few servers ever need,
    so it is made when the first state comes by.
    """

    def __init__(self, audience: str, token: str | None) -> None:
        self._audience = audience
        self._token = token
        self._boundary: RequestStateBoundary | None = None

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        if ctx.params is not None and ctx.params.get("requestState") is not None:
            return await self._made()(ctx, call_next)
        result = await call_next(ctx)
        if not is_input_required(result):
            return result

        async def as_it_is(_: Any) -> HandlerResult:
            return result

        return await self._made()(ctx, as_it_is)

    def _made(self) -> RequestStateBoundary:
        if self._boundary is None:
            from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

            security = RequestStateSecurity(keys=[self._key()])
            self._boundary = RequestStateBoundary(security, default_audience=self._audience)
        return self._boundary

    def _key(self) -> bytes:
        """Servers that share a token can continue each other's rounds; others have a key of their own."""
        if self._token is None:
            return os.urandom(32)
        return hashlib.sha256(b"clew request state\0" + self._token.encode()).digest()
