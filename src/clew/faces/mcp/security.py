"""Who may talk to the HTTP server: the address it listens on, Host, Origin, token, size of a body.

A server on the loopback address is open to local processes and to nobody else: a web page that a browser
loaded from elsewhere is turned away by its Host (DNS rebinding) or its Origin. Any other address needs a
token.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from clew.errors import ClewError

BODY_LIMIT = 4 * 1024 * 1024
TOKEN_HEADER = "x-mindmem-token"
_LOOPBACK_NAMES = frozenset({"localhost"})


def is_loopback(host: str) -> bool:
    if host.lower() in _LOOPBACK_NAMES:
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def check_address(host: str, token: str | None) -> None:
    """Refuses to be reachable from other machines without a token."""
    if token is None and not is_loopback(host):
        raise ClewError(
            "NOT_ALLOWED",
            f"refusing to listen on {host} without a token: everybody who reaches it could read and write",
            "Set CLEW_TOKEN to a long random value, or listen on 127.0.0.1.",
        )


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


class Hosts:
    """The names under which this server answers, whatever the port.

    Rebinding needs a name that the attacker's DNS controls, so a server that listens beyond loopback
    also answers to plain addresses and to the machine's own name.
    """

    def __init__(self, listening_on: str, also: Iterable[str] = ()) -> None:
        self._open = not is_loopback(listening_on)
        self._names = {name.lower() for name in also} | _LOOPBACK_NAMES
        if self._open:
            self._names |= {listening_on.lower(), socket.gethostname().lower()}

    def allows(self, host: str | None) -> bool:
        name = _hostname(f"//{host}") if host else None
        if name is None:
            return False
        return name in self._names or is_loopback(name) or (self._open and _address(name) is not None)

    def allows_origin(self, origin: str | None) -> bool:
        """Absent for everything but a browser; `null` and foreign schemes are nobody we know."""
        if origin is None:
            return True
        scheme, separator, rest = origin.partition("://")
        return scheme in {"http", "https"} and bool(separator) and self.allows(rest)


def _hostname(address: str) -> str | None:
    """The name without port and credentials; None for what is no address."""
    try:
        parts = urlsplit(address)
        if parts.username is not None or parts.path or parts.query or parts.fragment:
            return None
        parts.port  # noqa: B018  raises for a port that is none
        return parts.hostname
    except ValueError:
        return None


class Guests:
    """Other sites whose pages may look, and at what: the read API and the socket, nothing else."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origins)

    def allows(self, origin: str) -> bool:
        return "*" in self._origins or origin in self._origins

    def may_enter(self, scope: Scope, origin: str | None) -> bool:
        looks = scope["type"] == "websocket" or scope["path"].startswith("/api/")
        return origin is not None and looks and self.allows(origin)


class HostGate:
    """Turns away requests for other hosts (421) and from other sites (403), except guests where they may look."""

    def __init__(self, app: ASGIApp, hosts: Hosts, guests: Guests) -> None:
        self._app = app
        self._hosts = hosts
        self._guests = guests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        if not self._hosts.allows(headers.get("host")):
            return await refuse(scope, receive, send, 421, "this server does not answer for that Host")
        origin = headers.get("origin")
        if not self._hosts.allows_origin(origin) and not self._guests.may_enter(scope, origin):
            return await refuse(scope, receive, send, 403, "requests from that Origin are not accepted")
        return await self._app(scope, receive, send)


class TokenGate:
    """Lets in who has the token, in either of the two headers; without a token everybody."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"} and not has_token(Headers(scope=scope), self._token):
            return await refuse(scope, receive, send, 401, "a bearer token is needed")
        return await self._app(scope, receive, send)


def has_token(headers: Headers, token: str | None) -> bool:
    if token is None:
        return True
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = bearer.strip() if scheme.lower() == "bearer" else headers.get(TOKEN_HEADER, "")
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


async def refuse(scope: Scope, receive: Receive, send: Send, status: int, message: str) -> None:
    if scope["type"] == "websocket":
        # Closing before accepting makes the server answer the handshake with 403.
        await send({"type": "websocket.close", "code": 1008, "reason": message})
        return
    headers = {"WWW-Authenticate": 'Bearer realm="clew"'} if status == 401 else None
    await JSONResponse({"error": message}, status, headers)(scope, receive, send)
