"""Reads from a replica: only where it has what was written, and never instead of an answer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from clew.app import Clew, open_clew
from clew.faces.cli.checks import check_store
from clew.settings import load_settings
from tests.conftest import FAST, Caller
from tests.waiting import until


class Standby:
    """A streaming replica of a server; its replay can be held back."""

    def __init__(self, server: Any) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="clew-replica-", dir=FAST))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._bin, self._user = server.bin_path, server.pgdata.owner()
        shutil.chown(self.place, self._user)
        data = self.place / "data"
        self._run("pg_basebackup", "-d", server.get_uri(), "-D", data, "-R", "-X", "stream", "-c", "fast")
        self._options = f"-c port={self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run("pg_ctl", "-D", data, "-o", self._options, "-w", "-t", "200", "-l", self.place / "log", "start")

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def ask(self, sql: str, *params: Any) -> Any:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            row = connection.execute(sql, params).fetchone()
        return row[0] if row else None

    def end(self) -> None:
        self._run("pg_ctl", "-D", self.place / "data", "-m", "immediate", "-t", "200", "stop")

    def _run(self, name: str, *arguments: Any) -> None:
        as_user = {"user": self._user} if os.geteuid() == 0 else {}
        subprocess.run([self._bin / name, *map(str, arguments)], check=True, capture_output=True, **as_user)


@pytest.fixture
def standby(plain_postgres_server: Any) -> Iterator[Standby]:
    made = Standby(plain_postgres_server)
    yield made
    with suppress(subprocess.CalledProcessError):
        made.end()
    shutil.rmtree(made.place)


@pytest.fixture
def clew(plain_postgres_url: str, standby: Standby, tmp_path: Path) -> Iterator[Clew]:
    flags = {"home": tmp_path, "workspace": "ws", "embedding_model": "none", "database_url": plain_postgres_url}
    flags["database_read_url"] = standby.url(urlsplit(plain_postgres_url).path.removeprefix("/"))
    made = open_clew(load_settings(flags, {}, tmp_path))
    yield made
    made.close()


def answered_by_replica(clew: Clew) -> bool:
    with clew.database.read("ws") as tx:
        return bool(tx.value("SELECT pg_is_in_recovery()"))


def test_a_replica_answers_as_soon_as_it_has_what_was_written_and_not_before(clew: Clew, standby: Standby) -> None:
    call = Caller(clew)
    call("remember", kind="note", text="The relay stands on the hill")
    until(lambda: answered_by_replica(clew), "the replica does not come up")
    assert call("recall", query="relay on the hill")["results"]

    standby.ask("SELECT pg_wal_replay_pause()")
    until(lambda: standby.ask("SELECT pg_get_wal_replay_pause_state()") == "paused")
    for number in range(3):
        kept = call("remember", kind="note", text=f"The relay moved {number} times")["id"]
        assert call("open", id=kept)["id"] == kept
        assert not answered_by_replica(clew)
    standby.ask("SELECT pg_wal_replay_resume()")
    until(lambda: answered_by_replica(clew), "the replica does not catch up")
    assert "moved 2 times" in str(call("recall", query="relay moved 2 times"))


def test_without_its_replica_the_server_goes_on(clew: Clew, standby: Standby) -> None:
    call = Caller(clew)
    kept = call("remember", kind="note", text="The relay stands on the hill")["id"]
    until(lambda: answered_by_replica(clew))
    assert {"replica": "ok"}.items() <= {found.check: found.state for found in check_store(clew)}.items()
    standby.end()
    for _ in range(3):
        assert call("open", id=kept)["id"] == kept
        assert not answered_by_replica(clew)
    assert {"replica": "note"}.items() <= {found.check: found.state for found in check_store(clew)}.items()
