"""What every HTTP server of Clew shares: the address it listens on, and who may talk to it.

A server on the loopback address is open to local processes and to nobody else: a web page that a browser loaded from
elsewhere is turned away by its Host (DNS rebinding) or its Origin. Any other address needs a token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from math import ceil
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.errors import ClewError

BACKLOG = 2048
ARRIVAL = 15.0
"""Seconds that a request, head and body, may take to arrive; 4 MiB need a second on a poor line."""
RESERVED_FILES = 48
BODY_LIMIT = 4 * 1024 * 1024
MOST_UNDER_WAY = 64
"""Calls of one session, or of one client without a session, that may wait for their answers at a time."""
TOKEN_HEADER = "x-mindmem-token"
_FROM_ELSEWHERE = frozenset({"cross-site", "same-site"})
"""What browsers say of requests that another page makes: an image or a plain GET carries no Origin, but this."""
_LOOPBACK_NAMES = frozenset({"localhost"})


def is_loopback(host: str) -> bool:
    if host.lower() in _LOOPBACK_NAMES:
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def check_address(host: str, token: str | None, issuer: str | None = None) -> None:
    """Refuses to be reachable from other machines without a token."""
    if token is None and issuer is None and not is_loopback(host):
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
        # A plain address cannot be rebound: the attacker's page would have to be loaded from it.
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
        # `//good@evil` and the like are no Host that a browser sends; refused rather than understood.
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
        if origin is None and scope["path"].startswith("/api/") and headers.get("sec-fetch-site") in _FROM_ELSEWHERE:
            return await refuse(scope, receive, send, 403, "requests from other sites are not accepted")
        if not self._hosts.allows_origin(origin) and not self._guests.may_enter(scope, origin):
            return await refuse(scope, receive, send, 403, "requests from that Origin are not accepted")
        return await self._app(scope, receive, send)


PRINCIPAL = "clew.principal"
"""Under which key of a scope a gate leaves whom it let in."""
Recognize = Callable[[HTTPConnection], Awaitable[object | None]]
"""Who sends a request; None for somebody who may not come in. Raises TooManyWrong for who guesses."""


class TooManyWrong(Exception):
    """Somebody sent so many wrong tokens that the next one is not looked at."""


class TooManyCalls(Exception):
    """Somebody sends more than this server takes of one caller; `seconds` until the next request is taken."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


async def refuse_for_now(_: Request, problem: Exception) -> JSONResponse:
    seconds = max(1, ceil(problem.seconds)) if isinstance(problem, TooManyCalls) else 1
    told = f"more requests a minute than this server takes of one caller; the next one in {seconds} s"
    return JSONResponse({"error": told}, 429, {"Retry-After": str(seconds)})


class RateLimit:
    """So many requests a minute of each caller, as many at once; remembers at most CALLERS of them."""

    CALLERS = 10_000

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(a_minute)
        self._each_second = a_minute / 60
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        """How many requests each caller had left, and when."""

    def take(self, caller: str) -> None:
        now = self._clock()
        left, at = self._left.pop(caller, (self._most, now))
        left = min(self._most, left + (now - at) * self._each_second)
        if len(self._left) >= self.CALLERS:
            self._left.pop(next(iter(self._left)))  # who asked longest ago
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise TooManyCalls((1 - left) / self._each_second)


class Brake:
    """Makes a caller wait after `most` wrong secrets in SECONDS; remembers at most CALLERS addresses."""

    MOST, SECONDS, CALLERS = 10, 60.0, 1_000

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._wrong: dict[str, deque[float]] = {}

    def holds(self, caller: str) -> bool:
        times = self._wrong.get(caller, deque())
        while times and time.monotonic() - times[0] > self.SECONDS:
            times.popleft()
        return len(times) >= self._most

    def note(self, caller: str) -> None:
        if len(self._wrong) >= self.CALLERS:
            self._wrong.pop(next(iter(self._wrong)))
        self._wrong.setdefault(caller, deque(maxlen=self._most)).append(time.monotonic())


Challenge = Callable[[HTTPConnection], str]
"""What a refusal says of how to come in (`WWW-Authenticate`)."""


def plain_challenge(_: HTTPConnection) -> str:
    return 'Bearer realm="clew"'


class TokenGate:
    """Lets in whom it recognizes by a token."""

    def __init__(self, app: ASGIApp, recognize: Recognize, challenge: Challenge = plain_challenge) -> None:
        self._app = app
        self._recognize = recognize
        self._challenge = challenge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"}:
            connection = HTTPConnection(scope)
            try:
                found = await self._recognize(connection)
            except TooManyWrong:
                return await refuse(scope, receive, send, 429, "too many wrong tokens; wait a minute")
            if found is None:
                told = {"WWW-Authenticate": self._challenge(connection)}
                return await refuse(scope, receive, send, 401, "a bearer token is needed", told)
            scope = {**scope, PRINCIPAL: found}
        return await self._app(scope, receive, send)


SESSIONS_OF_A_HOST = 8
"""One host may have as many calls in progress as this many busy sessions."""


class CallLimit:
    """Refuses calls of a client that has too many in progress: they would only wait, in this server's memory.

    A session is limited, and so is its host: a client may write anything into the header that names a session.
    """

    def __init__(self, app: ASGIApp, most: int = MOST_UNDER_WAY) -> None:
        self._app = app
        self._most = most
        self._under_way: Counter[tuple[str, ...]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)  # what a GET opens is a stream that stays open
            return
        limits = self._limits(scope)
        if any(self._under_way[caller] >= most for caller, most in limits.items()):
            said = f"{self._most} calls of yours are under way; send the next one when one of them is answered"
            await refuse(scope, receive, send, 429, said)
            return
        self._under_way.update(limits.keys())
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way.subtract(limits.keys())
            for caller in limits:
                if not self._under_way[caller]:
                    del self._under_way[caller]

    def _limits(self, scope: Scope) -> dict[tuple[str, ...], int]:
        """The callers that a request counts for, each with the most that it may have in progress."""
        headers = Headers(scope=scope)
        host = scope["client"][0] if scope.get("client") else ""
        session = headers.get("mcp-session-id")
        direct = (headers.get("authorization", ""), headers.get("cookie", ""), host)
        return {
            (session,) if session is not None else direct: self._most,
            ("host", host): self._most * SESSIONS_OF_A_HOST,
        }


def has_token(headers: Headers, token: str | None) -> bool:
    if token is None:
        return True
    return sum(same_secret(secret, token) for secret in sent_tokens(headers)) > 0  # both are compared


def sent_tokens(headers: Headers) -> list[str]:
    """What a caller sends as a token, in either of the two headers; empty where it sends none."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    return [bearer.strip() if scheme.lower() == "bearer" else "", headers.get(TOKEN_HEADER, "")]


def same_secret(given: str, wanted: str) -> bool:
    """Takes equally long wherever the two differ, so that nobody can guess a secret letter by letter."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def same_site(headers: Headers) -> bool:
    """Whether a browser's request comes from a page of this very server; programs send no Origin."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, message: str, headers: dict[str, str] | None = None
) -> None:
    if scope["type"] == "websocket":
        # Closing before accepting makes the server answer the handshake with 403.
        await send({"type": "websocket.close", "code": 1008, "reason": message})
        return
    headers = headers or ({"Retry-After": "1"} if status == 429 else None)
    await JSONResponse({"error": message}, status, headers)(scope, receive, send)


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's algorithm off only on sockets that name it; with it, every
    # answer that is sent in two parts waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        # From here on callers queue: whoever is told the address may use it at once.
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        raise ClewError(
            "UNAVAILABLE",
            f"cannot listen on {host}:{port}: {problem.strerror or problem}",
            "Choose another port with --port or CLEW_PORT, or stop what uses this one.",
        ) from problem
    return listener


def bind_next(host: str, port: int, tries: int) -> socket.socket:
    """The port itself or a later one; when all of them are taken, whichever the system gives."""
    for candidate in range(port, min(port + tries, 65_536)):
        try:
            return bind(host, candidate)
        except ClewError:
            if tries == 1:
                raise
    return bind(host, 0)


def base_address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpServer(uvicorn.Server):
    """Uvicorn, told to end the streams of notices before it waits for open requests, and what to do after the last."""

    def __init__(
        self, config: uvicorn.Config, on_stop: Callable[[], None], on_stopped: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._on_stopped = on_stopped

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams of notices never end by themselves, and uvicorn would wait for them.
        self._on_stop()
        await super().shutdown(sockets)
        # Not when the process ends: uvicorn ends it by the signal that it was sent.
        await asyncio.to_thread(self._on_stopped)


class ImpatientProtocol(H11Protocol):
    """Uvicorn's HTTP, with a limit on the time a request may take to arrive.

    The whole request counts, not the pauses in it: who sends one byte now and then would keep a connection for ever.
    """

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit = self.loop.call_later(ARRIVAL, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_arriving():
            self._end_limit()
        elif self._limit is None:
            self._limit = self.loop.call_later(ARRIVAL, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_limit()
        super().connection_lost(exc)

    def _is_arriving(self) -> bool:
        if self.transport.get_protocol() is not self:
            return False  # a socket now, which has times of its own
        state = self.conn.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))

    def _end_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


def most_connections() -> int | None:
    """As many as leave some open files for the store; without a limit of the system, none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else max(soft - RESERVED_FILES, 8)
