"""Power cuts and failing calls: what was acknowledged is there, what was refused is not, and the store goes on."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import apsw
import pytest

from clew.errors import ClewError
from clew.store.sqlite import SqliteDatabase
from tests.store.disks import Failing, Recording, after_a_power_cut, lay_out, mounted

PUT = "INSERT INTO meta (key, value) VALUES (?, ?)"
CUTS = 120


def put(database: SqliteDatabase, key: str, size: int = 10) -> None:
    with database.write() as tx:
        tx.run(PUT, key, "x" * size)
        tx.run(PUT, f"{key}-too", "x")


def keys(path: Path) -> set[str]:
    """Those that are there, each with its twin of the same transaction."""
    database = SqliteDatabase(path)
    try:
        assert database.integrity() == []
        with database.read() as tx:
            found = {row["key"] for row in tx.all("SELECT key FROM meta WHERE value LIKE 'x%'")}
    finally:
        database.close()
    whole = {key.removesuffix("-too") for key in found}
    assert found == {name for key in whole for name in (key, f"{key}-too")}, "half of a transaction"
    return whole


def test_a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    recording, chance, acknowledged = Recording(), random.Random(3), [(0, "")]
    with mounted(recording):
        database = SqliteDatabase(tmp_path / "clew.db")
        for number in range(150):
            put(database, f"k{number}", chance.choice([10, 9_000, 60_000]))
            acknowledged.append((len(recording.calls), f"k{number}"))
            if number % 40 == 39:
                database.close()  # copies the WAL into the file and removes it
        database.close()
    made = next(at for at, key in acknowledged if key)
    for trial in range(CUTS):
        cut = chance.randint(made, len(recording.calls))
        folder = tmp_path / f"cut-{trial}"
        lay_out(after_a_power_cut(recording.calls[:cut], chance), folder)
        expected = {key for at, key in acknowledged if key and at <= cut}
        found = keys(folder / "clew.db")
        assert expected <= found, (trial, cut)
        assert len(found - expected) <= 1, "at most the one under way"
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("read", apsw.IOError),
        ("write", apsw.IOError),
        ("write", apsw.FullError),
        ("sync", apsw.IOError),
        ("open", apsw.CantOpenError),
    ],
)
def test_a_call_that_fails_is_told_truly_and_harms_nothing(tmp_path: Path, kind: str, error: type[Exception]) -> None:
    number, told = 0, []
    while True:
        number += 1
        failing = Failing(kind, number, error)
        path = tmp_path / str(number) / "clew.db"
        put(SqliteDatabase(path), "before")
        with mounted(failing):
            database = SqliteDatabase(path)
            told.append(attempt(database, "during"))
            database.close()
        if not failing.struck:
            break
        found = keys(path)
        assert "before" in found
        if told[-1] != "unknown":
            assert ("during" in found) == (told[-1] == "done"), (number, told[-1])
        again = SqliteDatabase(path)
        put(again, "after")
        again.close()
        assert "after" in keys(path)
        assert number < 200
    assert number > 1


def test_a_disk_that_cannot_be_read_is_called_by_its_name(tmp_path: Path) -> None:
    """Not a damaged store, for which one would restore a backup over a whole one."""
    put(SqliteDatabase(tmp_path / "clew.db"), "before")
    for number in range(1, 6):
        failing = Failing("read", number, apsw.IOError)
        with mounted(failing), pytest.raises(ClewError) as refused:
            database = SqliteDatabase(tmp_path / "clew.db")
            with database.read() as tx:
                tx.all("SELECT * FROM meta")
        database.close()
        assert failing.struck
        assert refused.value.code == "STORE_UNAVAILABLE"
    assert "before" in keys(tmp_path / "clew.db")


def attempt(database: SqliteDatabase, key: str) -> str:
    try:
        put(database, key, 30_000)
    except ClewError as problem:
        assert problem.code.startswith("STORE_")
        return "unknown" if problem.details.get("outcome") == "unknown" else "failed"
    return "done"


def test_an_error_inside_an_attempt_does_not_let_the_rest_commit_by_itself(tmp_path: Path) -> None:
    """SQLite ends the whole transaction on some errors; what follows must not run on its own."""
    database = SqliteDatabase(tmp_path / "clew.db")
    put(database, "before")
    with pytest.raises(ClewError), database.write() as tx:
        tx.run(PUT, "outer", "x")
        with pytest.raises(apsw.ConstraintError), tx.savepoint():
            # OR ROLLBACK ends the transaction as a full disk would.
            tx.run("INSERT OR ROLLBACK INTO meta (key, value) VALUES ('before', 'x')")
        tx.run(PUT, "alone", "x")
    database.close()
    assert keys(tmp_path / "clew.db") == {"before"}
