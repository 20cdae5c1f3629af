"""What a process keeps beside a database: made once, closed with it, the newest first."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

from clew.store.database import PATIENCE, Database, DatabaseResource
from clew.store.sqlite import SqliteDatabase

CLOSED: list[tuple[str, float]] = []


class Cache(DatabaseResource):
    def close(self, patience: float) -> None:
        CLOSED.append(("cache", patience))


class Worker(DatabaseResource):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.cache = database.resources.of(Cache)

    def close(self, patience: float) -> None:
        with self.database.read() as tx:  # still open
            CLOSED.append(("worker", patience if tx.value("SELECT 1") else 0))


def test_each_kind_is_made_once(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "clew.db")
    worker = database.resources.of(Worker)
    assert database.resources.of(Worker) is worker
    assert worker.cache is database.resources.of(Cache)
    other = SqliteDatabase(tmp_path / "clew.db")
    assert other.resources.of(Cache) is not worker.cache


def test_they_are_closed_before_the_database_and_in_order(tmp_path: Path) -> None:
    CLOSED.clear()
    database = SqliteDatabase(tmp_path / "clew.db")
    first = database.resources.of(Worker)
    database.close()
    assert CLOSED == [("worker", PATIENCE), ("cache", PATIENCE)]
    assert database.resources.of(Worker) is not first


def test_they_do_not_keep_a_database_alive(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "clew.db")
    database.resources.of(Cache)
    gone = weakref.ref(database)
    del database
    gc.collect()
    assert gone() is None


def test_a_process_that_ends_closes_what_is_left(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from clew.store.database import DatabaseResource
from clew.store.sqlite import SqliteDatabase
class Last(DatabaseResource):
    def close(self, patience): print("closed within", patience)
database = SqliteDatabase(Path({str(tmp_path / "clew.db")!r}))
database.resources.of(Last)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "closed within 2.0\n"
