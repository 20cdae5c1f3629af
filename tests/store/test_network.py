"""PostgreSQL behind a network that cuts and swallows: what is said of a write is true, and nobody hangs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from clew.errors import ClewError
from clew.store import postgres_connections
from clew.store.postgres import PostgresDatabase, without_password
from tests.store.proxy import Proxy, Rule
from tests.waiting import until

PUT = "INSERT INTO meta (key, value) VALUES (?, ?)"
COMMIT_SENT = b"COMMIT"
NUMBERS = count()


@pytest.fixture
def direct(postgres_url: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_url)
    yield database
    database.close()


@pytest.fixture
def database(proxy: Proxy) -> Iterator[PostgresDatabase]:
    """A client that waits 0.6 s for each answer: silences are quickly over. Beside busy processes a server that is well
    may be silent for as long, so tests of what succeeds ask again, or take a `patient` client."""
    found = PostgresDatabase(proxy.proxied_url, wait_seconds=2.0, patience=0.6)
    reach(found)
    yield found
    proxy.rule = lambda *_: "pass"
    found.close()


@pytest.fixture
def patient(proxy: Proxy) -> Iterator[PostgresDatabase]:
    found = PostgresDatabase(proxy.proxied_url)
    write(found, "first")
    yield found
    proxy.rule = lambda *_: "pass"
    found.close()


def reach(database: PostgresDatabase) -> None:
    """Write until it succeeds: the pool then holds a connection that has written."""
    until(lambda: attempt(database, f"reached-{next(NUMBERS)}") == "done")


def write(database: PostgresDatabase, key: str) -> None:
    with database.write() as tx:
        tx.run(PUT, key, "1")
        assert tx.value("SELECT value FROM meta WHERE key = ?", key) == "1"
        tx.run(PUT, f"{key}-too", "2")


def stored(database: PostgresDatabase, key: str) -> bool:
    with database.read() as tx:
        found = {row["key"] for row in tx.all("SELECT key FROM meta WHERE key IN (?, ?)", key, f"{key}-too")}
    assert found in (set(), {key, f"{key}-too"}), "all or nothing"
    return bool(found)


def attempt(database: PostgresDatabase, key: str) -> str:
    """What the caller is told: done, failed or unknown."""
    try:
        write(database, key)
    except ClewError as problem:
        assert problem.code == "STORE_UNAVAILABLE"
        assert problem.recovery
        return "unknown" if problem.details.get("outcome") == "unknown" else "failed"
    return "done"


def at(number: int, to_client: bool, what: str) -> Rule:
    return lambda direction, counted, _: what if direction == to_client and counted == number else "pass"


def from_on(number: int, to_client: bool, what: str) -> Rule:
    return lambda direction, counted, _: what if direction == to_client and counted >= number else "pass"


RULES = {"cut": at, "swallow": from_on}
"""A network that dies in silence swallows everything from some message on; TCP never loses one out of the middle."""


@pytest.mark.parametrize("to_client", [False, True])
@pytest.mark.parametrize("what", RULES)
def test_a_connection_that_fails_at_any_message_is_told_truly(
    database: PostgresDatabase, direct: PostgresDatabase, proxy: Proxy, to_client: bool, what: str
) -> None:
    told: list[str] = []
    number = 0
    # Beyond the last message of a write nothing fails any more. Each silence takes seconds, so not all are tried.
    while told[-3:] != ["done"] * 3 or number < 20:
        number += 1 if what == "cut" else 4
        database.close()
        reach(database)
        key = f"{what}-{number}"
        proxy.start(RULES[what](number, to_client, what))
        told.append(attempt(database, key))
        proxy.start(at(0, to_client, "pass"))
        proxy.cut()
        if told[-1] != "unknown":
            assert stored(direct, key) == (told[-1] == "done"), (number, told[-1])
    assert "failed" in told
    assert "unknown" in told


@pytest.mark.parametrize("to_client", [False, True])
def test_a_network_that_delays_every_message_changes_nothing(
    patient: PostgresDatabase, direct: PostgresDatabase, proxy: Proxy, to_client: bool
) -> None:
    proxy.start(from_on(1, to_client, "delay"))
    for number in range(3):
        assert attempt(patient, f"late-{number}") == "done"
        assert stored(direct, f"late-{number}")
    assert proxy.counted[to_client] > 10


def test_a_lost_answer_to_a_commit_is_told_as_unknown(
    patient: PostgresDatabase, direct: PostgresDatabase, proxy: Proxy
) -> None:
    sent = []

    def cut_the_answer(to_client: bool, _: int, message: bytes) -> str:
        if to_client and message.startswith(b"C") and COMMIT_SENT in message:
            sent.append(message)
            return "cut"
        return "pass"

    proxy.start(cut_the_answer)
    assert attempt(patient, "lost") == "unknown"
    assert sent
    proxy.start(at(0, True, "pass"))
    assert stored(direct, "lost")


@pytest.mark.parametrize("to_client", [False, True])
def test_a_silent_server_is_given_up(database: PostgresDatabase, proxy: Proxy, to_client: bool) -> None:
    proxy.start(from_on(1, to_client, "swallow"))
    assert attempt(database, "silent") in ("failed", "unknown")  # at once or never, which the test's timeout tells
    proxy.start(at(0, True, "pass"))
    proxy.cut()
    reach(database)


def test_a_client_that_vanishes_inside_a_write_does_not_lock_the_workspace(
    proxy: Proxy, direct: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connections, "IDLE_SECONDS", 3.0)
    lock = "SELECT value FROM meta WHERE key = 'schema_version' FOR UPDATE"
    vanishing = PostgresDatabase(proxy.proxied_url)
    locked = []
    with pytest.raises(ClewError), vanishing.write() as tx:
        tx.value(lock)
        proxy.start(from_on(1, False, "swallow"))
        with direct.write() as other:
            locked.append(other.value(lock))  # within its lock timeout of 20 s, else it is refused
        proxy.cut()
        tx.value("SELECT 1")
    assert locked, "the other writer had its turn"
    vanishing.close()


def test_writers_that_meet_wait_whatever_isolation_is_the_default(empty_postgres_url: str) -> None:
    one = PostgresDatabase(empty_postgres_url)
    with one.write() as tx:
        tx.run(PUT, "row", "0")
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    one.close()
    other = PostgresDatabase(empty_postgres_url)
    bump = "UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE key = 'row'"
    with other.write() as late:
        assert late.value("SELECT value FROM meta WHERE key = 'row'") == "0"  # a snapshot, in another isolation
        with one.write() as tx:
            tx.run(bump)
        late.run(bump)
    with one.read() as tx:
        assert tx.value("SELECT value FROM meta WHERE key = 'row'") == "2"
    one.close()
    other.close()


def test_a_running_process_does_not_write_into_a_newer_schema(empty_postgres_url: str) -> None:
    database = PostgresDatabase(empty_postgres_url)
    with database.write() as tx:
        tx.run(PUT, "before", "1")
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute("UPDATE meta SET value = '9999' WHERE key = 'schema_version'")
    with pytest.raises(ClewError) as refused, database.write() as tx:
        tx.run(PUT, "after", "1")
    assert refused.value.code == "STORE_TOO_NEW"
    with database.read() as tx:
        assert tx.value("SELECT value FROM meta WHERE key = 'after'") is None
    database.close()


def test_another_database_under_the_same_url_is_another_lineage(empty_postgres_url: str, postgres_url: str) -> None:
    database = PostgresDatabase(empty_postgres_url)
    with database.read() as tx:
        before = tx.generation
    database.close()
    database.url = postgres_url
    with database.read():
        pass
    with database.read() as tx:
        assert tx.generation == before + 1
    database.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:HUNTER2@db:5433/clew", "postgresql://u@db:5433/clew"),
        ("postgresql://u:HUN@TER2@db/clew", "postgresql://u@db/clew"),
        ("postgresql://u@db/clew?password=HUNTER2", "postgresql://u@db/clew"),
        ("host=db user=u dbname=clew password=HUNTER2", "postgresql://u@db/clew"),
        ("postgresql://u@/clew?host=/run/pg&password=HUNTER2", "postgresql://u@/run/pg/clew"),
        ("no url HUNTER2", "(not readable)"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
