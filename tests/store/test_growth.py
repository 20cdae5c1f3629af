"""PostgreSQL is told of tables that grew, so that it plans for what is in them and not for an empty table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from clew.store.postgres import LEAST, Growth, PostgresDatabase

LINK = "INSERT INTO item_link (id, workspace, relation, target) VALUES (?, ?, ?, ?)"


@pytest.fixture
def database(empty_postgres_url: str) -> Any:
    opened = PostgresDatabase(empty_postgres_url)
    with opened.write() as tx:
        tx.run("ALTER TABLE item_link SET (autovacuum_enabled = off)")  # here only we look
    yield opened
    opened.close()


def link(database: PostgresDatabase, first: int, count: int) -> None:
    with database.write() as tx:
        tx.many(LINK, [(number, "ws", "mentions", "N-1") for number in range(first, first + count)])


def rows_known(database: PostgresDatabase) -> int:
    with database.read() as tx:
        return int(tx.value("SELECT reltuples FROM pg_class WHERE oid = 'item_link'::regclass"))


def plan(database: PostgresDatabase) -> str:
    with database.read() as tx:
        found = tx.all("EXPLAIN SELECT relation FROM item_link WHERE workspace = 'ws' AND id = 5")
    return " ".join(row["QUERY PLAN"] for row in found)


def test_a_table_that_grew_is_looked_at_when_the_rows_are_committed(database: PostgresDatabase) -> None:
    link(database, 0, LEAST - 1)
    assert rows_known(database) == -1
    link(database, LEAST, 1)
    assert rows_known(database) == LEAST
    assert "item_link_pkey" in plan(database)


def test_what_is_rolled_back_is_no_growth(database: PostgresDatabase) -> None:
    with pytest.raises(RuntimeError), database.write() as tx:
        tx.many(LINK, [(number, "ws", "mentions", "N-1") for number in range(LEAST)])
        raise RuntimeError
    link(database, 0, 1)
    assert rows_known(database) == -1


def test_the_second_look_comes_after_ten_times_as_many_rows() -> None:
    growth = Growth()
    assert growth.due(Counter({LINK: LEAST})) == ["item_link"]
    assert growth.due(Counter({LINK: LEAST})) == []
    assert growth.due(Counter({LINK: 8 * LEAST, "DELETE FROM item_link WHERE id = ?": 5 * LEAST})) == ["item_link"]
    assert growth.due(Counter({LINK: 80 * LEAST, "INSERT INTO event (seq) VALUES (?)": 1})) == []
