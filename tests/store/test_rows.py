"""A dataclass and its table: what is written is what is read, on both engines, whatever the key is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from clew.app import Clew
from clew.store import rows
from clew.store.database import Transaction


@dataclass(frozen=True)
class Parcel(rows.TableRow):
    TABLE: ClassVar[str] = "parcel"
    KEY: ClassVar[tuple[str, ...]] = ("depot", "number")
    LISTS: ClassVar[frozenset[str]] = frozenset({"marks"})
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"customs"})
    FLAGS: ClassVar[frozenset[str]] = frozenset({"sealed"})
    COLUMNS: ClassVar[dict[str, str]] = {"to": "receiver"}

    number: int
    depot: str
    to: str | None = None
    marks: tuple[str, ...] = ()
    customs: dict[str, Any] | None = None
    sealed: bool = False


@dataclass(frozen=True)
class Shelf(rows.TableRow):
    TABLE: ClassVar[str] = "shelf"
    ORDERED: ClassVar[frozenset[str]] = frozenset({"layout"})
    KEPT: ClassVar[frozenset[str]] = frozenset({"made_ms"})
    ASIDE: ClassVar[frozenset[str]] = frozenset({"nicknames"})

    id: str
    nicknames: tuple[str, ...] = ()
    layout: dict[str, Any] | None = None
    made_ms: int = 0
    seen_ms: int = 0


@pytest.fixture
def tx(clew: Clew) -> Iterator[Transaction]:
    with clew.database.write() as tx:
        tx.run(
            "CREATE TABLE parcel (workspace TEXT, depot TEXT, number BIGINT, receiver TEXT, marks TEXT, customs TEXT,"
            " sealed BIGINT, PRIMARY KEY (workspace, depot, number))"
        )
        tx.run(
            "CREATE TABLE shelf (workspace TEXT, id TEXT, layout TEXT, made_ms BIGINT, seen_ms BIGINT,"
            " PRIMARY KEY (workspace, id))"
        )
        yield tx
        tx.run("DROP TABLE parcel")
        tx.run("DROP TABLE shelf")


FULL = Parcel(7, "north", "Ada", ("heavy", "wet"), {"b": 1, "a": [None]}, True)


def test_what_is_written_is_read(tx: Transaction) -> None:
    rows.insert(tx, "w", FULL)
    rows.insert(tx, "w", Parcel(8, "north"))
    assert rows.find(tx, "w", Parcel, "north", 7) == FULL
    assert rows.find(tx, "w", Parcel, "north", 8) == Parcel(8, "north")
    assert rows.find(tx, "other", Parcel, "north", 7) is None
    assert tx.value("SELECT customs FROM parcel WHERE number = 7") == '{"a":[null],"b":1}'


def test_an_update_changes_all_but_the_key_and_an_upsert_writes_either_way(tx: Transaction) -> None:
    rows.insert_many(tx, "w", [FULL, Parcel(8, "north"), Parcel(7, "south")])
    rows.update(tx, "w", replace(FULL, to="Grace", sealed=False))
    rows.upsert(tx, "w", Parcel(8, "north", "Edsger"))
    rows.upsert(tx, "w", Parcel(9, "north", "Barbara"))
    receivers = {row["number"]: row["receiver"] for row in tx.all("SELECT * FROM parcel WHERE depot = 'north'")}
    assert receivers == {7: "Grace", 8: "Edsger", 9: "Barbara"}
    assert rows.find(tx, "w", Parcel, "south", 7) == Parcel(7, "south")


def test_deleting_takes_only_the_one(tx: Transaction) -> None:
    rows.insert_many(tx, "w", [FULL, Parcel(7, "south")])
    rows.delete(tx, "w", FULL)
    assert rows.find(tx, "w", Parcel, "north", 7) is None
    assert rows.find(tx, "w", Parcel, "south", 7) is not None


def test_many_are_found_in_parts_and_each_once(tx: Transaction) -> None:
    rows.insert_many(tx, "w", [Parcel(number, "north") for number in range(1200)])
    asked = [*range(1100), *range(1100), 5000]
    found = rows.find_many(tx, "w", Parcel, asked)
    assert sorted(parcel.number for parcel in found) == list(range(1100))
    assert rows.find_many(tx, "w", Parcel, []) == []
    assert len(rows.find_many(tx, "w", Parcel, ["north", "south"], "depot")) == 1200


def test_keys_keep_their_order_and_a_field_that_is_no_column_is_not_stored(tx: Transaction) -> None:
    rows.insert(tx, "w", Shelf("a", ("top",), {"z": 1, "b": 2}))
    assert tx.value("SELECT layout FROM shelf WHERE id = 'a'") == '{"z":1,"b":2}'
    found = rows.find(tx, "w", Shelf, "a")
    assert found == Shelf("a", (), {"z": 1, "b": 2})
    assert found is not None and list(found.layout or {}) == ["z", "b"]
    rows.insert(tx, "w", Shelf("b"))
    assert rows.find(tx, "w", Shelf, "b") == Shelf("b")


def test_an_upsert_leaves_what_was_inserted_first(tx: Transaction) -> None:
    rows.upsert(tx, "w", Shelf("a", made_ms=1, seen_ms=1))
    rows.upsert(tx, "w", Shelf("a", made_ms=2, seen_ms=2))
    assert rows.find(tx, "w", Shelf, "a") == Shelf("a", made_ms=1, seen_ms=2)


def test_what_is_there_is_not_inserted_again(tx: Transaction) -> None:
    assert rows.insert_absent(tx, "w", Shelf("a", seen_ms=1))
    assert not rows.insert_absent(tx, "w", Shelf("a", seen_ms=2))
    assert rows.insert_absent(tx, "other", Shelf("a", seen_ms=3))
    assert rows.find(tx, "w", Shelf, "a") == Shelf("a", seen_ms=1)
