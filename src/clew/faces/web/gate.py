"""Who may use the page: everybody on this machine, or whoever showed the token, and never another site.

The token is typed once. The browser then keeps two things: a cookie that scripts cannot read, and a key that the page
keeps in its own storage and sends along. Cookies know no ports, so every other server on this machine that the browser
visits is sent the cookie; the key never leaves our own origin, and neither opens anything without the other. Both end
with the logout, and with the server. Writes need a header besides, which only a page of ours can send.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from typing import Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from clew.faces.http import Guests, has_token, same_secret, same_site
from clew.settings import Settings

COOKIE = "clew_page"
PAGE_HEADER = "x-clew-page"
KEY_HEADER = "x-clew-key"
MAX_AGE = 30 * 24 * 3600
MOST_LOGINS = 200
"""Browsers that are logged in at a time; the oldest gives way."""


class PageGate:
    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        self._guests = Guests(settings.observatory_cors)
        self._logins: dict[str, tuple[str, float]] = {}
        self._brake = Brake()

    def is_open(self, connection: HTTPConnection) -> bool:
        """Whether the caller may see what is stored."""
        return has_token(connection.headers, self._token) or self._is_logged_in(connection)

    def _is_logged_in(self, connection: HTTPConnection) -> bool:
        """A socket cannot send headers, so it names its key in its address."""
        # The empty key of a login that does not exist opens nothing: `bool(key)` below.
        key, until = self._logins.get(connection.cookies.get(_cookie(connection), ""), ("", 0.0))
        given = connection.headers.get(KEY_HEADER) or connection.query_params.get("key") or ""
        return bool(key) and time.time() < until and same_secret(given, key)

    def is_person(self, connection: HTTPConnection) -> bool:
        """Whether somebody who logged in at the page sends this. The token alone is no sign: agents have it too."""
        return self.is_ours(connection) and self._is_logged_in(connection)

    def is_ours(self, connection: HTTPConnection) -> bool:
        """Whether a page of this very server sends this: needed to write."""
        return same_site(connection.headers) and connection.headers.get(PAGE_HEADER) == "1"

    def may_follow(self, connection: HTTPConnection) -> bool:
        """Whether a page from this origin may open the socket: browsers let any site try."""
        return same_site(connection.headers) or self._guests.allows(connection.headers["origin"])

    def cors(self, connection: HTTPConnection) -> dict[str, str]:
        origin = connection.headers.get("origin")
        if origin is None or not self._guests.allows(origin):
            return {}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    async def login(self, request: Request) -> Response:
        given = await _json(request)
        if not self.is_ours(request):
            return refusal(403, "this request does not come from the page")
        caller = request.client.host if request.client else ""
        # Before the comparison: while it holds, even the right token tells a guesser nothing.
        if self._brake.holds(caller):
            return refusal(429, "too many wrong tokens; wait a minute")
        if self._token is not None and not same_secret(str(given.get("token", "")), self._token):
            self._brake.note(caller)
            return refusal(401, "that is not the token")
        cookie, key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        # Dicts keep the order of insertion, so the first is the oldest.
        while len(self._logins) >= MOST_LOGINS:
            self._logins.pop(next(iter(self._logins)))
        self._logins[cookie] = (key, time.time() + MAX_AGE)
        response = JSONResponse({"ok": True, "key": key}, headers={"Cache-Control": "no-store"})
        secure = request.url.scheme == "https"
        response.set_cookie(_cookie(request), cookie, MAX_AGE, httponly=True, samesite="strict", secure=secure)
        return response

    async def logout(self, request: Request) -> Response:
        if not self.is_ours(request):
            return refusal(403, "this request does not come from the page")
        self._logins.pop(request.cookies.get(_cookie(request), ""), None)
        response = JSONResponse({"ok": True})
        response.delete_cookie(_cookie(request), httponly=True, samesite="strict")
        return response


class Brake:
    """Lets a caller be wrong so often in so many seconds, and then makes it wait."""

    MOST, SECONDS, CALLERS = 10, 60.0, 1_000

    def __init__(self) -> None:
        self._wrong: dict[str, deque[float]] = {}

    def holds(self, caller: str) -> bool:
        times = self._wrong.get(caller, deque())
        while times and time.monotonic() - times[0] > self.SECONDS:
            times.popleft()
        return len(times) >= self.MOST

    def note(self, caller: str) -> None:
        if len(self._wrong) >= self.CALLERS:
            self._wrong.pop(next(iter(self._wrong)))
        self._wrong.setdefault(caller, deque(maxlen=self.MOST)).append(time.monotonic())


def _cookie(connection: HTTPConnection) -> str:
    """With the port in its name, so that two servers on one machine do not overwrite each other's."""
    return f"{COOKIE}_{connection.url.port or 80}"


async def _json(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status, {"Cache-Control": "no-store"})
