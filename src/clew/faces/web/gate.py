"""Who may use the page: everybody on this machine, or whoever showed the token, and never another site.

The token is typed once. The browser then keeps a cookie that scripts cannot read, that is not the token itself and
that no other site's request carries along. Writes need a header besides, which only a page of ours can send.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from clew.faces.http import Guests, has_token, same_secret, same_site
from clew.settings import Settings

COOKIE = "clew_page"
PAGE_HEADER = "x-clew-page"
MAX_AGE = 30 * 24 * 3600


class Gate:
    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        self._guests = Guests(settings.observatory_cors)

    def is_open(self, connection: HTTPConnection) -> bool:
        """Whether the caller may see what is stored."""
        if has_token(connection.headers, self._token):
            return True
        return same_secret(connection.cookies.get(COOKIE, ""), self._proof())

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
        if self._token is not None and not same_secret(str(given.get("token", "")), self._token):
            return refusal(401, "that is not the token")
        response = JSONResponse({"ok": True})
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, self._proof(), MAX_AGE, httponly=True, samesite="strict", secure=secure)
        return response

    async def logout(self, request: Request) -> Response:
        if not self.is_ours(request):
            return refusal(403, "this request does not come from the page")
        response = JSONResponse({"ok": True})
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    def _proof(self) -> str:
        return hmac.new((self._token or "").encode(), b"clew page", hashlib.sha256).hexdigest()


async def _json(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status, {"Cache-Control": "no-store"})
