"""deploy/nginx/clew.conf in front of two servers: each request goes to the next one, and one of them is killed."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.sync.client import connect

from clew.app import open_clew
from clew.settings import load_settings
from tests.conftest import FAST, ROOT
from tests.faces.web.server import Server
from tests.identity.http_client import Program, envelope_of, message_of, stateless_post
from tests.people import code_for
from tests.remote.tls import certificates
from tests.waiting import until

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin") or shutil.which("nginx")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
TRIES = 5
PROGRAMS, CALLS = 4, 12
BY_THE_PROXY = {502, 504}
"""What a proxy answers for a server that ended under a request."""
Post = Callable[[str, dict[str, Any]], httpx2.Response]


@dataclass
class Team:
    flags: dict[str, Any]
    servers: list[Server]
    address: str
    trust: ssl.SSLContext


@pytest.fixture
def team(tmp_path: Path, database_flags: dict[str, Any]) -> Iterator[Team]:
    more = {"CLEW_DATABASE_URL": database_flags["database_url"]} if "database_url" in database_flags else {}
    more |= {"CLEW_EMBEDDING_MODEL": "none", "CLEW_WORKSPACE_LOCK": "false", "CLEW_TRUSTED_PROXIES": "127.0.0.1"}
    servers = [Server(tmp_path / "home", **more) for _ in range(2)]
    place = FAST / f"{tmp_path.name}-nginx"
    authority, certificate = certificates(place)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (place / "nginx.conf").write_text(configuration(port, certificate, [server.address for server in servers]))
    assert NGINX is not None
    command = [NGINX, "-p", str(place), "-c", "nginx.conf", "-e", "error.log"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(port) or process.poll() is not None, "nginx did not start")
        assert process.poll() is None, (place / "error.log").read_text()
        yield Team(
            database_flags, servers, f"https://localhost:{port}", ssl.create_default_context(cafile=str(authority))
        )
    finally:
        process.terminate()
        process.wait()
        for server in servers:
            server.stop()
        shutil.rmtree(place)


def configuration(port: int, certificate: Path, servers: list[str]) -> str:
    """The file as it is shipped, with this machine's addresses in it."""
    shipped = (ROOT / "deploy/nginx/clew.conf").read_text(encoding="utf-8")
    options = re.search(r"server 127\.0\.0\.1:1731(.*);", shipped)
    assert options is not None
    listed = "\n".join(f"    server {server.removeprefix('http://')}{options[1]};" for server in servers)
    text = re.sub(r"    server 127\.0\.0\.1:1731.*;", listed, shipped)
    for wanted, ours in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("server_name clew.example.com", "server_name localhost"),
        ("/etc/ssl/clew.pem", str(certificate)),
        ("/etc/ssl/private/clew.key", str(certificate)),
    ):
        assert wanted in text, wanted
        text = text.replace(wanted, ours)
    folders = "".join(f"    {kind}_temp_path temp;\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return (
        "daemon off;\nmaster_process off;\npid nginx.pid;\nevents {}\n"
        f"http {{\n    access_log off;\n{folders}{text}\n}}\n"
    )


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


def kept(post: Post, who: int, number: int, again: str = "") -> str:
    """The id of a note; a call that the proxy could not bring to an end is repeated under its request id."""
    arguments = {"kind": "note", "text": f"note {number} of program {who}", "fmt": "json"}
    arguments["request_id"] = f"{again}program-{who}-{number}"
    # More than once: a server that is killed on a busy machine may take another request before it is gone.
    answer = next(filter(None, (whole(post, arguments) for _ in range(TRIES))), None)
    assert answer is not None
    assert answer.status_code == 200, answer.text
    envelope = envelope_of(message_of(answer)["result"])
    if not envelope["success"]:
        # The server that ended had begun it, and nobody knows how far it was. One looks, and calls again if need be.
        assert envelope["error"]["details"] == {"outcome": "unknown"}, envelope["error"]
        there = [note["id"] for note in notes(post) if note["title"] == arguments["text"]]
        return there[0] if there else kept(post, who, number, "again-")
    return str(envelope["result"]["id"])


def notes(post: Post) -> list[dict[str, Any]]:
    listed = post("record_list", {"kind": "note", "limit": 200, "fmt": "json"})
    found: list[dict[str, Any]] = envelope_of(message_of(listed)["result"])["result"]["records"]
    return found


def whole(post: Post, arguments: dict[str, Any]) -> httpx2.Response | None:
    """None where the server ended under the request: the proxy says so, or the answer breaks off."""
    try:
        answer = post("remember", arguments)
    except httpx2.RemoteProtocolError:
        return None
    return None if answer.status_code in BY_THE_PROXY else answer


def posts(team: Team, who: int) -> Post:
    """One half of the programs have sessions, the other half speak the newer protocol, which has none."""
    if who % 2:
        return lambda name, arguments: stateless_post(team.address, name, arguments, team.trust)
    program = Program(team.address, f"client-{who}", team.trust)
    return lambda name, arguments: program.post(
        {"id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    )


def signed_in(team: Team) -> httpx2.Client:
    with closing(open_clew(load_settings(team.flags, {}, team.flags["home"]))) as store:
        code = code_for(store)
    page = httpx2.Client(base_url=team.address, verify=team.trust, headers={"x-clew-page": "1"}, timeout=60)
    answer = page.post("/page/login", json={"code": code})
    assert answer.status_code == 200, answer.text
    page.headers["x-clew-key"] = answer.json()["key"]
    return page


def test_all_is_right_though_each_request_goes_to_the_next_server_and_one_is_killed(team: Team) -> None:
    page = signed_in(team)
    half_done, done = threading.Semaphore(0), []

    def work(who: int) -> None:
        post = posts(team, who)
        for number in range(CALLS):
            done.append(kept(post, who, number))
            half_done.release()

    with ThreadPoolExecutor(PROGRAMS) as pool:
        working = [pool.submit(work, who) for who in range(PROGRAMS)]
        for _ in range(PROGRAMS * CALLS // 2):
            assert half_done.acquire(timeout=240)
        assert page.get("/page/state").json()["person"] == "@ines"
        team.servers[0].process.kill()
        for one in working:
            one.result(240)
    assert len(set(done)) == PROGRAMS * CALLS
    assert len(notes(posts(team, 1))) == PROGRAMS * CALLS, "nothing is kept twice"
    for _ in range(4):
        assert page.get("/page/state").json()["person"] == "@ines"
    call = page.post("/page/call", json={"name": "open", "arguments": {"id": done[0]}}).json()
    assert call["success"], call


def test_the_pages_socket_and_a_stream_of_events_pass(team: Team) -> None:
    with connect(f"{team.address.replace('https', 'wss')}/ws", ssl=team.trust) as opened:
        opened.send("ping")
        assert opened.recv(timeout=60) == "pong"
    program = Program(team.address, "probe", team.trust)
    with program.http.stream("GET", f"{team.address}/mcp", headers={"mcp-protocol-version": "2025-11-25"}) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
