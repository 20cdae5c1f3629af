"""vacuum: what the store holds, and what a person may make smaller."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from clew.app import Clew
from clew.store.growth import AGED, KINDS
from clew.store.sqlite import SqliteDatabase
from tests.conftest import Caller, TickingClock
from tests.people import decide

DAY_MS = 86_400_000


@pytest.fixture
def busy(call: Caller, clock: TickingClock) -> Caller:
    """A store with a task and a record of long ago, and others of today."""
    for title in ("Old work", "New work"):
        clock.now_ms += 100 * DAY_MS
        call("start", title=title, steps=["do it"])
        call("remember", text=f"{title} taught us to measure first.", kind="fact")
    return call


def emptied(clew: Clew, **arguments: Any) -> dict[str, Any]:
    answer = decide(clew, "vacuum", **arguments)
    assert answer.ok, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result


def operations(clew: Clew) -> int:
    with clew.database.read() as tx:
        return int(tx.value("SELECT count(*) FROM task_operation"))


def test_it_says_what_the_store_holds_by_kind_the_largest_first(busy: Caller) -> None:
    result = busy("vacuum")
    assert set(result["bytes"]) <= set(KINDS) and {"records", "events", "search index"} <= set(result["bytes"])
    assert list(result["bytes"].values()) == sorted(result["bytes"].values(), reverse=True)
    assert 0 < sum(result["bytes"].values()) <= 1.5 * result["size"]


def test_a_dry_run_counts_what_is_old_and_changes_nothing(busy: Caller, clew: Clew) -> None:
    before = operations(clew)
    result = busy("vacuum", older_than_days=50)
    assert 0 < result["rows"]["task log"] < before
    assert busy("vacuum", older_than_days=50, kinds=["notebook runs"])["rows"] == {}
    assert operations(clew) == before


def test_a_person_drops_old_logs_and_nothing_else(busy: Caller, clew: Clew) -> None:
    records, before = busy("record_list"), operations(clew)
    gone = emptied(clew, older_than_days=50, kinds=["task log"], dry_run=False)["rows"]["task log"]
    assert operations(clew) == before - gone
    assert busy("record_list") == records
    assert busy("tasks_chain_verify")["intact"]
    assert busy("vacuum", older_than_days=50)["rows"].get("task log", 0) == 0


def test_without_an_age_a_store_is_only_compacted(busy: Caller, clew: Clew, engine: str) -> None:
    before = operations(clew)
    for number in range(40):
        busy("notes_commit", content=f"{number} " + "filler " * 3_000)
    with clew.database.write() as tx:
        tx.run("DELETE FROM entry WHERE length(content) > 10000")
    result = emptied(clew, dry_run=False)
    assert operations(clew) == before and result["rows"] == {}
    if engine == "sqlite":  # PostgreSQL keeps its freed pages for rows to come
        assert result["size"] < result["size_before"]


def test_no_agent_makes_a_store_smaller(busy: Caller, clew: Clew) -> None:
    before = operations(clew)
    error = busy.error("vacuum", older_than_days=50, dry_run=False)
    assert error["code"] == "NOT_ALLOWED" and "vacuum" in error["recovery"]
    assert operations(clew) == before


@pytest.mark.parametrize("given", [{"kinds": ["task log"]}, {"kinds": ["events"], "older_than_days": 50}])
def test_what_cannot_be_dropped_is_refused_with_a_call_that_works(call: Caller, given: dict[str, Any]) -> None:
    refused = call.answer("vacuum", **given)
    assert refused.envelope["error"]["code"] == "INVALID_INPUT"
    suggestion = refused.envelope["suggestions"][0]
    call(suggestion["target"], **suggestion["params"])


def test_every_table_has_a_kind(clew: Clew) -> None:
    """A new table is named in `store/growth`, so that what grows is said."""
    if not isinstance(clew.database, SqliteDatabase):
        pytest.skip("the schema is the same on both engines")
    clew.database.schema_version()
    with sqlite3.connect(clew.database.path) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    known = {table for tables in KINDS.values() for table in tables}
    shadows = {table for table in found for name in ("node_grams", "history_words") if table.startswith(f"{name}_")}
    assert found - shadows - {"sqlite_stat1", "sqlite_sequence"} == known
    assert {aged.table for aged in AGED.values()} <= known
