"""Backups while the store is in use, and the way back, which running processes notice."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clew.app import Clew
from clew.errors import ClewError
from clew.recall.filler import fill
from clew.store.sqlite import SqliteDatabase
from tests.conftest import Caller
from tests.index.test_processes_agree import Process, WordEmbedder

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def contents(clew: Clew) -> list[str]:
    with clew.database.read() as tx:
        return [row["content"] for row in tx.all("SELECT content FROM entry ORDER BY seq")]


def test_a_backup_holds_what_was_there_and_belongs_to_its_owner(clew: Clew, call: Caller, tmp_path: Path) -> None:
    call("notes_commit", content="one")
    target = tmp_path / "copy.db"
    assert clew.database.backup(target) == target.stat().st_size
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    call("notes_commit", content="two")
    with SqliteDatabase(target).read() as tx:
        assert tx.value("SELECT count(*) FROM entry") == 1


def test_a_backup_never_writes_over_a_file(clew: Clew, call: Caller, tmp_path: Path) -> None:
    call("notes_commit", content="one")
    target = tmp_path / "copy.db"
    target.write_text("precious")
    with pytest.raises(ClewError) as refused:
        clew.database.backup(target)
    assert refused.value.code == "CONFLICT"
    assert target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "home"]


def test_backups_under_load_are_whole(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    writer, other, stop = make_clew(), make_clew(), threading.Event()
    Caller(writer)("notes_commit", content="0")

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            Caller(writer)("notes_commit", content=str(number))

    thread = threading.Thread(target=write)
    thread.start()
    sizes = []
    for number in range(5):
        other.database.backup(tmp_path / f"{number}.db")
        copy = SqliteDatabase(tmp_path / f"{number}.db")
        assert copy.integrity() == []
        with copy.read() as tx:
            found = [row["content"] for row in tx.all("SELECT content FROM entry ORDER BY seq")]
        assert found == [str(at) for at in range(len(found))]
        sizes.append(len(found))
        copy.close()
    stop.set()
    thread.join()
    assert sizes == sorted(sizes)


def test_a_restore_brings_back_what_was_and_keeps_what_is(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    running, restorer = make_clew(), make_clew()
    call = Caller(running)
    call("notes_commit", content="old")
    restorer.database.backup(tmp_path / "copy.db")
    call("notes_commit", content="new")
    kept = restorer.database.restore(tmp_path / "copy.db")
    assert contents(running) == ["old"]
    call("notes_commit", content="after")
    assert contents(running) == contents(restorer) == ["old", "after"]
    with SqliteDatabase(kept).read() as tx:
        assert tx.value("SELECT count(*) FROM entry") == 2
    assert running.database.integrity() == []


def test_running_processes_answer_from_what_was_restored(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    """Also when as much was written after the restore as was lost by it: the numbers are the same again."""
    running, restorer, model = Process(make_clew()), Process(make_clew()), WordEmbedder()
    running.put("N-1", "stone river")
    fill(running.ctx, model)
    restorer.ctx.database.backup(tmp_path / "copy.db")
    for number in (2, 3, 4):
        running.put(f"N-{number}", "zebra stripe")
    fill(running.ctx, model)
    assert running.by_words("zebra") == ["N-2", "N-3", "N-4"]
    assert running.by_meaning("zebra", model)[0][0] == "N-2"
    restorer.ctx.database.restore(tmp_path / "copy.db")
    for number in (2, 3, 4):
        restorer.put(f"M-{number}", "walrus tusk")
    fill(restorer.ctx, model)
    fresh = Process(make_clew())
    for question in ("zebra stripe", "walrus tusk", "stone"):
        assert running.by_words(question) == fresh.by_words(question)
        assert running.by_meaning(question, model) == fresh.by_meaning(question, model)
    assert running.by_words("zebra") == []
    assert running.by_words("walrus") == ["M-2", "M-3", "M-4"]


@pytest.mark.parametrize("bad", ["nothing", "text", "other", "newer", "damaged"])
def test_what_is_no_backup_is_not_restored(clew: Clew, call: Caller, tmp_path: Path, bad: str) -> None:
    call("notes_commit", content="precious")
    source = tmp_path / "copy.db"
    if bad == "text":
        source.write_text("a shopping list\n" * 500)
    elif bad in ("newer", "damaged"):
        clew.database.backup(source)
    if bad in ("other", "newer"):
        connection = apsw.Connection(str(source))
        connection.execute("PRAGMA user_version = 9999" if bad == "newer" else "PRAGMA application_id = 7")
        connection.execute("CREATE TABLE t (x)")
        connection.close()
    if bad == "damaged":
        with source.open("r+b") as file:
            file.seek(4096 * 3)
            file.write(b"\x17" * 4096 * 6)
    with pytest.raises(ClewError):
        clew.database.restore(source)
    assert contents(clew) == ["precious"]
    left = [path.name for path in (tmp_path / "home").iterdir() if "restore" in path.name]
    assert left == []
