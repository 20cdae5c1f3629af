"""Who may talk to the HTTP server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from clew.errors import ClewError
from clew.faces.http import Hosts, check_address
from tests.faces.mcp.process import ROOT, environment, http_process
from tests.waiting import PATIENCE

TOKEN = "correct-horse-battery-staple"
PING = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}


def post(address: str, **headers: str) -> httpx2.Response:
    accepted = {"accept": "application/json, text/event-stream", **headers}
    return httpx2.post(f"{address}/mcp", json=PING, headers=accepted, timeout=60)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("guarded")
    with http_process(
        "tests.faces.mcp.serve", home, "http", CLEW_TOKEN=TOKEN, CLEW_ALLOWED_HOSTS="clew.example.org"
    ) as found:
        yield found


@pytest.mark.parametrize("host", ["evil.com", "evil.com:80", "127.0.0.1.evil.com", "localhost@evil.com", ""])
def test_another_host_is_not_ours(address: str, host: str) -> None:
    assert post(address, host=host).status_code == 421
    assert httpx2.get(f"{address}/health", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.com", "https://localhost.evil.com", "null", "file://localhost"])
def test_another_site_may_not_call(address: str, origin: str) -> None:
    assert post(address, origin=origin).status_code == 403
    assert post(address, origin="http://localhost:3000").status_code not in {401, 403, 421}


def test_a_token_is_needed_when_one_is_set(guarded: str) -> None:
    refused = post(guarded)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert post(guarded, authorization="Bearer wrong").status_code == 401
    assert post(guarded, authorization=f"Basic {TOKEN}").status_code == 401
    assert post(guarded, **{"x-mindmem-token": "wrong"}).status_code == 401
    assert post(guarded, authorization=f"Bearer {TOKEN}").status_code not in {401, 403}
    assert post(guarded, **{"x-mindmem-token": TOKEN}).status_code not in {401, 403}


def test_a_named_host_is_ours(guarded: str) -> None:
    assert post(guarded, host="clew.example.org", authorization=f"Bearer {TOKEN}").status_code not in {401, 421}


def test_a_large_body_is_refused(address: str) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"' + b"x" * 5_000_000 + b'"}}'
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    assert httpx2.post(f"{address}/mcp", content=body, headers=headers, timeout=60).status_code == 413


def test_an_open_address_needs_a_token(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faces.mcp.serve", "http", "0.0.0.0"]
    refused = subprocess.run(command, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0
    assert "CLEW_TOKEN" not in refused.stdout and "without a token" in refused.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", ""])
def test_only_loopback_is_open(host: str) -> None:
    with pytest.raises(ClewError):
        check_address(host, None)
    check_address(host, TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_loopback_needs_no_token(host: str) -> None:
    check_address(host, None)


def test_a_server_on_the_network_answers_to_addresses_and_its_own_names() -> None:
    hosts = Hosts("0.0.0.0", ["clew.example.org"])
    for host in ("192.168.1.2:1731", "[::1]:1731", "Clew.Example.org", "localhost"):
        assert hosts.allows(host)
    for foreign in ("evil.com", None, "clew.example.org:x", "clew.example.org/path"):
        assert not hosts.allows(foreign)
    assert not Hosts("127.0.0.1").allows("192.168.1.2")


def test_the_log_never_shows_the_token(tmp_path: Path) -> None:
    code = (
        "import logging; from clew.logs import configure_logs; from clew.settings import load_settings;"
        "settings = load_settings(); configure_logs(settings);"
        "logging.getLogger('x').error('Bearer %s', settings.token)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(tmp_path, CLEW_TOKEN=TOKEN),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert TOKEN not in run.stderr and "<redacted>" in run.stderr
