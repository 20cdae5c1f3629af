"""A server of a team behind TLS, and a laptop that keeps no store."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.app import Clew, open_clew
from clew.registry import credentials
from clew.registry.credentials import Grant, Scope
from clew.settings import load_settings
from tests.faces.cli.conftest import Ran, Shell
from tests.faces.hooks.stub import ClaudeCode
from tests.faces.resident.shims import ending
from tests.faces.web.server import Server
from tests.remote.tls import TlsProxy, tls_proxy

WORKSPACE = "relay"
SHARED = "the-token-of-the-server"


@dataclass
class Team:
    """The server's side: its store, seen by whoever runs it."""

    home: Path
    server: Server
    proxy: TlsProxy
    authority: Path

    def store(self) -> Clew:
        flags = {"home": self.home, "workspace": "ws", "workspace_lock": False, "embedding_model": "none"}
        return open_clew(load_settings(flags, {}, self.home))

    def token(self, name: str, *scopes: Scope, workspaces: tuple[str, ...] = ()) -> str:
        with closing(self.store()) as clew, clew.database.write() as tx:
            grant = Grant(name, scopes or ("read", "write"), workspaces)
            return credentials.make_token(tx, grant, clew.dispatcher.clock(), "@ines")[1]


@dataclass
class Laptop:
    """A project and a home directory of somebody in the team."""

    place: Path
    team: Team
    token: str

    @property
    def home(self) -> Path:
        return self.place / "home"

    @property
    def project(self) -> Path:
        return self.place / WORKSPACE

    def environ(self) -> dict[str, str]:
        (self.place / "token").write_text(self.token + "\n")
        return {
            "CLEW_SERVER": self.team.proxy.address,
            "CLEW_CA_FILE": str(self.team.authority),
            "CLEW_TOKEN_FILE": str(self.place / "token"),
        }

    def clew(self, *words: str, stdin: str = "", **env: str) -> Ran:
        shell = Shell(self.project, self.home)
        return shell(*words, stdin=stdin, env={**self.environ(), "CLEW_WORKSPACE_LOCK": "", **env})

    def agent(self, session: str = "s-1", seconds: str | None = "20") -> ClaudeCode:
        return ClaudeCode(self.home, self.project, session, seconds, **self.environ())

    def has_no_store(self) -> bool:
        return not [*self.home.glob("*.db*"), *self.home.glob("workspaces")]


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    home = tmp_path / "srv"
    more = {"CLEW_TOKEN": SHARED, "CLEW_EMBEDDING_MODEL": "none", "CLEW_WORKSPACE_LOCK": "false"}
    server = Server(home, directory=tmp_path, **more)
    with tls_proxy(server.address, tmp_path / "tls") as (proxy, authority):
        made = Team(home, server, proxy, authority)
        try:
            yield made
        finally:
            made.server.stop()  # which may be another one by now


@pytest.fixture
def laptop(tmp_path: Path, team: Team) -> Iterator[Laptop]:
    found = Laptop(tmp_path / "ann", team, team.token("ann-laptop"))
    for folder in (found.project / "person", found.home):
        folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(found.project)], check=True, env={**os.environ})
    (found.project / "parser.py").write_text("timeout = 1\n")
    (found.project / "test_parser.py").write_text("from parser import timeout; assert timeout == 1\n")
    with ending(found.home):
        yield found
