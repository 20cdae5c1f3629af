"""A store that is newer, read-only, full, corrupt or locked: a typed error, the way out, and nothing changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.app import Clew, open_clew, open_database
from clew.errors import ClewError
from clew.settings import Settings, load_settings
from clew.store.sqlite import SqliteDatabase
from tests.conftest import Caller

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")


def settings_for(home: Path) -> Settings:
    return load_settings({"home": home, "workspace": "ws"}, {}, home.parent)


def written(home: Path) -> str:
    """Make a store with one note; returns the digest of its bytes at rest."""
    clew = open_clew(settings_for(home))
    Caller(clew)("notes_commit", content="precious")
    with clew.database.write() as tx:
        tx.value("SELECT 1")
    clew.close()
    return digest(home)


def digest(home: Path) -> str:
    return hashlib.sha256((home / "clew.db").read_bytes()).hexdigest()


def failing(home: Path, name: str = "notes_commit", **arguments: Any) -> dict[str, Any]:
    clew = open_clew(settings_for(home))
    try:
        error = Caller(clew).error(name, **(arguments or {"content": "more"}))
    finally:
        clew.close()
    assert error["recovery"]
    return error


def test_a_database_from_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    written(home)
    with apsw.Connection(str(home / "clew.db")) as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    before = digest(home)
    assert failing(home)["code"] == "STORE_TOO_NEW"
    assert digest(home) == before


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "clew.db").write_bytes(b"this is a shopping list, not a database\n" * 200)
    before = digest(home)
    assert failing(home)["code"] == "STORE_CORRUPT"
    assert digest(home) == before


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_in_place_of_the_directory_is_left_alone(tmp_path: Path, below: str) -> None:
    home = tmp_path / "home"
    home.write_text("a shopping list")
    error = failing(home / below)
    assert error["code"] == "STORE_READ_ONLY" and "CLEW_HOME" in error["recovery"]
    assert home.read_text() == "a shopping list"


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    connection = apsw.Connection(str(home / "clew.db"))
    connection.execute("PRAGMA application_id = 77; CREATE TABLE theirs (x)")
    connection.close()
    assert failing(home)["code"] == "STORE_CORRUPT"


def test_a_damaged_database_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    written(home)
    data = bytearray((home / "clew.db").read_bytes())
    data[4096 : len(data)] = os.urandom(len(data) - 4096)
    (home / "clew.db").write_bytes(bytes(data))
    (home / "clew.db-wal").unlink(missing_ok=True)
    assert failing(home)["code"] in {"STORE_CORRUPT", "STORE_ERROR"}


def test_a_locked_database_says_so_after_the_time_limit(tmp_path: Path) -> None:
    home = tmp_path / "home"
    before = written(home)
    holder = apsw.Connection(str(home / "clew.db"))
    holder.execute("BEGIN IMMEDIATE")
    waiting = SqliteDatabase(home / "clew.db", busy_seconds=0.2)
    with pytest.raises(ClewError) as caught, waiting.write():
        pass
    assert caught.value.code == "STORE_LOCKED"
    holder.execute("ROLLBACK")
    holder.close()
    waiting.close()
    assert digest(home) == before


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path, "1500k")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path, "8m")


def mounted(tmp_path: Path, room: str) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr.decode()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@needs_root
def test_a_full_disk_refuses_the_write_and_keeps_the_rest(tiny_disk: Path) -> None:
    clew = open_clew(settings_for(tiny_disk / "home"))
    caller, kept, refused = Caller(clew), 0, None
    for _ in range(200):
        answer = caller.answer("notes_commit", content="x" * 20_000)
        if not answer.ok:
            refused = answer.envelope["error"]
            break
        kept += 1
    assert refused is not None
    assert refused["code"] == "STORE_FULL"
    with clew.database.read() as tx:
        assert tx.value("SELECT count(*) FROM entry") == kept
    assert clew.database.integrity() == []
    clew.close()


@needs_root
def test_a_read_only_directory_says_so(small_disk: Path) -> None:
    written(small_disk / "home")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert failing(small_disk / "home")["code"] == "STORE_READ_ONLY"
    assert failing(small_disk / "nowhere")["code"] == "STORE_READ_ONLY"


def test_an_unreachable_server_says_so(tmp_path: Path) -> None:
    flags = {"home": tmp_path, "workspace": "ws", "database_url": "postgresql://nobody@127.0.0.1:1/none"}
    clew = Clew(load_settings(flags, {}, tmp_path))
    error = Caller(clew).error("notes_commit", content="x")
    assert error["code"] == "STORE_UNAVAILABLE"
    assert error["recovery"]


def test_a_newer_schema_on_the_server_is_left_alone(postgres_url: str, tmp_path: Path) -> None:
    flags = {"home": tmp_path, "workspace": "ws", "database_url": postgres_url}
    database = open_database(load_settings(flags, {}, tmp_path))
    with database.write() as tx:
        tx.run("UPDATE meta SET value = '9999' WHERE key = 'schema_version'")
    database.close()
    clew = Clew(load_settings(flags, {}, tmp_path))
    assert Caller(clew).error("notes_commit", content="x")["code"] == "STORE_TOO_NEW"
