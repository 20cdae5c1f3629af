"""Access tokens: what each may do and where, on every server of the store, until it is revoked or has run out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clew.app import Clew, open_clew
from clew.registry import credentials
from clew.registry.credentials import Grant, Principal, Scope
from clew.settings import load_settings
from tests.conftest import TickingClock
from tests.faces.cli.conftest import Shell
from tests.faces.web.server import Server
from tests.identity.http_client import HELLO, Program, message_of
from tests.identity.test_sign_in import Terminal, Visitor

SHARED = "the-token-of-the-server"


def token(clew: Clew, name: str, *scopes: Scope, workspaces: tuple[str, ...] = (), until_ms: int | None = None) -> str:
    with clew.database.write() as tx:
        return credentials.make_token(tx, Grant(name, scopes, workspaces, until_ms), clew.dispatcher.clock(), "@ines")[
            1
        ]


def revoke(clew: Clew, name: str) -> None:
    with clew.database.write() as tx:
        [id] = [made.id for made in credentials.tokens(tx) if made.name == name]
        assert credentials.revoke_token(tx, id)


@pytest.fixture
def servers(tmp_path: Path, database_flags: dict[str, Any]) -> Iterator[list[Server]]:
    more = {"CLEW_DATABASE_URL": database_flags["database_url"]} if "database_url" in database_flags else {}
    more |= {"CLEW_TOKEN": SHARED, "CLEW_EMBEDDING_MODEL": "none", "CLEW_WORKSPACE_LOCK": "false"}
    made = [Server(tmp_path / "home", **more) for _ in range(2)]
    yield made
    for server in made:
        server.stop()


@pytest.fixture
def store(tmp_path: Path, database_flags: dict[str, Any]) -> Iterator[Clew]:
    flags = {**database_flags, "home": tmp_path / "home", "workspace": "ws", "workspace_lock": False}
    with closing(open_clew(load_settings({**flags, "embedding_model": "none"}, {}, tmp_path))) as found:
        yield found


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def status(server: Server, secret: str) -> int:
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    headers = {"accept": "application/json, text/event-stream", **bearer(secret)}
    return httpx2.post(f"{server.address}/mcp", json=opening, headers=headers, timeout=60).status_code


def test_a_revoked_token_is_refused_by_the_next_call_on_every_server(servers: list[Server], store: Clew) -> None:
    secret = token(store, "ci", "read", "write")
    programs = [Program(server.address, **bearer(secret)) for server in servers]
    for program in programs:
        assert program.call("notes_commit", content="a note")["success"]
    events = programs[0].call("events_list", limit=50)["result"]["events"]
    assert {event["agent"] for event in events if event["type"] == "note_committed"} == {"ci"}, (
        "the author is the token's"
    )
    revoke(store, "ci")
    for server, program in zip(servers, programs, strict=True):
        assert program.post({"id": 3, "method": "tools/list"}).status_code == 401
        assert status(server, secret) == 401
        assert status(server, SHARED) == 200


def test_a_session_belongs_to_the_token_that_opened_it(servers: list[Server], store: Clew) -> None:
    mine, other = token(store, "ci", "read"), token(store, "bot", "read", "write")
    program = Program(servers[0].address, **bearer(mine))
    for secret in (other, SHARED):
        program.http.headers.update(bearer(secret))
        assert program.post({"id": 3, "method": "tools/list"}).status_code == 404


def test_an_agents_name_is_not_taken_over_by_an_argument(servers: list[Server], store: Clew) -> None:
    program = Program(servers[0].address, **bearer(token(store, "ci", "read", "write")))
    program.call("tasks_create", kind="plan", title="P", agent_id="ines", fmt="json")
    assert {event["agent"] for event in program.call("events_list", limit=50)["result"]["events"]} <= {"ci", None}


def test_a_persons_token_signs_in_and_decides_but_not_over_mcp(servers: list[Server], store: Clew) -> None:
    secret = token(store, "@bo", "read", "write", "approve", until_ms=None)
    program = Program(servers[0].address, **bearer(secret))
    refused = program.call("governance", per_day=3)
    assert "is for a person" in str(refused)
    program.call("notes_commit", content="a note")
    agents = {event["agent"] for event in program.call("events_list", limit=50)["result"]["events"]}
    assert "@bo" not in agents, "a client with a person's token is a client"
    visitor = Visitor(*servers)
    assert visitor.sign_in(secret) == 200 and visitor.person(1) == "@bo"
    assert visitor.ask("governance", per_day=3)["success"]
    script = {**bearer(secret), "x-clew-page": "1"}
    body = {"name": "governance", "arguments": {"per_day": 4}}
    assert httpx2.post(f"{servers[1].address}/page/call", json=body, headers=script, timeout=60).json()["success"]
    revoke(store, "@bo")
    assert [visitor.person(server) for server in (0, 1)] == [None, None], "whoever signed in with it is out"


def test_a_token_that_ran_out_opens_nothing_and_neither_does_its_login(clew: Clew, clock: TickingClock) -> None:
    until = clock.now_ms + 1000
    secret = token(clew, "ci", "read", until_ms=until)
    with clew.database.write() as tx:
        assert credentials.token_of(tx, secret, clock()) is not None
        cookie, key = credentials.make_login(tx, Principal("ci"), clock(), until)
        clock.now_ms = until
        assert credentials.token_of(tx, secret, clock()) is None
        assert credentials.login_of(tx, cookie, key, clock()) is None
        assert secret not in repr(tx.all("SELECT * FROM credential"))


def test_an_unknown_token_of_ours_is_refused_even_where_none_is_needed(tmp_path: Path) -> None:
    server = Server(tmp_path / "open", CLEW_EMBEDDING_MODEL="none")
    try:
        assert status(server, "whatever a client was told") == 200
        assert status(server, f"{credentials.TOKEN_PREFIX}revoked") == 401
    finally:
        server.stop()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "person").mkdir()
    return Shell(tmp_path, tmp_path / "home")


def made(shell: Shell, *words: str) -> str:
    terminal = Terminal(shell, "token", "create", *words)
    terminal.type("y\n")
    said = terminal.said()
    return next(word for word in said.split() if word.startswith(credentials.TOKEN_PREFIX))


def test_tokens_are_made_listed_and_revoked_by_a_person(shell: Shell) -> None:
    assert shell("token", "create", "ci", stdin="y\n").code == 1, "an agent makes itself none"
    assert "Add --person" in shell("token", "create", "ci", "--scope", "approve").err
    assert "no scope 'root'" in shell("token", "create", "ci", "--scope", "root").err
    made(shell, "ci", "--scope", "read", "--in", "acme/api", "--days", "9")
    admin = made(shell, "Ines", "--person", "--scope", "approve", "--scope", "admin")
    rows = shell("token", "list", "--json").json["tokens"]
    assert [(row["id"], row["name"], row["scopes"], row["workspaces"]) for row in rows] == [
        ("tok-1", "ci", "read", "acme/api"),
        ("tok-2", "@ines", "admin, approve, read", "all"),
    ]
    assert shell("token", "revoke", "tok-1").code == 1
    done = shell("token", "revoke", "tok-1", "--json", env={"CLEW_PERSON_TOKEN": admin})
    assert done.json == {"id": "tok-1", "revoked": True}
    made_by_token = shell("token", "create", "bot", "--json", env={"CLEW_PERSON_TOKEN": admin}).json
    assert (made_by_token["made_by"], made_by_token["scopes"]) == ("@ines", "read, write")


def test_a_persons_token_answers_for_them_without_a_terminal(shell: Shell, tmp_path: Path) -> None:
    secret = made(shell, "Bo", "--person", "--scope", "approve")
    first = shell("remember", "--kind", "rule", "Carts are kept in Redis", "--json").json["result"]["id"]
    again = ("remember", "--kind", "rule", "Orders are kept in PostgreSQL", "--replaces", first, "--json")
    proposal = shell(*again).json["result"]["proposal"]
    weak = made(shell, "ci", "--scope", "write")
    assert "no valid token of a person" in shell("approve", proposal, env={"CLEW_PERSON_TOKEN": weak}).err
    (tmp_path / "secret").write_text(f"{secret}\n")
    assert shell("approve", proposal, env={"CLEW_PERSON_TOKEN_FILE": str(tmp_path / "secret")}).code == 0
    events = shell("call", "events_list", "types=proposal_applied").json["events"]
    assert [event["agent"] for event in events] == ["@bo"]
    assert "cannot be read" in shell("status", env={"CLEW_TOKEN_FILE": str(tmp_path / "none")}).err


def test_a_tokens_workspaces_are_its_default_and_its_fence(servers: list[Server], store: Clew) -> None:
    everyone = Program(servers[0].address, **bearer(SHARED))
    for workspace in ("hr", "web"):
        everyone.call("notes_commit", content=f"secret of {workspace}", workspace=workspace)
    intern = Program(servers[0].address, **bearer(token(store, "intern", "read", "write", workspaces=("web",))))
    assert intern.call("status", fmt="json")["result"]["workspace"] == "web"
    for workspace in ("hr", "ws", "new"):
        for name, arguments in (("show", {"doc_kind": "notes"}), ("notes_commit", {"content": "x"})):
            assert intern.call(name, **arguments, workspace=workspace)["error"]["code"] == "WORKSPACE_NOT_ALLOWED"
    assert message_of(intern.post({"id": 9, "method": "tools/list"}))["result"]["tools"]
