"""The owner of a bearer token: the server's own, one of those in the store, or one of an identity provider.

Repeated wrong tokens are rate-limited. A token that was valid recently is still accepted from the same address
meanwhile, because several clients share the address of a proxy.
"""

from __future__ import annotations

import secrets
import time
from hashlib import blake2b
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from clew.faces.http import Brake, RateLimit, TooManyWrong, has_token, sent_tokens
from clew.registry import credentials
from clew.registry.credentials import TOKEN_PREFIX, Credential, Principal

if TYPE_CHECKING:
    from clew.app import Clew
    from clew.faces.web.identity_provider import IdentityProvider

AGENT = Principal()
"""A caller with the token of the server, or of a server without one."""


MOST_WRONG = 20
MOST_RIGHT, RIGHT_SECONDS = 1_000, 3_600.0


class _RightTokens:
    """A cache of recently valid tokens, as digests with a key of this process."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._seen: dict[bytes, float] = {}

    def holds(self, sent: list[str]) -> bool:
        now = time.monotonic()
        return any(now - self._seen.get(self._digest(secret), -RIGHT_SECONDS) < RIGHT_SECONDS for secret in sent)

    def note(self, sent: list[str]) -> None:
        for secret in sent:
            if len(self._seen) >= MOST_RIGHT:
                self._seen.pop(next(iter(self._seen)))
            self._seen[self._digest(secret)] = time.monotonic()

    def _digest(self, secret: str) -> bytes:
        return blake2b(secret.encode("utf-8", "replace"), key=self._key).digest()


class Bearers:
    """Looks a token up at each request, so that a revoked one is refused by every server of the store."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._token = clew.settings.token
        self._brake = Brake(MOST_WRONG)
        self._right = _RightTokens()
        self._provider = _provider(clew)
        self._rate = RateLimit(clew.settings.rate_limit) if clew.settings.rate_limit else None

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        sent = [secret for secret in sent_tokens(connection.headers) if secret]
        caller = connection.client.host if connection.client else ""
        # A signature cannot be guessed, and clients use an expired token until it is refused.
        guesses = [] if self._is_signed(sent) else sent
        if guesses and self._brake.holds(caller) and not self._right.holds(guesses):
            raise TooManyWrong
        found = await self._recognize(connection.headers)
        if found is not None:
            self._right.note(guesses)
        elif guesses:
            self._brake.note(caller)
        if found is not None and self._rate is not None and connection.scope.get("method") == "POST":
            self._rate.take(found.token or caller)
        return found

    def _is_signed(self, sent: list[str]) -> bool:
        if self._provider is None:
            return False
        from clew.faces.web.identity_provider import is_jwt

        return any(is_jwt(secret) for secret in sent)

    async def _recognize(self, headers: Headers) -> Principal | None:
        named = next((secret for secret in sent_tokens(headers) if secret.startswith(TOKEN_PREFIX)), None)
        # Also if no token is required: a revoked one is refused, so that the caller does not continue as someone else.
        if named is not None and not (self._token and has_token(headers, self._token)):
            found = await anyio.to_thread.run_sync(self.find, named)
            return found.principal if found is not None else None
        if has_token(headers, self._token) and (self._token or self._provider is None):
            return AGENT
        return await self._of_provider(headers)

    async def _of_provider(self, headers: Headers) -> Principal | None:
        if self._provider is None:
            return None
        from clew.faces.web.identity_provider import is_jwt

        sent = next((secret for secret in sent_tokens(headers) if is_jwt(secret)), None)
        # In a thread: the provider's keys may have to be fetched.
        return await anyio.to_thread.run_sync(self._provider.principal, sent) if sent else None

    def find(self, secret: str) -> Credential | None:
        with self._clew.database.read() as tx:
            return credentials.token_of(tx, secret, self._clew.dispatcher.clock())


def _provider(clew: Clew) -> IdentityProvider | None:
    if not clew.settings.jwt_issuer:
        return None
    # Imported only if it is used: the modules for signatures are slow to load.
    from clew.faces.web.identity_provider import provider_of

    return provider_of(clew.settings)


_made: WeakKeyDictionary[Clew, Bearers] = WeakKeyDictionary()


def bearers_of(clew: Clew) -> Bearers:
    """The instance of a server: a wrong token at one of its addresses counts at all of them."""
    found = _made.get(clew)
    if found is None:
        found = _made[clew] = Bearers(clew)
    return found
