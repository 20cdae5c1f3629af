"""A backup of either engine holds memory with its files, and a restore brings both back into either."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.app import Clew, back_up, restore
from clew.errors import ClewError
from tests.conftest import Caller


def statements(call: Caller) -> list[str]:
    found = call("record_list", kind="decision")["records"]
    return sorted(row["title"] for row in found)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def filed(make_clew: Callable[..., Clew], memory: Path) -> Callable[[], Clew]:
    """Clews whose memory files are in one known folder, on PostgreSQL too."""
    return lambda: make_clew(memory_dir=memory)


def decisions(memory: Path) -> str:
    return (memory / "knowledge" / "DECISIONS.md").read_text(encoding="utf-8")


def test_a_restore_takes_files_back_too(filed: Callable[[], Clew], memory: Path, tmp_path: Path) -> None:
    clew, running = filed(), filed()
    call, other = Caller(clew), Caller(running)
    call("remember", text="Retry with jitter", kind="decision")
    back_up(clew, tmp_path / "copy.db")
    call("remember", text="Speak AMQP to the relay", kind="decision")
    assert statements(other) == ["Retry with jitter", "Speak AMQP to the relay"]
    kept, folders = restore(clew, tmp_path / "copy.db")
    assert "Retry with jitter" in decisions(memory)
    assert "AMQP" not in decisions(memory)
    for caller in (call, other):
        assert statements(caller) == ["Retry with jitter"]
    assert "AMQP" in (folders[0] / "knowledge" / "DECISIONS.md").read_text(encoding="utf-8")
    restore(clew, kept)
    assert statements(other) == ["Retry with jitter", "Speak AMQP to the relay"]
    other("remember", text="Keep one queue", kind="decision")
    assert "Keep one queue" in decisions(memory)


def test_a_backup_holds_what_was_just_written_into_a_file(
    filed: Callable[[], Clew], memory: Path, tmp_path: Path
) -> None:
    clew = filed()
    call = Caller(clew)
    call("remember", text="Retry with jitter", kind="decision")
    path = memory / "knowledge" / "DECISIONS.md"
    path.write_text(decisions(memory).replace("Retry with jitter", "Retry with much jitter"), encoding="utf-8")
    back_up(clew, tmp_path / "copy.db")
    path.write_text(decisions(memory).replace("much", "no"), encoding="utf-8")
    restore(clew, tmp_path / "copy.db")
    assert "Retry with much jitter" in decisions(memory)
    assert statements(call) == ["Retry with much jitter"]


def test_a_backup_is_restored_into_the_other_engine(
    make_clew: Callable[..., Clew], tmp_path: Path, request: pytest.FixtureRequest, engine: str
) -> None:
    clew = make_clew()
    Caller(clew)("remember", text="Retry with jitter", kind="decision")
    back_up(clew, tmp_path / "copy.db")
    url = request.getfixturevalue("empty_postgres_url") if engine == "sqlite" else None
    other = make_clew(home=tmp_path / "other", database_url=url)
    Caller(other)("remember", text="Something else", kind="decision")
    restore(other, tmp_path / "copy.db")
    assert statements(Caller(other)) == ["Retry with jitter"]
    Caller(other)("remember", text="Keep one queue", kind="decision")
    assert statements(Caller(other)) == ["Keep one queue", "Retry with jitter"]
    other.close()


def test_what_is_no_backup_changes_nothing(filed: Callable[[], Clew], memory: Path, tmp_path: Path) -> None:
    clew = filed()
    Caller(clew)("remember", text="Retry with jitter", kind="decision")
    (tmp_path / "copy.db").write_text("no backup")
    with pytest.raises(ClewError):
        restore(clew, tmp_path / "copy.db")
    assert statements(Caller(clew)) == ["Retry with jitter"]
    assert "Retry with jitter" in decisions(memory)


@pytest.mark.parametrize("engine", ["postgres"])
def test_a_backup_of_postgres_under_load_is_one_moment(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    import threading

    writer, other, stop = make_clew(), make_clew(), threading.Event()
    Caller(writer)("notes_commit", content="0")

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            Caller(writer)("notes_commit", content=str(number))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        back_up(other, tmp_path / "copy.db")
    finally:
        stop.set()
        thread.join()
    from clew.store.sqlite import SqliteDatabase

    copy = SqliteDatabase(tmp_path / "copy.db")
    assert copy.integrity() == []
    with copy.read() as tx:
        found = [row["content"] for row in tx.all("SELECT content FROM entry ORDER BY seq")]
    copy.close()
    assert found == [str(at) for at in range(len(found))]
