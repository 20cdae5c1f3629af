"""Access tokens of an identity provider: who they are for, what they allow, and how a client finds the provider."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from clew.errors import ClewError
from clew.faces.web.identity_provider import IdentityProvider
from clew.settings import load_settings
from tests.faces.web.server import Server
from tests.identity.http_client import HELLO, Program

RESOURCE = "https://clew.example.com"
SHARED = "the-token-of-the-server"


class Provider:
    """An identity provider with two keys; what it signs is said by each test."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {
            "first": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "second": ec.generate_private_key(ec.SECP256R1()),
        }
        self.asked: list[str] = []
        provider = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked.append(self.path)
                body = json.dumps(provider.document(self.path)).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.issuer = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def document(self, path: str) -> dict[str, Any]:
        if path.startswith("/.well-known"):
            return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}
        return {"keys": [self._public(id) for id in self.keys]}

    def _public(self, id: str) -> dict[str, Any]:
        key = self.keys[id].public_key()
        kind, name = (ECAlgorithm, "ES256") if id == "second" else (RSAAlgorithm, "RS256")
        return {**json.loads(kind.to_jwk(key)), "kid": id, "use": "sig", "alg": name}

    def token(self, key: str = "first", **changed: Any) -> str:
        told = {"iss": self.issuer, "aud": RESOURCE, "sub": "Ines@Example.com", "exp": time.time() + 60, **changed}
        claims = {name: value for name, value in told.items() if value is not None}
        return jwt.encode(claims, self.keys[key], "ES256" if key == "second" else "RS256", {"kid": key})


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.http.shutdown()


@pytest.fixture(scope="module")
def server(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(
        tmp_path_factory.mktemp("jwt"),
        CLEW_JWT_ISSUER=provider.issuer,
        CLEW_PUBLIC_URL=RESOURCE,
        CLEW_TOKEN=SHARED,
        CLEW_EMBEDDING_MODEL="none",
        CLEW_WORKSPACE_LOCK="false",
    )
    yield made
    made.stop()


def opened(server: Server, secret: str) -> httpx2.Response:
    headers = {"authorization": f"Bearer {secret}", "accept": "application/json, text/event-stream"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    return httpx2.post(f"{server.address}/mcp", json=hello, headers=headers, timeout=60)


@pytest.mark.parametrize("key", ["first", "second"])
def test_a_token_of_the_provider_opens_the_server_and_is_the_author(
    server: Server, provider: Provider, key: str
) -> None:
    program = Program(server.address, authorization=f"Bearer {provider.token(key)}")
    assert program.call("remember", kind="note", text=f"written with {key}", fmt="json")["success"]
    events = program.call("events_list", fmt="json")["result"]["events"]
    assert {event["agent"] for event in events} == {"ines-example.com"}


def test_a_new_token_of_the_same_person_goes_on_with_the_session(server: Server, provider: Provider) -> None:
    program = Program(server.address, authorization=f"Bearer {provider.token()}")
    for subject, wanted in (("Ines@Example.com", 200), ("somebody", 404)):
        again = provider.token(sub=subject, exp=time.time() + 90)
        program.http.headers["authorization"] = f"Bearer {again}"
        assert program.post({"id": 3, "method": "tools/list"}).status_code == wanted


def by_hand(algorithm: str, claims: dict[str, Any], key: bytes) -> str:
    """A token that no library signs: with the public key as a shared secret, which a checker accepts that believes the
    token's own `alg`, or not signed at all."""

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = {"alg": algorithm, "kid": "first", "typ": "JWT"}
    text = f"{part(json.dumps(head).encode())}.{part(json.dumps(claims).encode())}"
    return f"{text}.{part(hmac.digest(key, text.encode(), 'sha256')) if key else ''}"


def forged(provider: Provider) -> dict[str, str]:
    now, other = time.time(), rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims = {"iss": provider.issuer, "aud": RESOURCE, "sub": "ines", "exp": now + 60}
    pem = provider.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return {
        "run out": provider.token(exp=now - 120),
        "not yet": provider.token(nbf=now + 600),
        "without an end": provider.token(exp=None),
        "for another server": provider.token(aud="https://other.example.com"),
        "for nobody": provider.token(aud=None),
        "of another issuer": provider.token(iss="https://evil.example.com"),
        "of nobody": provider.token(sub=None),
        "signed by somebody": jwt.encode(claims, other, "RS256", {"kid": "first"}),
        "with an unknown key": jwt.encode(claims, other, "RS256", {"kid": "third"}),
        "with a shared secret": by_hand("HS256", claims, pem),
        "not signed": by_hand("none", claims, b""),
        "for no workspace": provider.token(clew_workspaces=[]),
        "with a broken workspace": provider.token(clew_workspaces=["../etc"]),
        "for nothing that an agent may": provider.token(scope="openid clew:approve"),
        "changed": provider.token()[:-8] + "AAAAAAAA",
    }


def test_no_other_token_opens_it(server: Server, provider: Provider) -> None:
    opens = {name: opened(server, secret).status_code for name, secret in forged(provider).items()}
    assert set(opens.values()) == {401}, opens


def test_many_that_ran_out_lock_nobody_out(server: Server, provider: Provider) -> None:
    old = provider.token(exp=time.time() - 120)
    assert {opened(server, old).status_code for _ in range(25)} == {401}
    assert opened(server, provider.token()).status_code == 200


def test_scopes_and_workspaces_of_the_token_are_its_fence(server: Server, provider: Provider) -> None:
    reader = Program(server.address, authorization=f"Bearer {provider.token(scope='openid clew:read')}")
    assert reader.call("recall", query="anything", fmt="json")["success"]
    asked = {"name": "remember", "arguments": {"kind": "note", "text": "no"}}
    answer = reader.post({"id": 3, "method": "tools/call", "params": asked})
    assert "does not allow to write; it allows read" in answer.text
    fenced = Program(server.address, authorization=f"Bearer {provider.token(clew_workspaces='api relay')}")
    assert fenced.call("recall", query="x", workspace="relay", fmt="json")["success"]
    asked = {"name": "recall", "arguments": {"query": "x", "workspace": "hr"}}
    assert "WORKSPACE_NOT_ALLOWED" in fenced.post({"id": 3, "method": "tools/call", "params": asked}).text


def test_whoever_holds_one_decides_nothing_and_signs_in_nowhere(server: Server, provider: Provider) -> None:
    secret = provider.token(scope="clew:read clew:write clew:approve clew:admin", preferred_username="@ines")
    page = {"authorization": f"Bearer {secret}", "x-clew-page": "1", "x-clew-author": "ceo"}
    with httpx2.Client(base_url=server.address, headers=page, timeout=60) as client:
        assert client.get("/page/state").json()["person"] is None
        assert client.post("/page/login", json={"token": secret}).status_code == 401
        decision = {"name": "governance", "arguments": {"mode": "enforce"}, "confirmed": True}
        answer = client.post("/page/call", json=decision).json()
    assert answer["error"]["details"]["rule"] == "person"


def test_a_client_without_a_token_is_told_where_to_get_one(server: Server, provider: Provider) -> None:
    refused = httpx2.post(f"{server.address}/mcp", json={}, timeout=60)
    told = refused.headers["www-authenticate"]
    assert refused.status_code == 401 and told.startswith("Bearer ")
    address = f"{RESOURCE}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{address}"' in told and "error" not in told
    assert 'error="invalid_token"' in opened(server, "eyJ.eyJ.eyJ").headers["www-authenticate"]
    for path in ("", "/mcp"):
        found = httpx2.get(f"{server.address}/.well-known/oauth-protected-resource{path}", timeout=60).json()
        assert found["resource"] == f"{RESOURCE}/mcp"
        assert found["authorization_servers"] == [provider.issuer]
        assert found["scopes_supported"] == ["clew:read", "clew:write"]


def test_the_servers_own_token_and_nothing_else_works_beside_it(server: Server) -> None:
    assert opened(server, SHARED).status_code == 200
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    assert httpx2.post(f"{server.address}/mcp", json=hello, timeout=60).status_code == 401


def test_a_server_without_a_provider_names_none(tmp_path: Path) -> None:
    server = Server(tmp_path, CLEW_EMBEDDING_MODEL="none", CLEW_TOKEN=SHARED)
    try:
        refused = httpx2.post(f"{server.address}/mcp", json={}, timeout=60)
        assert refused.headers["www-authenticate"] == 'Bearer realm="clew"'
        assert httpx2.get(f"{server.address}/.well-known/oauth-protected-resource", timeout=60).status_code == 404
    finally:
        server.stop()


def asking(tmp_path: Path, provider: Provider, **more: Any) -> IdentityProvider:
    flags = {"home": tmp_path, "jwt_issuer": provider.issuer, "jwt_audience": RESOURCE, **more}
    return IdentityProvider(load_settings(flags, {}, tmp_path), provider.issuer)


def test_keys_are_fetched_once_and_unknown_ones_do_not_make_it_ask_again(tmp_path: Path, provider: Provider) -> None:
    provider.asked.clear()
    known = asking(tmp_path, provider)
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    for number in range(5):
        assert known.principal(provider.token()) is not None
        assert known.principal(jwt.encode({"sub": "x"}, other, "RS256", {"kid": f"unknown-{number}"})) is None
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]


def test_keys_may_lie_in_a_file_and_another_claim_may_be_the_author(tmp_path: Path, provider: Provider) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(provider.document("/keys")), encoding="utf-8")
    provider.asked.clear()
    known = asking(tmp_path, provider, jwt_keys=str(keys), jwt_name_claim="preferred_username", jwt_scopes="read")
    found = known.principal(provider.token(preferred_username="Ines B"))
    assert found is not None and (found.name, found.scopes, found.decides) == ("ines-b", frozenset({"read"}), "")
    assert not provider.asked


def test_a_provider_that_cannot_be_trusted_or_an_audience_that_nobody_names_is_refused(tmp_path: Path) -> None:
    def made(**flags: Any) -> IdentityProvider:
        settings = load_settings({"home": tmp_path, **flags}, {}, tmp_path)
        return IdentityProvider(settings, settings.jwt_issuer or "")

    with pytest.raises(ClewError, match="no address of an identity provider"):
        made(jwt_issuer="http://login.example.com", jwt_audience="x")
    with pytest.raises(ClewError, match="for whom its tokens must be made"):
        made(jwt_issuer="https://login.example.com")


def test_a_provider_that_is_away_opens_nothing(tmp_path: Path, provider: Provider) -> None:
    known = asking(tmp_path, provider, jwt_keys=str(tmp_path / "nothing.json"))
    assert known.principal(provider.token()) is None
