"""Authentication of the page: a signed-in person, a caller with the token, or, without a token, any local user.

Reading and the actions of agents require the token, if one is set. Decisions of a person require a login with a
one-time code from a terminal (`clew login`), because agents have the token too. The browser then keeps two things: a
cookie that scripts cannot read, and a key that the page keeps in its own storage and sends along. Browsers send a
cookie to every port of a host, so another server on this machine may get it; the key never leaves our own origin, and
neither works without the other. Logins are stored in the store, so that all of its servers know them. Writes also
require a header that only a page of ours can send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from clew.errors import ClewError
from clew.faces.http import Brake, Guests, TooManyWrong, same_secret, same_site
from clew.faces.web.bearer import AGENT, bearers_of
from clew.registry import credentials
from clew.registry.credentials import Principal

if TYPE_CHECKING:
    from clew.app import Clew

COOKIE = "clew_page"
PAGE_HEADER = "x-clew-page"
KEY_HEADER = "x-clew-key"


class PageGate:
    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._token = clew.settings.token
        self._guests = Guests(clew.settings.observatory_cors)
        self._bearers = bearers_of(clew)
        self._brake = Brake()

    async def principal(self, connection: HTTPConnection) -> Principal | None:
        """The caller; None if they may not even read."""
        cookie = connection.cookies.get(_cookie(connection), "")
        # A browser's WebSocket sends no headers, so its URL contains the key.
        key = connection.headers.get(KEY_HEADER) or connection.query_params.get("key") or ""
        if cookie and key:
            found = await anyio.to_thread.run_sync(self._login, cookie, key)
            if found is not None:
                return found
        try:
            return await self._bearers(connection)
        except TooManyWrong:
            return None

    def _login(self, cookie: str, key: str) -> Principal | None:
        try:
            with self._clew.database.read() as tx:
                return credentials.login_of(tx, cookie, key, self._clew.dispatcher.clock())
        except ClewError:  # without its store a server knows no logins; its calls report the error of the store
            return None

    def is_ours(self, connection: HTTPConnection) -> bool:
        """Whether a page of this server sent the request, as writes require. Other sites cannot set this header."""
        return same_site(connection.headers) and connection.headers.get(PAGE_HEADER) == "1"

    def may_follow(self, connection: HTTPConnection) -> bool:
        """Whether a page from this origin may open the socket. Browsers do not stop other sites from trying."""
        return same_site(connection.headers) or self._guests.allows(connection.headers["origin"])

    def cors(self, connection: HTTPConnection) -> dict[str, str]:
        origin = connection.headers.get("origin")
        if origin is None or not self._guests.allows(origin):
            return {}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    async def login(self, request: Request) -> Response:
        """Accept a one-time code or a person's own token, which sign in, or the server's, for reading only."""
        given = await _json(request)
        if not self.is_ours(request):
            return refusal(403, "this request does not come from the page")
        caller = request.client.host if request.client else ""
        # Before the comparison: while rate-limited, even the right secret is refused, so guessing reveals nothing.
        if self._brake.holds(caller):
            return refusal(429, "too many wrong codes; wait a minute")
        try:
            made = await anyio.to_thread.run_sync(self._enter, str(given.get("code") or given.get("token") or ""))
        except ClewError as problem:
            return refusal(503, problem.message)
        if made is None:
            self._brake.note(caller)
            return refusal(401, "that is no code that is valid now: `clew login` in a terminal prints one")
        principal, cookie, key = made
        known = {"ok": True, "key": key, "person": principal.decides or None}
        response = JSONResponse(known, headers={"Cache-Control": "no-store"})
        seconds, secure = credentials.LOGIN_MS // 1000, request.url.scheme == "https"
        response.set_cookie(_cookie(request), cookie, seconds, httponly=True, samesite="strict", secure=secure)
        return response

    def _enter(self, secret: str) -> tuple[Principal, str, str] | None:
        now, database = self._clew.dispatcher.clock(), self._clew.database
        if self._token is not None and same_secret(secret, self._token):
            with database.write() as tx:
                return AGENT, *credentials.make_login(tx, AGENT, now)
        with database.read() as tx:
            # Checked without the write lock first: guessing must not block other calls.
            if credentials.token_of(tx, secret, now) is None and not credentials.has_code(tx, secret, now):
                return None
        with database.write() as tx:
            found = credentials.token_of(tx, secret, now) or credentials.redeem_code(tx, secret, now)
            if found is None:
                return None  # used by another request in between
            until = found.until_ms if found.kind == "token" else None
            return found.principal, *credentials.make_login(tx, found.principal, now, until)

    async def logout(self, request: Request) -> Response:
        if not self.is_ours(request):
            return refusal(403, "this request does not come from the page")
        await anyio.to_thread.run_sync(self._leave, request.cookies.get(_cookie(request), ""))
        response = JSONResponse({"ok": True})
        response.delete_cookie(_cookie(request), httponly=True, samesite="strict")
        return response

    def _leave(self, cookie: str) -> None:
        with self._clew.database.write() as tx:
            credentials.end_login(tx, cookie)


def _cookie(connection: HTTPConnection) -> str:
    """The name of the cookie. It contains the port, so that two servers on one machine do not share a cookie."""
    return f"{COOKIE}_{connection.url.port or 80}"


async def _json(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status, {"Cache-Control": "no-store"})
