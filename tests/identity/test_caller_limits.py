"""How much one caller may ask for: requests a minute of a server, and writing calls a day of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clew.app import Clew, open_clew
from clew.faces.http import RateLimit, TooManyCalls
from clew.registry import credentials
from clew.registry.connection import Connection
from clew.registry.credentials import Grant, Principal
from clew.settings import load_settings
from tests.conftest import TickingClock
from tests.faces.web.server import Server
from tests.identity.http_client import Program

SHARED = "the-token-of-the-server"
A_MINUTE = 12


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    home = tmp_path / "home"
    made = Server(home, CLEW_TOKEN=SHARED, CLEW_RATE_LIMIT=str(A_MINUTE), CLEW_EMBEDDING_MODEL="none")
    yield made
    made.stop()


def made_token(clew: Clew, name: str) -> str:
    with clew.database.write() as tx:
        return credentials.make_token(tx, Grant(name, ("read", "write")), clew.dispatcher.clock(), "@ines")[1]


def test_who_asks_too_often_is_told_when_to_ask_again_and_others_are_not_held_up(server: Server) -> None:
    with closing(open_clew(load_settings({"home": server.home}, {}, server.home))) as store:
        greedy, modest = made_token(store, "greedy"), made_token(store, "modest")
    program = Program(server.address, authorization=f"Bearer {greedy}")  # two requests
    answers = [program.post({"id": 3, "method": "tools/list"}) for _ in range(A_MINUTE + 5)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert answers[0].status_code == 200 and len(refused) >= 5
    assert 1 <= int(refused[-1].headers["retry-after"]) <= 60 // A_MINUTE + 1
    again = Program(server.address, authorization=f"Bearer {modest}")
    assert again.post({"id": 3, "method": "tools/list"}).status_code == 200
    page = {"authorization": f"Bearer {greedy}", "x-clew-page": "1"}
    call = httpx2.post(f"{server.address}/page/call", json={"name": "status"}, headers=page, timeout=60)
    assert call.status_code == 429, "whichever way it asks"


def test_a_bucket_fills_again_and_forgets_who_asked_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    limit = RateLimit(60, clock=lambda: now[0])
    for _ in range(60):
        limit.take("one")
    with pytest.raises(TooManyCalls) as refused:
        limit.take("one")
    assert 0 < refused.value.seconds <= 1
    limit.take("other")
    now[0] += 2.5
    limit.take("one")
    limit.take("one")
    with pytest.raises(TooManyCalls):
        limit.take("one")
    monkeypatch.setattr(RateLimit, "CALLERS", 2)
    limit.take("third")
    limit.take("other")  # and "one" is forgotten
    limit.take("one")


def test_a_token_has_so_many_writes_a_day_on_all_servers_together(
    database_flags: dict[str, Any], tmp_path: Path, clock: TickingClock
) -> None:
    flags = {**database_flags, "home": tmp_path / "home", "workspace": "ws", "daily_writes": "3"}
    settings = load_settings({**flags, "embedding_model": "none"}, {}, tmp_path)
    servers = [open_clew(settings) for _ in range(2)]
    for each in servers:
        each.dispatcher.clock = clock

    def said(number: int, token: str, name: str = "notes_commit", /, **given: Any) -> Any:
        caller = Connection(client="probe", durable=False, principal=Principal("ci", token=token))
        given = given or {"content": "a note"}
        return servers[number % 2].dispatcher.call(name, given, caller).envelope

    assert [said(turn, "tok-1")["success"] for turn in range(4)] == [True, True, True, False]
    error = said(0, "tok-1")["error"]
    assert error["details"]["rule"] == "quota" and 0 < error["details"]["retry_after"] <= 86_400
    assert said(1, "tok-1", "op_call", name="notes_commit", arguments={"content": "x"})["error"]
    assert said(0, "tok-1", "recall", query="note")["success"], "reading goes on"
    assert said(0, "tok-2")["success"] and said(1, "")["success"], "others, and the server's own, go on"
    clock.now_ms += error["details"]["retry_after"] * 1000
    assert said(1, "tok-1")["success"]
    with servers[0].database.read() as tx:
        assert tx.value("SELECT count(*) FROM counter WHERE name LIKE 'writes:%'") == 1, "old days are dropped"
    for each in servers:
        each.close()
