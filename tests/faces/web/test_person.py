"""What only a person may do on the page: somebody who signed in approves the check of a rule, with a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clew.app import open_clew
from clew.settings import load_settings
from tests.faces.web.server import Server
from tests.identity.test_sign_in import Visitor
from tests.people import code_for

TOKEN = "marlinspike"


@pytest.fixture(scope="module", params=["", TOKEN], ids=["open", "token"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home: Path = tmp_path_factory.mktemp("person") / "home"
    server = Server(home, CLEW_TOKEN=request.param, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


@pytest.fixture
def bearer(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"} if "token" in request.node.name else {}


@pytest.fixture
def ada(server: Server) -> Visitor:
    visitor = Visitor(server)
    with closing(open_clew(load_settings({"home": server.home}, {}, server.home))) as store:
        assert visitor.sign_in(code_for(store, "@ada")) == 200
    return visitor


def rule(server: Server, bearer: dict[str, str]) -> str:
    guard = {"commands": ["git push * --force"], "action": "deny"}
    made = server.call("remember", bearer, text="Nobody rewrites main", kind="rule", guard=guard, fmt="json")
    return str(made["result"]["id"])


def test_a_person_approves_a_check_and_takes_it_back(server: Server, bearer: dict[str, str], ada: Visitor) -> None:
    id = rule(server, bearer)
    done = ada.ask("guard_approve", id=id)
    assert done["success"] and done["result"]["approved_by"] == "@ada"
    [row] = ada.ask("guards", id=id)["result"]["guards"]
    assert (row["state"], row["approved_by"]) == ("guards", "@ada")
    assert ada.ask("guard_revoke", id=id)["result"]["state"] == "waits"
    events = ada.ask("events_list", types=["guard_approved", "guard_revoked"], limit=20)["result"]["events"]
    told = [event["payload"] for event in events if event["subject"] == id]
    assert len(told) == 2 and all((it["by"], it["at"]) == ("@ada", "the page") for it in told)


def test_nobody_else_does(server: Server, bearer: dict[str, str], ada: Visitor) -> None:
    """Not without a login, not with a guessed key, and not with the token and a name alone."""
    id = rule(server, bearer)
    name = {"x-clew-author": "ada"}
    refused = [
        server.call("guard_approve", {**name, **bearer}, id=id),
        server.call("guard_approve", {**name, **bearer, "x-clew-key": "guessed"}, id=id),
        server.call("guard_approve", {**bearer, "cookie": ada.http.headers["cookie"]}, id=id),
    ]
    assert [answer["error"]["details"]["rule"] for answer in refused] == ["person"] * len(refused)
    assert ada.ask("guards", id=id)["result"]["guards"][0]["state"] == "waits"
