"""Who may use the page: every user of this machine, or those who sent the token; never another site.

The token is typed once. The browser then keeps two things: a cookie that scripts cannot read, and a key that the page
keeps in its own storage and sends along. Browsers send a cookie to every port of a host, so another server on this
machine may get it; the key never leaves our own origin, and neither works without the other. Both become invalid with
the logout and when the server ends. Writes also need a header that only a page of ours can send.
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
"""Logins that are valid at a time; a new one beyond this ends the oldest."""


class PageGate:
    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        self._guests = Guests(settings.observatory_cors)
        self._logins: dict[str, tuple[str, float]] = {}
        self._brake = Brake()

    def is_open(self, connection: HTTPConnection) -> bool:
        """Whether the caller may read: it sends the token, or is logged in, or no token is set."""
        return has_token(connection.headers, self._token) or self._is_logged_in(connection)

    def _is_logged_in(self, connection: HTTPConnection) -> bool:
        """Whether cookie and key belong together. A browser's socket sends no headers, so its address has the key."""
        # An unknown cookie gives an empty key, which an empty `given` would equal; `bool(key)` below refuses that.
        key, until = self._logins.get(connection.cookies.get(_cookie(connection), ""), ("", 0.0))
        given = connection.headers.get(KEY_HEADER) or connection.query_params.get("key") or ""
        return bool(key) and time.time() < until and same_secret(given, key)

    def is_person(self, connection: HTTPConnection) -> bool:
        """Whether a person who logged in at the page sends this. The token alone proves nothing: agents have it too."""
        return self.is_ours(connection) and self._is_logged_in(connection)

    def is_ours(self, connection: HTTPConnection) -> bool:
        """Whether a page of this server sends this, which writes need. Other sites cannot set this header."""
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
        given = await _json(request)
        if not self.is_ours(request):
            return refusal(403, "this request does not come from the page")
        caller = request.client.host if request.client else ""
        # Before the comparison: while the brake holds, even the right token is refused, so guessing learns nothing.
        if self._brake.holds(caller):
            return refusal(429, "too many wrong tokens; wait a minute")
        if self._token is not None and not same_secret(str(given.get("token", "")), self._token):
            self._brake.note(caller)
            return refusal(401, "that is not the token")
        cookie, key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        # A dict keeps the order of insertion, so its first key is the oldest login.
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
    """Makes a caller wait after MOST wrong tokens in SECONDS; remembers at most CALLERS addresses."""

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
    """The name of the cookie. It holds the port, so that two servers on one machine do not share a cookie."""
    return f"{COOKIE}_{connection.url.port or 80}"


async def _json(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status, {"Cache-Control": "no-store"})
