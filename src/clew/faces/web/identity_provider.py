"""Access tokens of an identity provider (OpenID Connect): JWTs that are checked by issuer, audience and its keys.

Such a token belongs to a person's client, which is an agent: it reads and writes as its scopes allow, and is the
author of its writes, but cannot make decisions of a person. MCP clients discover the provider through the metadata of
the protected resource (RFC 9728), whose URL is in the 401 response.
"""

from __future__ import annotations

import logging
import re
import ssl
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import orjson

from clew.errors import ClewError
from clew.ids import check_workspace
from clew.registry.credentials import Principal, Scope

if TYPE_CHECKING:
    from jwt import PyJWK

    from clew.settings import Settings

log = logging.getLogger("clew.identity")

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signature algorithms that need no secret to verify. A token with another one, or none, is refused."""
LEEWAY_SECONDS = 30
"""Tolerance for the clocks of the provider and this server."""
KEYS_SECONDS, UNKNOWN_KEY_SECONDS = 600.0, 30.0
"""After how long keys are fetched again, and after how long at the earliest for a key that is not among them."""
TO_ANSWER_SECONDS = 5.0
MOST_BYTES = 1_000_000
MOST_TOKEN = 16_384
WORKSPACES_CLAIM = "clew_workspaces"
SCOPES: dict[str, Scope] = {"clew:read": "read", "clew:write": "write"}
"""The names of the scopes at a provider. No claim of a provider allows an agent to approve or administer."""
DISCOVERY = "/.well-known/openid-configuration"
_UNFIT = re.compile(r"[^a-z0-9._-]+")
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


class _NoRedirect(HTTPRedirectHandler):
    """A provider's keys are only fetched from the configured address; redirects are refused."""

    def redirect_request(self, *_: Any) -> None:
        return None


class ProviderKeys:
    """The public keys with which the provider signs, fetched on demand."""

    def __init__(self, issuer: str, place: str | None, ca_file: Path | None) -> None:
        self._issuer = issuer
        self._place = place
        self._ca_file = ca_file
        self._keys: dict[str, PyJWK] = {}
        self._fetched = self._asked = float("-inf")
        self._lock = threading.Lock()

    def find(self, id: str | None) -> PyJWK | None:
        """The key with this id; the only one, if the token has no key id."""
        with self._lock:
            now = time.monotonic()
            if now - self._fetched > KEYS_SECONDS or self._known(id) is None:
                self._refresh(now)
            return self._known(id)

    def _known(self, id: str | None) -> PyJWK | None:
        if id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(id)

    def _refresh(self, now: float) -> None:
        # Requests with unknown key ids must not make this server fetch the keys each time.
        if now - self._asked < UNKNOWN_KEY_SECONDS:
            return
        self._asked = now
        try:
            self._keys = self._read()
            self._fetched = now
        except (OSError, ValueError, ClewError) as problem:
            # Cached keys are still used, so that a temporary failure of the provider locks no one out.
            log.warning("the keys of %s could not be read: %s", self._issuer, problem)

    def _read(self) -> dict[str, PyJWK]:
        from jwt import PyJWK
        from jwt.exceptions import PyJWKError

        found: dict[str, PyJWK] = {}
        for number, entry in enumerate(self._key_set()):
            if entry.get("use", "sig") != "sig" or entry.get("kty") == "oct":
                continue
            try:
                found[str(entry.get("kid") or f"#{number}")] = PyJWK.from_dict(entry)
            except PyJWKError:
                continue  # of a type that this version does not support
        return found

    def _key_set(self) -> list[dict[str, Any]]:
        place = self._place or self._discovered()
        data = self._fetch(place) if "://" in place else orjson.loads(Path(place).expanduser().read_bytes())
        keys = data.get("keys") if isinstance(data, dict) else None
        if not isinstance(keys, list):
            raise ValueError(f"{place} holds no keys")
        return [entry for entry in keys if isinstance(entry, dict)]

    def _discovered(self) -> str:
        known = self._fetch(self._issuer.rstrip("/") + DISCOVERY)
        place = known.get("jwks_uri") if isinstance(known, dict) else None
        if not isinstance(place, str):
            raise ValueError(f"{self._issuer}{DISCOVERY} names no keys")
        return place

    def _fetch(self, address: str) -> Any:
        check_provider_address(address)
        context = ssl.create_default_context()
        if self._ca_file is not None:
            context.load_verify_locations(self._ca_file)
        opener = build_opener(_NoRedirect, HTTPSHandler(context=context))
        asked = Request(address, headers={"Accept": "application/json"})
        with opener.open(asked, timeout=TO_ANSWER_SECONDS) as answer:
            data = answer.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError(f"{address} answers more than {MOST_BYTES} bytes")
        return orjson.loads(data)


def check_provider_address(address: str) -> None:
    """Refuse addresses whose response could be modified in transit."""
    parts = urlsplit(address)
    is_here = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if parts.scheme == "https" or (parts.scheme == "http" and is_here):
        return
    raise ClewError(
        "INVALID_INPUT",
        f"{address[:200]!r} is no address of an identity provider",
        "Use https://...; http:// only for 127.0.0.1.",
    )


class IdentityProvider:
    """Determines the owner of a JWT."""

    def __init__(self, settings: Settings, issuer: str) -> None:
        check_provider_address(issuer)
        self.issuer = issuer
        self._audience = list(settings.jwt_audience) or _own_names(settings)
        self._name_claim = settings.jwt_name_claim
        self._unscoped: frozenset[str] = frozenset(settings.jwt_scopes)
        self._keys = ProviderKeys(issuer, settings.jwt_keys, settings.ca_file)

    def principal(self, secret: str) -> Principal | None:
        """The owner of the token; None if it is not valid here and now."""
        from jwt import PyJWTError

        try:
            claims = self._claims(secret)
            return None if claims is None else self._described(claims)
        except (PyJWTError, ClewError, ValueError) as problem:
            log.info("a token of %s is refused: %s", self.issuer, problem)
            return None

    def _claims(self, secret: str) -> dict[str, Any] | None:
        import jwt

        key = self._keys.find(jwt.get_unverified_header(secret).get("kid"))
        if key is None:
            return None
        required = ["exp", "iss", "aud", "sub"]
        claims: dict[str, Any] = jwt.decode(
            secret,
            key,
            algorithms=[key.algorithm_name] if key.algorithm_name in ALGORITHMS else [],
            audience=self._audience,
            issuer=self.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": required},
        )
        return claims

    def _described(self, claims: dict[str, Any]) -> Principal | None:
        scopes = self._scopes(claims)
        named = claims.get(WORKSPACES_CLAIM)
        workspaces = tuple(check_workspace(name) for name in _words(named))
        # An empty claim means no workspaces or scopes, not all of them.
        if not scopes or (named is not None and not workspaces):
            return None
        subject = str(claims["sub"])
        name = _agent_name(str(claims.get(self._name_claim) or subject))
        return Principal(name, scopes, workspaces, f"jwt:{subject}") if name else None

    def _scopes(self, claims: dict[str, Any]) -> frozenset[str]:
        """Clew's scopes in the token; the fallback is the setting."""
        sent = {*_words(claims.get("scope")), *_words(claims.get("scp"))}
        ours = {word for word in sent if word.startswith("clew:")}
        return frozenset(SCOPES[word] for word in ours if word in SCOPES) if ours else self._unscoped


def provider_of(settings: Settings) -> IdentityProvider | None:
    return IdentityProvider(settings, settings.jwt_issuer) if settings.jwt_issuer else None


def is_jwt(secret: str) -> bool:
    return len(secret) <= MOST_TOKEN and _SHAPE.fullmatch(secret) is not None


def resource_metadata(settings: Settings, address: str) -> dict[str, Any]:
    """The metadata that an MCP client needs to get a token for this server (RFC 9728); `address` is that of `/mcp`."""
    return {
        "resource": address,
        "resource_name": "Clew",
        "authorization_servers": [settings.jwt_issuer],
        "scopes_supported": sorted(SCOPES),
        "bearer_methods_supported": ["header"],
    }


def _own_names(settings: Settings) -> list[str]:
    """The audience of tokens for this server: its address, with and without the path of MCP."""
    if not settings.public_url:
        raise ClewError(
            "INVALID_INPUT",
            "jwt_issuer is set, and nothing says for whom its tokens must be made",
            "Set CLEW_JWT_AUDIENCE, or CLEW_PUBLIC_URL to this server's address.",
        )
    return [f"{settings.public_url}/mcp", settings.public_url, f"{settings.public_url}/"]


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [str(item) for item in value] if isinstance(value, list) else []


def _agent_name(value: str) -> str:
    """The name as an author: `ines@example.com` -> `ines-example.com`. Never a person's, which begins with @."""
    return _UNFIT.sub("-", value.lower()).strip("-._")[:64].strip("-._")
