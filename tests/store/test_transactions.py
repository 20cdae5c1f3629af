"""What a transaction promises on both engines: order, errors, attempts, and connections that come back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clew.app import open_database
from clew.errors import ClewError
from clew.settings import load_settings
from clew.store.database import Database
from clew.store.postgres import PostgresDatabase, numbered
from clew.store.wire import MOST_PREPARED, MOST_QUEUED
from tests.waiting import PATIENCE

PUT = "INSERT INTO meta (key, value) VALUES (?, ?)"
GET = "SELECT value FROM meta WHERE key = ?"


@pytest.fixture
def database(database_flags: dict[str, Any]) -> Iterator[Database]:
    opened = open_database(load_settings(database_flags, {}))
    yield opened
    opened.close()


def kept(database: Database, key: str) -> Any:
    with database.read() as tx:
        return tx.value(GET, key)


def test_a_read_sees_the_writes_before_it(database: Database) -> None:
    with database.write() as tx:
        tx.run(PUT, "a", "1")
        tx.many(PUT, [("b", "2"), ("c", "3")])
        tx.run("UPDATE meta SET value = ? WHERE key = ?", "4", "a")
        assert [tx.value(GET, key) for key in "abc"] == ["4", "2", "3"]
    assert kept(database, "c") == "3"


def test_many_questions_are_answered_each_by_its_own_rows(database: Database) -> None:
    count = MOST_QUEUED + 7
    with database.write() as tx:
        tx.many(PUT, [(f"k{number}", str(number)) for number in range(count)])
        asked = [(f"k{number}",) if number % 3 else (None,) for number in range(count)]
        found = tx.batch("SELECT key, value FROM meta WHERE key = ?", asked)
        assert found == [[{"key": f"k{n}", "value": str(n)}] if n % 3 else [] for n in range(count)]
        assert tx.batch(GET, []) == []


def test_a_question_among_many_that_fails_undoes_the_transaction(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    with pytest.raises(ClewError), database.write() as tx:
        tx.run(PUT, "before", "1")
        tx.batch("SELECT 1 / ?::bigint AS one", [(1,), (0,), (1,)])
    assert kept(database, "before") is None
    database.close()


def test_changed_counts_the_rows_of_its_own_statement(database: Database) -> None:
    with database.write() as tx:
        tx.many(PUT, [("a", "1"), ("b", "1")])
        assert tx.changed("UPDATE meta SET value = '2' WHERE value = '1'") == 2
        assert tx.changed("DELETE FROM meta WHERE key = 'nobody'") == 0


def test_a_write_that_fails_undoes_the_transaction(database: Database) -> None:
    with pytest.raises(ClewError) as refused, database.write() as tx:
        tx.run(PUT, "before", "1")
        tx.run(PUT, "twice", "1")
        tx.run(PUT, "twice", "2")
        tx.run(PUT, "after", "1")
    assert refused.value.code == "STORE_ERROR"
    assert [kept(database, key) for key in ("before", "twice", "after")] == [None, None, None]


def test_the_store_serves_on_after_a_failed_write(database: Database) -> None:
    for _ in range(3):
        with pytest.raises(ClewError), database.write() as tx:
            tx.run("INSERT INTO no_such_table (a) VALUES (?)", 1)
            tx.value(GET, "a")
    with database.write() as tx:
        tx.run(PUT, "a", "1")
    assert kept(database, "a") == "1"


def test_an_operation_that_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(ValueError, match="changed my mind"), database.write() as tx:
        tx.run(PUT, "a", "1")
        assert tx.value(GET, "a") == "1"
        tx.run(PUT, "b", "1")
        raise ValueError("changed my mind")
    assert kept(database, "a") is None
    assert kept(database, "b") is None


def test_a_failed_attempt_is_undone_alone(database: Database) -> None:
    with database.write() as tx:
        tx.run(PUT, "before", "1")
        with pytest.raises(Exception, match=r"(?i)unique|duplicate"), tx.savepoint():
            tx.run(PUT, "inside", "1")
            tx.run(PUT, "before", "2")
        tx.run(PUT, "after", "1")
    assert [kept(database, key) for key in ("before", "inside", "after")] == ["1", None, "1"]


def test_an_attempt_given_up_before_its_writes_were_sent(database: Database) -> None:
    with database.write() as tx:
        tx.run(PUT, "before", "1")
        with pytest.raises(ValueError, match="no good"), tx.savepoint():
            tx.run(PUT, "inside", "1")
            raise ValueError("no good")
        tx.run(PUT, "after", "1")
    assert [kept(database, key) for key in ("before", "inside", "after")] == ["1", None, "1"]


def test_an_attempt_that_succeeds_stays(database: Database) -> None:
    with database.write() as tx:
        with tx.savepoint():
            tx.run(PUT, "inside", "1")
        tx.run(PUT, "after", "1")
    assert kept(database, "inside") == "1"


def test_an_empty_transaction_is_nothing_special(database: Database) -> None:
    with database.write():
        pass
    with database.read():
        pass
    assert kept(database, "a") is None


def test_more_writes_than_are_queued_at_once(database: Database) -> None:
    with database.write() as tx:
        tx.many(PUT, [(f"k{number}", "x" * 2000) for number in range(MOST_QUEUED * 2 + 7)])
    with database.read() as tx:
        assert tx.value("SELECT count(*) FROM meta WHERE key LIKE 'k%'") == MOST_QUEUED * 2 + 7


def test_values_come_back_as_they_went(database: Database) -> None:
    big, text = 2**62, "naïve 'quote' ? % \\ 雪"
    with database.read() as tx:
        row = tx.one("SELECT CAST(? AS BIGINT) AS big, ? AS text, '? %' AS mark, NULL AS absent", big, text)
        empty = tx.one("SELECT key FROM meta WHERE key = ?", "nobody")
    assert row == {"big": big, "text": text, "mark": "? %", "absent": None}
    assert empty is None


def test_question_marks_in_quotes_are_no_parameters() -> None:
    assert numbered("SELECT '?' || ? || 'it''s ?' || ?") == "SELECT '?' || $1 || 'it''s ?' || $2"


def test_more_statements_than_are_kept_prepared(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    for _ in range(2):
        with database.read() as tx:
            for number in range(MOST_PREPARED + 20):
                assert tx.value(f"SELECT {number} + ?", 1) == number + 1
    database.close()


def test_a_statement_that_never_got_prepared_is_prepared_again(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    for _ in range(2):
        with pytest.raises(ClewError), database.write() as tx:
            tx.run("SELECT 1 / 0")
            tx.run("SELECT 'skipped, because the one before failed'")
    with database.write() as tx:
        assert tx.value("SELECT 'skipped, because the one before failed'").startswith("skipped")
    database.close()


def test_a_schema_that_changes_underneath_costs_one_call(empty_postgres_url: str) -> None:
    database, newer = PostgresDatabase(empty_postgres_url), PostgresDatabase(empty_postgres_url)
    with database.read() as tx:
        assert tx.all("SELECT * FROM meta WHERE key = ?", "nobody") == []
    with newer.write() as tx:
        tx.run("ALTER TABLE meta ADD COLUMN more BIGINT")
    with pytest.raises(ClewError), database.read() as tx:
        tx.all("SELECT * FROM meta WHERE key = ?", "nobody")
    with database.read() as tx:
        row = tx.one("SELECT * FROM meta WHERE key = ?", "schema_version")
    assert row is not None
    assert row["more"] is None
    newer.close()
    database.close()


def test_a_lost_connection_is_replaced(postgres_url: str) -> None:
    database, killer = PostgresDatabase(postgres_url), PostgresDatabase(postgres_url)
    with database.read() as tx:
        pid = tx.value("SELECT pg_backend_pid()")
    with killer.read() as tx:
        assert tx.value("SELECT pg_terminate_backend(CAST(? AS INTEGER), 20000)", pid) is True
    with database.read() as tx:
        assert tx.value("SELECT pg_backend_pid()") != pid
    killer.close()
    database.close()


def test_a_connection_lost_on_the_way_is_a_typed_error(postgres_url: str) -> None:
    database, killer = PostgresDatabase(postgres_url), PostgresDatabase(postgres_url)
    with pytest.raises(ClewError) as lost, database.write() as tx:
        pid = tx.value("SELECT pg_backend_pid()")
        tx.run(PUT, "a", "1")
        with killer.read() as other:
            other.value("SELECT pg_terminate_backend(CAST(? AS INTEGER), 20000)", pid)
    assert lost.value.code == "STORE_UNAVAILABLE"
    assert kept(database, "a") is None
    killer.close()
    database.close()


def test_a_row_that_another_holds_for_too_long_is_a_typed_error(postgres_url: str) -> None:
    holder, waiter = PostgresDatabase(postgres_url), PostgresDatabase(postgres_url, wait_seconds=0.05)
    lock = "SELECT value FROM meta WHERE key = 'schema_version' FOR UPDATE"
    with holder.write() as tx:
        tx.value(lock)
        with pytest.raises(ClewError) as locked, waiter.write() as other:
            other.value(lock)
    assert locked.value.code == "STORE_LOCKED"
    with waiter.write() as tx:
        assert tx.value(lock)
    holder.close()
    waiter.close()


def test_a_failure_that_was_swallowed_is_not_committed(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    with pytest.raises(ClewError), database.write() as tx:
        tx.run(PUT, "a", "1")
        with pytest.raises(Exception, match="no_such_table"):
            tx.value("SELECT 1 FROM no_such_table")
    assert kept(database, "a") is None
    database.close()


def test_threads_have_connections_of_their_own(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    meet, seen = threading.Barrier(4, timeout=PATIENCE), []

    def look() -> None:
        with database.read() as tx:
            seen.append(tx.value("SELECT pg_backend_pid()"))
            meet.wait()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 4
    database.close()
