"""PostgreSQL behind a connection pooler, and one that grants few connections."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from clew.app import Clew, open_clew
from clew.errors import ClewError
from clew.faces.cli.checks import check_store
from clew.settings import load_settings
from clew.store.postgres import PostgresDatabase
from tests.conftest import Caller
from tests.waiting import until

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
PROCESSES, WRITES = 4, 12
Connected = Callable[[str], Caller]


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Connected]:
    """Clews over one database, as processes on several machines have them."""
    made: list[Clew] = []

    def make(url: str) -> Caller:
        flags = {"home": tmp_path / str(len(made)), "workspace": "ws", "database_url": url, "embedding_model": "none"}
        made.append(open_clew(load_settings(flags, {}, tmp_path)))
        return Caller(made[-1])

    yield make
    for clew in made:
        clew.close()


@pytest.fixture(params=["transaction", "session"])
def pooled_url(request: pytest.FixtureRequest, empty_postgres_url: str) -> Iterator[str]:
    """The same database through PgBouncer, with fewer connections than there are clients."""
    if PGBOUNCER is None:
        pytest.skip("PgBouncer is not installed: `make programs` as root installs it")
    place = Path(tempfile.mkdtemp(prefix="clew-pgbouncer-"))
    place.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    parts = urlsplit(empty_postgres_url)
    most = 2 if request.param == "transaction" else 2 * PROCESSES
    server = Path(parse_qs(parts.query)["host"][0])
    (place / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={server} user=postgres\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = {request.param}\ndefault_pool_size = {most}\n"
    )
    # It refuses to run as root, and the server's socket is for the server's own user.
    as_user = ["-u", server.owner()] if os.geteuid() == 0 else []
    with (place / "log").open("w") as log:
        process = subprocess.Popen([PGBOUNCER, *as_user, place / "pgbouncer.ini"], stderr=log, stdout=log)
    try:
        until(lambda: listens(port) or process.poll() is not None, "PgBouncer did not start")
        assert process.poll() is None, (place / "log").read_text()
        yield f"postgresql://postgres@127.0.0.1:{port}{parts.path}"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(place)


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


def write(caller: Caller, who: int) -> list[str]:
    """Several writes with reads between them, as an agent makes them."""
    kept = []
    for number in range(WRITES):
        text = f"writer {who} keeps number {number} of its own"
        kept.append(caller("remember", kind="note", text=text)["id"])
        assert caller("recall", query=text)["results"]
    return kept


def test_writers_behind_a_pooler_lose_nothing_and_meet_no_error(pooled_url: str, connected: Connected) -> None:
    callers = [connected(pooled_url) for _ in range(PROCESSES)]
    callers[0]("status")  # makes the schema
    with ThreadPoolExecutor(PROCESSES) as pool:
        kept = [id for ids in pool.map(write, callers, range(PROCESSES)) for id in ids]
    assert len(set(kept)) == PROCESSES * WRITES
    for id in kept:
        assert callers[-1].answer("open", id=id).ok


def test_no_setting_and_no_statement_of_ours_is_met_by_the_next_client(pooled_url: str, connected: Connected) -> None:
    write(connected(pooled_url), 0)
    with psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None) as stranger:
        for setting in ("enable_seqscan", "enable_hashjoin", "jit"):
            assert stranger.execute(f"SHOW {setting}").fetchone() == ("on",), setting
        for setting in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            assert stranger.execute(f"SHOW {setting}").fetchone() == ("0",), setting
        assert stranger.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
        assert stranger.execute("SELECT count(*) FROM pg_listening_channels()").fetchone() == (0,)


def test_limits_hold_within_a_transaction_behind_a_pooler(pooled_url: str) -> None:
    database = PostgresDatabase(pooled_url, wait_seconds=3.0)
    try:
        with database.read() as tx:
            assert tx.value("SHOW enable_seqscan") == "off"
            assert tx.value("SHOW lock_timeout") == "3s"
        with database.write() as tx:
            assert tx.value("SHOW plan_cache_mode") == "force_generic_plan"
    finally:
        database.close()


def test_changes_of_others_are_seen_behind_a_pooler(pooled_url: str, connected: Connected) -> None:
    writer = connected(pooled_url)
    writer("notes_commit", content="the first note")
    follower = PostgresDatabase(pooled_url)
    try:
        changes = follower.changes(wait=0.05)
        next(changes)
        with follower.read() as tx:
            before = tx.value("SELECT max(event_seq) FROM workspace")
        writer("notes_commit", content="the second note")

        def grown() -> bool:
            next(changes)
            with follower.read() as tx:
                return bool(tx.value("SELECT max(event_seq) FROM workspace") > before)

        until(grown)
    finally:
        follower.close()


def test_doctor_says_that_there_is_a_pooler(pooled_url: str, connected: Connected) -> None:
    found = {finding.check: finding for finding in check_store(connected(pooled_url).clew)}
    assert found["store"].state == "ok"
    assert "pooler" in found["connections"].detail
    assert found["connections"].state == "ok"


def test_doctor_says_that_there_is_none(postgres_url: str, connected: Connected) -> None:
    found = {finding.check: finding for finding in check_store(connected(postgres_url).clew)}
    assert "pooler" not in found["connections"].detail
    assert "at most 8" in found["connections"].detail


@pytest.fixture
def limited_url(postgres_server: Any) -> Iterator[str]:
    """A role that may have two connections, in all processes together."""
    role = f"limited_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as server:
        server.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2")
        server.execute(f"CREATE DATABASE {role} OWNER {role}")
        yield postgres_server.get_uri(database=role).replace("postgres:@", f"{role}:@")
        server.execute(f"DROP DATABASE {role} WITH (FORCE)")
        server.execute(f"DROP ROLE {role}")


def test_processes_share_the_few_connections_of_a_role(limited_url: str, connected: Connected) -> None:
    callers = [connected(limited_url) for _ in range(PROCESSES)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        kept = [id for ids in pool.map(write, callers, range(PROCESSES)) for id in ids]
    assert len(set(kept)) == PROCESSES * WRITES


def test_doctor_names_the_limit_of_a_role(limited_url: str, connected: Connected) -> None:
    found = {finding.check: finding for finding in check_store(connected(limited_url).clew)}
    assert found["connections"].state == "note"
    assert "2 connections" in found["connections"].detail


def test_who_gets_no_connection_at_all_is_told_why(limited_url: str) -> None:
    database = PostgresDatabase(limited_url, wait_seconds=0.2)
    with (
        psycopg.connect(limited_url),
        psycopg.connect(limited_url),
        pytest.raises(ClewError, match="too many connections") as refused,
        database.read(),
    ):
        pass
    database.close()
    assert refused.value.code == "STORE_LOCKED"
    assert "CLEW_DATABASE_CONNECTIONS" in str(refused.value.recovery)


def open_connections(server: Any, url: str) -> int:
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (name,)).fetchone()
    assert row is not None
    return int(row[0])


def test_idle_connections_are_given_back(postgres_server: Any, empty_postgres_url: str) -> None:
    database = PostgresDatabase(empty_postgres_url, kept_seconds=0.1)
    try:
        with database.read():
            assert open_connections(postgres_server, empty_postgres_url) == 1
        until(lambda: open_connections(postgres_server, empty_postgres_url) == 0)
        with database.read() as tx:
            assert tx.value("SELECT 1") == 1
    finally:
        database.close()


def test_a_process_opens_no_more_connections_than_it_may(postgres_server: Any, empty_postgres_url: str) -> None:
    database = PostgresDatabase(empty_postgres_url, most_connections=2)

    def read(_: int) -> int:
        with database.read() as tx:
            tx.value("SELECT 1 FROM pg_sleep(0.01)")
            return open_connections(postgres_server, empty_postgres_url)

    try:
        with ThreadPoolExecutor(6) as pool:
            assert max(pool.map(read, range(12))) <= 2
    finally:
        database.close()
