"""The socket of a real server: the seed's protocol, and what other processes write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from clew.app import open_clew
from clew.settings import load_settings
from tests.conftest import Caller
from tests.faces.web.server import Server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("socket") / "home"


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    server = Server(home, CLEW_OBSERVATORY_HTTP_API="true", CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


def status(refused: HTTPError) -> int:
    with refused:
        return refused.code


def heard(socket: ClientConnection) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(socket.recv(timeout=60))
    return message


def subscribed(socket: ClientConnection, **wanted: str) -> dict[str, Any]:
    """Subscribes and returns the picture that comes with it."""
    socket.send(json.dumps({"action": "subscribe", **wanted}))
    assert heard(socket)["event"] == "subscribed"
    return heard(socket)


@pytest.mark.parametrize("path", ["/", "/ws"])
def test_ping_is_answered_with_pong(server: Server, path: str) -> None:
    with connect(server.socket_address + path) as socket:
        socket.send("ping")
        assert socket.recv(timeout=60) == "pong"


def test_a_subscriber_gets_the_picture_and_then_what_another_process_writes(server: Server, home: Path) -> None:
    other = Caller(open_clew(load_settings({"home": home, "workspace": "ws", "embedding_model": "none"}, {}, home)))
    session = other("thought", thought="S1|H| the lock is held", nextThoughtNeeded=True)["sessionId"]
    with connect(server.socket_address + "/ws") as socket:
        picture = subscribed(socket, channel="reasoning", sessionId=session)
        assert picture["event"] == "session:snapshot"
        assert [thought["thoughtNumber"] for thought in picture["data"]["thoughts"]] == [1]
        other("thought", thought="second", nextThoughtNeeded=True, sessionId=session)
        event = heard(socket)
        assert (event["channel"], event["event"]) == ("reasoning", "thought:added")
        assert event["data"]["thought"]["thought"] == "second"
        assert event["data"]["parentId"] == f"{session}:1"


def test_sessions_are_told_from_their_start_to_their_end(server: Server) -> None:
    with connect(server.socket_address + "/ws") as socket:
        subscribed(socket, channel="sessions")
        session = server.call("start_new", title="Latency", sessionTags=["perf"])["result"]["sessionId"]
        told = next_of(socket, "session:started")
        started = told["session"]
        assert (started["id"], started["title"], started["status"]) == (session, "Latency", "active")
        assert (told["event"], told["sessionId"], told["title"]) == ("session:started", session, "Latency")
        server.call("thought", thought="one", nextThoughtNeeded=True, sessionId=session)
        server.call("thought", thought="two", nextThoughtNeeded=False, sessionId=session)
        ended = next_of(socket, "session:ended")
        assert (ended["finalThoughtCount"], ended["event"], ended["sessionId"]) == (2, "session:ended", session)
        assert None not in ended.values()


def test_all_sessions_are_followed_with_their_thoughts(server: Server) -> None:
    """The seed's payloads, on the channel `sessions` as on `reasoning`."""
    session = server.call("start_new", title="Followed")["result"]["sessionId"]
    with connect(server.socket_address + "/ws") as socket:
        subscribed(socket, channel="sessions")
        for more in ({}, {"revisesThought": 1}, {"branchId": "alt", "branchFromThought": 1}):
            server.call("thought", thought="seen", nextThoughtNeeded=True, sessionId=session, **more)
        added, revised, branched = (next_of(socket, f"thought:{how}") for how in ("added", "revised", "branched"))
        for how, data in (("added", added), ("revised", revised), ("branched", branched)):
            needed = {"id", "thoughtNumber", "totalThoughts", "thought", "nextThoughtNeeded", "timestamp"}
            assert needed <= set(data["thought"]) and data["thought"]["thought"] == "seen"
            assert (data["event"], data["sessionId"]) == (f"thought:{how}", session)
        assert added["parentId"] is None and added["nodeId"] == f"{session}:1"
        assert revised["parentId"] == f"{session}:1" and revised["originalThoughtNumber"] == 1
        assert (branched["branchId"], branched["fromThoughtNumber"]) == ("alt", 1)


def test_who_asks_for_an_outline_of_all_sessions_gets_no_texts(server: Server) -> None:
    session = server.call("start_new", title="Light")["result"]["sessionId"]
    with connect(server.socket_address + "/ws") as socket:
        socket.send(json.dumps({"action": "subscribe", "channel": "sessions", "outline": True}))
        assert [heard(socket)["event"] for _ in range(2)] == ["subscribed", "sessions:list"]
        server.call("thought", thought="seen", nextThoughtNeeded=True, sessionId=session)
        told = heard(socket)
        assert (told["channel"], told["event"]) == ("sessions", "thought:added")
        assert told["data"] == {"sessionId": session, "nodeId": f"{session}:1", "thoughtNumber": 1}


def next_of(socket: ClientConnection, event: str) -> dict[str, Any]:
    """The data of the next event of that name; others may come before it."""
    while (message := heard(socket))["event"] != event:
        pass
    data: dict[str, Any] = message["data"]
    return data


def test_two_sessions_never_mix(server: Server) -> None:
    first = server.call("thought", thought="one", nextThoughtNeeded=True)["result"]["sessionId"]
    second = server.call("start_new", title="another")["result"]["sessionId"]
    with connect(server.socket_address + "/ws") as socket:
        subscribed(socket, channel="reasoning", sessionId=first)
        server.call("thought", thought="elsewhere", nextThoughtNeeded=True, sessionId=second)
        server.call("thought", thought="here", nextThoughtNeeded=True, sessionId=first)
        assert heard(socket)["data"]["thought"]["thought"] == "here"


def test_an_outline_is_light_and_names_its_request(server: Server) -> None:
    session = server.call("thought", thought="S1|H| first", nextThoughtNeeded=True)["result"]["sessionId"]
    with connect(server.socket_address + "/ws") as socket:
        wish = {"action": "subscribe", "channel": "reasoning", "sessionId": session, "outline": True, "id": 7}
        socket.send(json.dumps(wish))
        assert heard(socket)["data"]["id"] == 7
        part = heard(socket)
        assert (part["event"], part["data"]["first"], part["data"]["last"]) == ("session:outline", True, True)
        assert [(item["thoughtNumber"], "thought" in item) for item in part["data"]["thoughts"]] == [(1, False)]
        server.call("thought", thought="x" * 5000, nextThoughtNeeded=True, sessionId=session)
        thought = heard(socket)["data"]["thought"]
        assert (thought["thought"], thought["length"]) == ("x" * 400, 5000)
        socket.send(json.dumps(wish | {"sessionId": "nope", "id": 8}))
        assert heard(socket)["data"]["id"] == 8
        assert heard(socket)["data"] == {"code": "SESSION_NOT_FOUND", "id": 8, "message": ANY}


def test_a_snapshot_is_bounded_and_says_how_to_read_on(server: Server) -> None:
    session = server.call("start_new", title="Long")["result"]["sessionId"]
    for _ in range(21):
        server.call("thought", thought="x" * 210_000, nextThoughtNeeded=True, sessionId=session)
    with connect(server.socket_address + "/ws", max_size=None) as socket:
        picture = subscribed(socket, channel="reasoning", sessionId=session)["data"]
    assert len(picture["thoughts"]) == 20
    name, cursor = picture["more"]["operation"], picture["more"]["cursor"]
    rest = server.call(name, sessionId=session, cursor=cursor)["result"]["thoughts"]
    assert [thought["thoughtNumber"] for thought in rest] == [21]


def test_a_session_with_many_branches_is_shown_whole(server: Server) -> None:
    session = server.call("thought", thought="root", nextThoughtNeeded=True)["result"]["sessionId"]
    told = {"sessionId": session, "nextThoughtNeeded": True, "branchFromThought": 1}
    for number in range(205):
        server.call("thought", thought=f"try {number}", branchId=f"try-{number}", **told)
    with connect(server.socket_address + "/ws", max_size=None) as socket:
        picture = subscribed(socket, channel="reasoning", sessionId=session)["data"]
    assert len(picture["branches"]) == 205
    assert all(len(branch["thoughts"]) == 1 for branch in picture["branches"].values())


@pytest.mark.parametrize(
    "text", ["not json", "[]", '{"action":"subscribe","channel":"nope"}', '{"action":7}', "x" * 20_000]
)
def test_nonsense_is_answered_with_an_error_and_the_socket_lives(server: Server, text: str) -> None:
    with connect(server.socket_address + "/ws") as socket:
        socket.send(text)
        assert heard(socket)["data"]["code"] == "INVALID_PAYLOAD"
        socket.send("ping")
        assert socket.recv(timeout=60) == "pong"


def test_a_foreign_page_can_neither_follow_nor_write(server: Server) -> None:
    with pytest.raises(InvalidStatus):
        connect(server.socket_address + "/ws", additional_headers={"Origin": "http://localhost:9"})
    with pytest.raises(HTTPError) as refused:
        server.call("notes_commit", {"Origin": "http://localhost:9"}, content="x")
    assert status(refused.value) == 403
    with pytest.raises(HTTPError) as unmarked:
        server.call("notes_commit", {"x-clew-page": "0"}, content="x")
    assert status(unmarked.value) == 403


def test_with_a_token_the_page_asks_for_it(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_TOKEN="correct horse")
    try:
        with pytest.raises(HTTPError) as refused:
            server.call("status")
        assert status(refused.value) == 401
        with pytest.raises(InvalidStatus):
            connect(server.socket_address + "/ws")
        body = json.dumps({"token": "correct horse"}).encode()
        with urlopen(Request(server.address + "/page/login", body, {"x-clew-page": "1"}), timeout=60) as response:
            cookie = response.headers["set-cookie"].partition(";")[0]
            assert "correct horse" not in response.headers["set-cookie"]
            key = json.loads(response.read())["key"]
        assert server.call("status", {"Cookie": cookie, "x-clew-key": key})["success"]
        with connect(f"{server.socket_address}/ws?key={key}", additional_headers={"Cookie": cookie}) as socket:
            socket.send("ping")
            assert socket.recv(timeout=60) == "pong"
        # Any server on this machine is sent the cookie, whatever its port; alone it opens nothing.
        for headers in ({"Cookie": cookie}, {"x-clew-key": key}):
            with pytest.raises(HTTPError) as refused:
                server.call("status", headers)
            assert status(refused.value) == 401
        both = {"Cookie": cookie, "x-clew-key": key}
        urlopen(Request(server.address + "/page/logout", b"{}", {"x-clew-page": "1", **both}), timeout=60).close()
        with pytest.raises(HTTPError) as ended:
            server.call("status", both)
        assert status(ended.value) == 401
    finally:
        server.stop()


def test_the_page_comes_with_strict_headers(server: Server) -> None:
    with urlopen(server.address + "/", timeout=60) as response:
        policy = response.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_the_read_api_reads_and_only_reads(server: Server) -> None:
    session = server.call("thought", thought="one", nextThoughtNeeded=True)["result"]["sessionId"]
    with urlopen(f"{server.address}/api/sessions/{session}", timeout=60) as response:
        assert json.loads(response.read())["thoughts"][0]["thought"] == "one"
    with urlopen(f"{server.address}/api/operations/session_list?limit=1", timeout=60) as response:
        assert json.loads(response.read())["result"]["count"] == 1
    for path in ("/api/operations/notes_commit?content=x", "/api/sessions/nope", "/static/../routes.py"):
        with pytest.raises(HTTPError) as missing:
            urlopen(server.address + path, timeout=60)
        assert status(missing.value) in {400, 404}


def test_a_locked_server_lets_nobody_follow_another_workspace(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_WORKSPACE_LOCK="true", CLEW_EMBEDDING_MODEL="none")
    try:
        with connect(server.socket_address) as socket:
            for channel in ("events", "sessions", "reasoning"):
                socket.send(json.dumps({"action": "subscribe", "channel": channel, "workspace": "other"}))
                refused = heard(socket)
                assert (refused["event"], refused["data"]["code"]) == ("error", "WORKSPACE_LOCKED")
            assert subscribed(socket, channel="sessions")["event"] == "sessions:list"
    finally:
        server.stop()


def test_a_secret_in_an_event_is_hidden_from_those_who_follow(server: Server) -> None:
    with connect(server.socket_address + "/ws") as socket:
        socket.send(json.dumps({"action": "subscribe", "channel": "events"}))
        assert heard(socket)["event"] == "subscribed"
        server.call("tasks_create", kind="plan", title="Rotate password=hunter2")
        told = ""
        while "plan_created" not in told:
            told = str(socket.recv(timeout=60))
        assert "hunter2" not in told
        assert "Rotate password=<redacted>" in told
