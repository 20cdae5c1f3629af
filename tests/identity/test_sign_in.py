"""Signing in at the page with a one-time code, and what a terminal asks before it hands one out."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clew.app import Clew, open_clew
from clew.registry import credentials
from clew.settings import load_settings
from tests.conftest import Caller, TickingClock
from tests.faces.cli.conftest import Shell
from tests.faces.web.server import Server
from tests.people import code_for


class Visitor:
    """A browser at the page of one or several servers over the same store."""

    def __init__(self, *servers: Server) -> None:
        self.addresses = [server.address for server in servers]
        self.http = httpx2.Client(timeout=60, headers={"x-clew-page": "1"})

    def post(self, path: str, body: Any, server: int = 0) -> httpx2.Response:
        # One host for all of them, as behind a proxy: a browser sends its cookie to each.
        return self.http.post(self.addresses[server] + path, json=body, headers={"host": "localhost:1731"})

    def sign_in(self, code: str, server: int = 0) -> int:
        answer = self.post("/page/login", {"code": code}, server)
        if answer.status_code == 200:
            self.http.headers["x-clew-key"] = answer.json()["key"]
            self.http.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        return answer.status_code

    def person(self, server: int = 0) -> str | None:
        found = self.http.get(self.addresses[server] + "/page/state", headers={"host": "localhost:1731"}).json()
        return str(found["person"]) if found["person"] else None

    def ask(self, name: str, server: int = 0, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.post("/page/call", {"name": name, "arguments": arguments}, server).json()
        return answer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def servers(home: Path, database_flags: dict[str, Any]) -> Iterator[list[Server]]:
    more = {"CLEW_DATABASE_URL": database_flags["database_url"]} if "database_url" in database_flags else {}
    made = [Server(home, CLEW_TOKEN="agents", CLEW_EMBEDDING_MODEL="none", **more) for _ in range(2)]
    yield made
    for server in made:
        server.stop()


@pytest.fixture
def store(home: Path, database_flags: dict[str, Any]) -> Iterator[Clew]:
    settings = load_settings({**database_flags, "home": home, "workspace": "ws", "embedding_model": "none"}, {}, home)
    with closing(open_clew(settings)) as found:
        yield found


def test_a_code_signs_in_once_on_every_server_of_the_store(servers: list[Server], store: Clew) -> None:
    visitor, code = Visitor(*servers), code_for(store)
    assert visitor.person() is None
    assert visitor.sign_in(code.lower().replace("-", " ")) == 200
    assert [visitor.person(server) for server in (0, 1)] == ["@ines", "@ines"]
    for number, server in enumerate((1, 0)):
        done = visitor.ask("governance", server, per_day=number + 1)
        assert done["success"], done
    assert Visitor(*servers).sign_in(code) == 401, "a code works once"
    assert visitor.post("/page/logout", {}, 1).status_code == 200
    assert [visitor.person(server) for server in (0, 1)] == [None, None], "signed out everywhere"
    assert visitor.ask("governance", per_day=3) == {"error": "the token is needed"}


def test_half_a_login_is_worth_nothing(servers: list[Server], store: Clew) -> None:
    visitor = Visitor(*servers)
    assert visitor.sign_in(code_for(store)) == 200
    cookie, key = visitor.http.headers["cookie"], visitor.http.headers["x-clew-key"]
    other = Visitor(*servers)
    assert other.sign_in(code_for(store, "@bo")) == 200
    for headers in (
        {"cookie": cookie, "x-clew-key": other.http.headers["x-clew-key"]},
        {"cookie": cookie},
        {"x-clew-key": key},
    ):
        thief = Visitor(*servers)
        thief.http.headers.update(headers)
        assert thief.person() is None


def test_a_code_and_a_login_end_with_time(clew: Clew, clock: TickingClock) -> None:
    code = code_for(clew)
    clock.now_ms += credentials.CODE_MS
    with clew.database.write() as tx:
        assert credentials.redeem_code(tx, code, clock()) is None
    with clew.database.write() as tx:
        principal = credentials.Principal("@ines", frozenset({"approve"}))
        cookie, key = credentials.make_login(tx, principal, clock())
        assert credentials.login_of(tx, cookie, key, clock()) == principal
        clock.now_ms += credentials.LOGIN_MS
        assert credentials.login_of(tx, cookie, key, clock()) is None


def test_the_store_keeps_no_secret_and_no_more_logins_than_it_should(clew: Clew, clock: TickingClock) -> None:
    code = code_for(clew)
    with clew.database.write() as tx:
        made = [credentials.make_login(tx, credentials.Principal("@ines"), clock()) for _ in range(205)]
        rows = tx.all("SELECT * FROM credential")
        text = repr(rows)
        valid = [credentials.login_of(tx, cookie, key, clock()) is not None for cookie, key in made]
    assert code not in text and code.replace("-", "") not in text
    assert not [secret for pair in made for secret in pair if secret in text]
    assert valid == [False] * 5 + [True] * 200, "the oldest went"


class Terminal:
    """A command whose input and output are a terminal, at which somebody types."""

    def __init__(self, shell: Shell, *words: str, **env: str) -> None:
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clew", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=shell.directory,
            env={**shell.environment(), **env},
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def said(self) -> str:
        """All that it said until it ended."""
        parts: list[bytes] = []
        until = time.monotonic() + 120
        while time.monotonic() < until:
            ready, _, _ = select.select([self.ours], [], [], 1)
            try:
                chunk = os.read(self.ours, 65_536) if ready else None
            except OSError:  # the other end is closed
                break
            if chunk == b"":
                break
            parts.append(chunk or b"")
        self.process.wait(60)
        os.close(self.ours)
        return b"".join(parts).decode()


@pytest.fixture
def clew_shell(tmp_path: Path) -> Shell:
    (tmp_path / "person").mkdir()
    return Shell(tmp_path, tmp_path / "home")


def waiting(shell: Shell) -> str:
    made = shell("call", "propose_update", "block_type=decision", "statement=Carts are kept in Redis").json
    return str(made["proposal_id"])


def status(shell: Shell, proposal: str) -> str:
    listed = shell("call", "list_proposals").json["proposals"]
    return next(str(row["status"]) for row in listed if row["proposal_id"] == proposal)


def test_a_shell_without_a_terminal_decides_nothing_and_gets_no_code(clew_shell: Shell) -> None:
    proposal = waiting(clew_shell)
    commands = [
        ("approve", proposal),
        ("reject", proposal, "--reason", "no"),
        ("call", "approve_apply", f"proposal_id={proposal}", "dry_run=false"),
        ("call", "op_call", "name=approve_apply", f'arguments={{"proposal_id": "{proposal}", "dry_run": false}}'),
        ("call", "decide", f"id={proposal}", "verdict=approve"),
        ("call", "governance", "mode=enforce"),
        ("login",),
    ]
    for words in commands:
        for env in ({}, {"CLEW_AGENT_ID": "ceo"}):
            refused = clew_shell(*words, stdin="y\n", env=env)
            assert refused.code == 1 and "person" in refused.err and "terminal" in refused.err, (words, refused)
    assert status(clew_shell, proposal) == "staged"


def test_the_shell_of_an_agent_is_none_even_with_a_terminal(clew_shell: Shell) -> None:
    proposal = waiting(clew_shell)
    for words in (("approve", proposal), ("login",)):
        terminal = Terminal(clew_shell, *words, CLAUDECODE="1")
        terminal.type("y\n")
        assert "the shell of an agent (CLAUDECODE is set)" in terminal.said()
    assert status(clew_shell, proposal) == "staged"


@pytest.mark.parametrize("command", ["approve", "call"])
def test_a_person_at_a_terminal_is_asked_and_named(clew_shell: Shell, command: str) -> None:
    proposal = waiting(clew_shell)
    words = {
        "approve": ("approve", proposal),
        "call": ("call", "approve_apply", f"proposal_id={proposal}", "dry_run=false"),
    }
    refusing = Terminal(clew_shell, *words[command], CLEW_AGENT_ID="ines")
    refusing.type("n\n")
    refusing.said()
    assert status(clew_shell, proposal) == "staged"
    agreeing = Terminal(clew_shell, *words[command], CLEW_AGENT_ID="ines")
    agreeing.type("y\n")
    said = agreeing.said()
    assert status(clew_shell, proposal) == "applied", said
    events = clew_shell("call", "events_list", "types=proposal_applied").json["events"]
    assert [event["agent"] for event in events] == ["@ines"]


def test_clew_login_prints_a_code_that_the_page_takes(clew_shell: Shell) -> None:
    said = Terminal(clew_shell, "login", "--name", "Ines Müller").said()
    code = re.search(r"code\s+([A-Z2-9-]{19})", said)
    link = re.search(r"/#sign-in=([A-Z2-9-]{19})", said)
    assert code and link and code.group(1) == link.group(1), said
    server = Server(clew_shell.home, CLEW_EMBEDDING_MODEL="none")
    try:
        visitor = Visitor(server)
        assert visitor.sign_in(code.group(1)) == 200
        assert visitor.person() == "@ines-muller"
    finally:
        server.stop()


def test_caller_of_the_tests_is_no_person(call: Caller) -> None:
    assert not call.session.person
