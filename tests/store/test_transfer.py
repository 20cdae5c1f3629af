"""A whole store moves from one engine to the other and back, and is the same store afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, migrate_store, open_clew
from clew.errors import ClewError
from clew.settings import Settings, load_settings
from tests.conftest import Caller
from tests.contract import lived_in

READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("resume", {}),
    ("recall", {"query": "short transactions"}),
    ("open", {"id": "CARD-D"}),
    ("think_query", {"text": "lock is held"}),
    ("tasks_context", {}),
    ("session_list", {}),
    ("events_list", {"limit": 100}),
)


def settings_of(home: Path, **flags: Any) -> Settings:
    given = {"workspace": "ws", "workspace_lock": False, "embedding_model": "none"}
    return load_settings({**given, "home": home, **flags}, {}, home.parent)


@pytest.fixture
def lived(tmp_path: Path) -> Settings:
    lived_in.build(tmp_path / "home")
    return settings_of(tmp_path / "home")


@pytest.fixture
def clews() -> Iterator[list[Clew]]:
    opened: list[Clew] = []
    yield opened
    for clew in opened:
        clew.close()


def answers(settings: Settings) -> list[dict[str, Any]]:
    clew = open_clew(settings, lambda: 1_700_000_000_000)
    try:
        return [Caller(clew)(name, **arguments) for name, arguments in READS]
    finally:
        clew.close()


def test_there_and_back_every_table_and_answer_is_the_same(
    lived: Settings, empty_postgres_url: str, tmp_path: Path
) -> None:
    there = migrate_store(lived, empty_postgres_url)
    moved = settings_of(tmp_path / "home", database_url=empty_postgres_url)
    assert sum(table.rows for table in there) > 100
    assert migrate_store(moved, str(tmp_path / "back")) == there
    # Compared last, because reading leaves traces: what was shown and how long it took.
    expected = answers(lived)
    assert answers(moved) == expected
    assert answers(settings_of(tmp_path / "back")) == expected


def test_a_copy_goes_on_with_new_numbers(
    lived: Settings, empty_postgres_url: str, tmp_path: Path, clews: list[Clew]
) -> None:
    migrate_store(lived, empty_postgres_url)
    clews.append(open_clew(settings_of(tmp_path / "home", database_url=empty_postgres_url)))
    call = Caller(clews[0])
    card = {"id": "CARD-N", "type": "hypothesis", "title": "Written after the move"}
    call("think_card", card=card)
    found = call("think_query", text="after the move")
    assert [card["id"] for card in found["cards"]] == ["CARD-N"]
    assert "CARD-N" in str(call("recall", query="written after the move", sources="all"))
    assert call("tasks_create", kind="task", parent="PLAN-001", title="Next")["id"] == "TASK-002"


def test_a_target_that_holds_something_is_left_alone(
    lived: Settings, empty_postgres_url: str, tmp_path: Path, clews: list[Clew]
) -> None:
    target = settings_of(tmp_path / "home", database_url=empty_postgres_url)
    clew = open_clew(target)
    Caller(clew)("notes_commit", content="mine")
    clew.close()
    with pytest.raises(ClewError) as refused:
        migrate_store(lived, empty_postgres_url)
    assert refused.value.code == "CONFLICT"
    clews.append(open_clew(target))
    assert "mine" in str(Caller(clews[0])("show", doc="notes"))


def test_stores_of_the_same_engine_are_copied_by_other_commands(lived: Settings, tmp_path: Path) -> None:
    with pytest.raises(ClewError) as refused:
        migrate_store(lived, str(tmp_path / "other"))
    assert refused.value.code == "INVALID_INPUT"
    assert "clew backup" in str(refused.value.recovery)


def test_a_copy_that_breaks_off_leaves_an_empty_target(lived: Settings, empty_postgres_url: str) -> None:
    def break_off(done: float, total: float | None, message: str | None) -> None:
        if done > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_store(lived, empty_postgres_url, break_off)
    assert sum(table.rows for table in migrate_store(lived, empty_postgres_url)) > 100
