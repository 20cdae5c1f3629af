"""What only a person may do: the page does it for somebody who has logged in, has a name and was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import pytest

from tests.faces.web.server import Server

TOKEN = "marlinspike"
NAME = {"x-clew-author": "ada"}


class Browser:
    """Keeps its cookie, and the key in its storage."""

    def __init__(self, server: Server, token: str = "") -> None:
        self._server = server
        self._opener: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))
        self.key: str = self.post("/page/login", {"token": token}, {})["key"]

    def post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        request = Request(self._server.address + path, json.dumps(body).encode(), {"x-clew-page": "1", **headers})
        with self._opener.open(request, timeout=60) as response:
            return json.loads(response.read())

    def ask(self, name: str, headers: dict[str, str], confirmed: object = True, **arguments: Any) -> Any:
        body = {"name": name, "arguments": arguments, "confirmed": confirmed}
        return self.post("/page/call", body, {"x-clew-key": self.key, **headers})


@pytest.fixture(scope="module", params=["", TOKEN], ids=["open", "token"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home: Path = tmp_path_factory.mktemp("person") / "home"
    server = Server(home, CLEW_TOKEN=request.param, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


@pytest.fixture
def token(request: pytest.FixtureRequest) -> str:
    return TOKEN if "token" in request.node.name else ""


def rule(server: Server, token: str) -> str:
    guard = {"commands": ["git push * --force"], "action": "deny"}
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    made = server.call("remember", bearer, text="Nobody rewrites main", kind="rule", guard=guard, fmt="json")
    return str(made["result"]["id"])


def test_a_person_approves_a_check_and_takes_it_back(server: Server, token: str) -> None:
    browser, id = Browser(server, token), rule(server, token)
    done = browser.ask("guard_approve", NAME, id=id)
    assert done["success"] and done["result"]["approved_by"] == "ada"
    [row] = browser.ask("guards", NAME, id=id)["result"]["guards"]
    assert (row["state"], row["approved_by"]) == ("guards", "ada")
    assert browser.ask("guard_revoke", NAME, id=id)["result"]["state"] == "waits"
    events = browser.ask("events_list", NAME, types=["guard_approved", "guard_revoked"], limit=20)["result"]["events"]
    told = [event["payload"] for event in events if event["subject"] == id]
    assert len(told) == 2 and all((it["by"], it["at"]) == ("ada", "the page") for it in told)


def test_nobody_else_does(server: Server, token: str) -> None:
    """Not without a name, without the question, without the login, and not with the token alone."""
    browser, id = Browser(server, token), rule(server, token)
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    refused = [
        browser.ask("guard_approve", {}, id=id),
        browser.ask("guard_approve", NAME, confirmed="yes", id=id),
        browser.ask("guard_approve", NAME, confirmed=False, id=id),
        browser.ask("guard_approve", {**NAME, **bearer, "x-clew-key": "guessed"}, id=id),
        server.call("guard_approve", {**NAME, **bearer}, id=id),
    ]
    assert [answer["error"]["code"] for answer in refused] == ["NOT_ALLOWED"] * len(refused)
    assert browser.ask("guards", NAME, id=id)["result"]["guards"][0]["state"] == "waits"
