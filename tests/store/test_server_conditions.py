"""PostgreSQL as others have set it up: another encoding, few rights, short limits, a database that was replaced."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clew.app import Clew, open_clew
from clew.settings import load_settings
from clew.store.postgres_schema import MIGRATION_LOCK
from tests.conftest import Caller
from tests.waiting import PATIENCE, until


def caller(url: str, home: Path) -> Caller:
    return Caller(open_clew(load_settings({"home": home, "workspace": "ws", "database_url": url}, {}, home)))


def refused(url: str, home: Path) -> dict[str, Any]:
    clew = Clew(load_settings({"home": home, "workspace": "ws", "database_url": url}, {}, home))
    try:
        return Caller(clew).error("notes_commit", content="more")
    finally:
        clew.close()


@pytest.fixture
def server(postgres_server: Any) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_letter_is_refused_at_once(
    postgres_server: Any, server: psycopg.Connection[Any], tmp_path: Path, encoding: str
) -> None:
    name = f"letters_{uuid.uuid4().hex[:12]}"
    server.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        error = refused(postgres_server.get_uri(database=name), tmp_path)
        with psycopg.connect(postgres_server.get_uri(database=name)) as connection:
            tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert error["code"] == "STORE_UNAVAILABLE"
    assert encoding in error["message"]
    assert "--encoding=UTF8" in error["recovery"]
    assert tables == (0,)


def test_a_role_that_may_not_make_tables_is_told_so(
    empty_postgres_url: str, server: psycopg.Connection[Any], tmp_path: Path
) -> None:
    role = f"weak_{uuid.uuid4().hex[:12]}"
    server.execute(f"CREATE ROLE {role} LOGIN")
    try:
        error = refused(empty_postgres_url.replace("postgres:@", f"{role}:@"), tmp_path)
    finally:
        server.execute(f"DROP ROLE {role}")
    assert error["code"] == "STORE_READ_ONLY"
    assert "Grant the role" in error["recovery"]


def test_a_limit_of_the_database_does_not_stop_a_long_migration(
    empty_postgres_url: str, server: psycopg.Connection[Any], tmp_path: Path
) -> None:
    name = psycopg.conninfo.conninfo_to_dict(empty_postgres_url)["dbname"]
    server.execute(f"ALTER DATABASE {name} SET statement_timeout = '1s'")
    waited = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{name}' AND wait_event = 'advisory'"
    with psycopg.connect(empty_postgres_url, autocommit=True) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
        made = pool.submit(lambda: caller(empty_postgres_url, tmp_path)("notes_commit", content="kept"))
        long_enough = f"{waited} AND now() - query_start > interval '2 seconds'"
        try:
            until(lambda: made.done() or server.execute(long_enough).fetchone(), "nobody waits for the lock")
        finally:
            other.execute("SELECT pg_advisory_unlock(%s)", (MIGRATION_LOCK,))
        assert made.result(PATIENCE)["workspace"] == "ws"


def test_an_empty_database_in_the_place_of_ours_is_not_filled_before_its_restore(
    empty_postgres_url: str, server: psycopg.Connection[Any], tmp_path: Path
) -> None:
    name = psycopg.conninfo.conninfo_to_dict(empty_postgres_url)["dbname"]
    call = caller(empty_postgres_url, tmp_path)
    call("notes_commit", content="kept")
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    server.execute(f"CREATE DATABASE {name}")
    for _ in range(2):
        error = call.error("notes_commit", content="lost")
        assert error["code"] == "STORE_UNAVAILABLE"
        assert "empty" in error["message"]
    again = caller(empty_postgres_url, tmp_path)
    again("notes_commit", content="begun anew")
    assert call("notes_commit", content="and here too")["workspace"] == "ws"


def test_a_store_that_fails_is_not_answered_with_a_lesson_about_arguments(tmp_path: Path) -> None:
    flags = {"home": tmp_path, "workspace": "ws", "database_url": "postgresql://nobody@127.0.0.1:1/none"}
    answer = Caller(Clew(load_settings(flags, {}, tmp_path))).answer("notes_commit", content="x")
    assert answer.envelope["error"]["recovery"]
    assert answer.envelope["suggestions"] == []
