"""Files that are removed, replaced or restored under a running process: nothing is acknowledged into nowhere."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from clew.errors import ClewError
from clew.store import link
from clew.store.database import Database, probe
from clew.store.sqlite import SqliteDatabase
from tests.waiting import PATIENCE

PUT = "INSERT INTO meta (key, value) VALUES (?, ?)"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[], SqliteDatabase]]:
    made: list[SqliteDatabase] = []

    def open_database() -> SqliteDatabase:
        made.append(SqliteDatabase(tmp_path / "clew.db", busy_seconds=0.5))
        return made[-1]

    yield open_database
    for database in made:
        database.close()


@pytest.fixture
def database(make: Callable[[], SqliteDatabase]) -> SqliteDatabase:
    return make()


@pytest.fixture
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers look at their files each time instead of once a second."""
    monkeypatch.setattr(link, "READ_CHECK_SECONDS", -1.0)


def put(database: Database, key: str) -> None:
    with database.write() as tx:
        tx.run(PUT, key, "x")


def elsewhere(path: Path, key: str) -> None:
    """Write from another process: connections of one process share what they know of a file."""
    script = (
        "import sys; from pathlib import Path; from clew.store.sqlite import SqliteDatabase\n"
        "with SqliteDatabase(Path(sys.argv[1])).write() as tx: tx.run(sys.argv[2], sys.argv[3], 'x')"
    )
    subprocess.run([sys.executable, "-c", script, str(path), PUT, key], check=True)


def keys(database: Database) -> set[str]:
    with database.read() as tx:
        return {row["key"] for row in tx.all("SELECT key FROM meta WHERE value = 'x'")}


def refused(database: Database, key: str) -> ClewError:
    with pytest.raises(ClewError) as found:
        put(database, key)
    assert found.value.code == "STORE_UNAVAILABLE"
    assert found.value.recovery
    return found.value


def remove(path: Path, *endings: str) -> None:
    for ending in endings:
        Path(f"{path}{ending}").unlink()


def test_a_write_to_a_removed_file_is_refused_and_the_next_one_goes_to_a_new_file(database: SqliteDatabase) -> None:
    put(database, "before")
    remove(database.path, "", "-wal", "-shm")
    refused(database, "refused")
    put(database, "after")
    assert keys(SqliteDatabase(database.path)) == {"after"}


def test_a_removed_wal_loses_nothing_that_was_acknowledged(
    database: SqliteDatabase, make: Callable[[], SqliteDatabase]
) -> None:
    for number in range(20):
        put(database, f"k{number}")
    remove(database.path, "-wal", "-shm")
    refused(database, "refused")
    put(database, "after")
    assert keys(make()) == {*(f"k{number}" for number in range(20)), "after"}


def test_a_removed_shared_memory_file_is_noticed(database: SqliteDatabase) -> None:
    put(database, "before")
    remove(database.path, "-shm")
    refused(database, "refused")
    put(database, "after")
    assert keys(database) == {"before", "after"}


def test_of_two_histories_neither_is_written_over_the_other(database: SqliteDatabase, tmp_path: Path) -> None:
    database.close()
    put(database, "before")
    database.close()
    put(database, "ours")
    remove(database.path, "-wal", "-shm")
    elsewhere(database.path, "theirs")
    refused(database, "refused")
    put(database, "after")
    assert keys(database) == {"before", "theirs", "after"}
    (rescued,) = tmp_path.glob("clew.db.rescued-*")
    assert keys(SqliteDatabase(rescued)) == {"before", "ours"}


@pytest.mark.usefixtures("attentive")
def test_a_restored_file_is_noticed_by_readers_and_writers(
    database: SqliteDatabase, make: Callable[[], SqliteDatabase], tmp_path: Path
) -> None:
    put(database, "old")
    database.close()  # brings the WAL into the file
    backup = tmp_path / "backup.db"
    shutil.copy(database.path, backup)
    reader, writer = make(), make()
    put(writer, "new")
    assert keys(reader) == {"old", "new"}
    remove(database.path, "-wal", "-shm")
    backup.rename(database.path)
    with pytest.raises(ClewError) as noticed:
        keys(reader)
    assert noticed.value.code == "STORE_UNAVAILABLE"
    refused(writer, "refused")
    put(writer, "after")
    assert keys(reader) == keys(writer) == {"old", "after"}
    with reader.read() as tx:
        assert tx.generation == 1


def test_a_file_that_goes_between_begin_and_commit_is_not_acknowledged(database: SqliteDatabase) -> None:
    put(database, "before")
    with pytest.raises(ClewError) as lost, database.write() as tx:
        tx.run(PUT, "during", "x")
        remove(database.path, "", "-wal", "-shm")
    assert lost.value.code == "STORE_UNAVAILABLE"
    assert lost.value.details == {"outcome": "unknown"}
    put(database, "after")
    assert keys(database) == {"after"}


def test_connections_in_use_by_other_threads_are_dropped_too(database: SqliteDatabase) -> None:
    put(database, "before")
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def read() -> None:
        with database.read() as tx:
            inside.set()
            assert go_on.wait(PATIENCE)
            seen.append(tx.value("SELECT count(*) FROM meta WHERE value = 'x'"))

    thread = threading.Thread(target=read)
    thread.start()
    assert inside.wait(PATIENCE)
    remove(database.path, "", "-wal", "-shm")
    refused(database, "refused")
    go_on.set()
    thread.join()
    put(database, "after")
    assert seen == [1]
    assert keys(database) == {"after"}


def test_followers_see_the_commits_of_the_file_that_is_there_now(database: SqliteDatabase) -> None:
    put(database, "before")
    changes = database.changes(0.05)
    next(changes)
    remove(database.path, "", "-wal", "-shm")
    next(changes)
    refused(database, "refused")
    put(database, "after")
    for _ in changes:
        if keys(database) == {"after"}:
            break
    changes.close()  # type: ignore[attr-defined]


def test_a_probe_meets_what_a_write_would_meet(database: SqliteDatabase) -> None:
    probe(database)
    probe(database)
    remove(database.path, "", "-wal", "-shm")
    with pytest.raises(ClewError):
        probe(database)


def test_a_new_store_belongs_to_its_owner_alone(database: SqliteDatabase) -> None:
    put(database, "a")
    for name in ("clew.db", "clew.db-wal", "clew.db-shm"):
        assert stat.S_IMODE((database.path.parent / name).stat().st_mode) == 0o600


def test_a_running_process_does_not_write_into_a_newer_schema(database: SqliteDatabase) -> None:
    put(database, "before")
    newer = apsw.Connection(str(database.path))
    newer.execute("PRAGMA user_version = 9999")
    newer.close()
    with pytest.raises(ClewError) as refused:
        put(database, "after")
    assert refused.value.code == "STORE_TOO_NEW"
    assert keys(database) == {"before"}


def test_threads_do_not_wait_for_each_other_without_limit(database: SqliteDatabase) -> None:
    with database.write(), pytest.raises(ClewError) as locked:
        thread: list[ClewError] = []

        def write() -> None:
            try:
                put(database, "a")
            except ClewError as problem:
                thread.append(problem)

        other = threading.Thread(target=write)
        other.start()
        other.join()
        raise thread[0]
    assert locked.value.code == "STORE_LOCKED"


def test_what_follows_a_rollback_of_sqlites_own_is_not_written(database: SqliteDatabase) -> None:
    """A full disk may end the whole transaction inside a statement; the next one must not commit on its own."""
    put(database, "before")
    with pytest.raises(ClewError), database.write() as tx:
        tx.run(PUT, "first", "x")
        with suppress(apsw.ConstraintError), tx.savepoint():
            tx.run("INSERT OR ROLLBACK INTO meta (key, value) VALUES ('before', 'x')")
        tx.run(PUT, "second", "x")
    assert keys(database) == {"before"}
