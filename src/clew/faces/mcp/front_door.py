"""What a server with an identity provider says to clients that have no token yet: where to get one (RFC 9728)."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from clew.faces.http import Challenge, plain_challenge, sent_tokens
from clew.settings import Settings

PATH = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True)
class FrontDoor:
    """The challenge for callers without a token, and the metadata documents it refers to."""

    challenge: Challenge = plain_challenge
    routes: tuple[BaseRoute, ...] = ()


def door_of(settings: Settings) -> FrontDoor:
    """Without a provider there is nothing to find: a client must not begin to look for one."""
    if not settings.jwt_issuer:
        return FrontDoor()
    from clew.faces.web.identity_provider import resource_metadata

    def challenge(connection: HTTPConnection) -> str:
        told = f'Bearer realm="clew", resource_metadata="{_base(settings, connection)}{METADATA}{PATH}"'
        return f'{told}, error="invalid_token"' if any(sent_tokens(connection.headers)) else told

    async def metadata(request: Request) -> JSONResponse:
        # Public, and asked for by clients in a browser too.
        headers = {"Access-Control-Allow-Origin": "*", "Cache-Control": "max-age=300"}
        return JSONResponse(resource_metadata(settings, f"{_base(settings, request)}{PATH}"), headers=headers)

    return FrontDoor(challenge, (Route(METADATA, metadata), Route(METADATA + PATH, metadata)))


def _base(settings: Settings, connection: HTTPConnection) -> str:
    """This server's address as its callers know it; `HostGate` has checked the Host that they sent."""
    scheme = connection.url.scheme.replace("ws", "http")
    return settings.public_url or f"{scheme}://{connection.url.netloc}"
