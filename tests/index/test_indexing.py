"""Many items written at once leave what they leave one after the other."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew
from clew.index.item_reads import items_as_of, matching
from clew.index.items import IDS_OF, Item, index_item, index_items, unindex_item, unindex_items
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.store.database import Transaction
from tests.conftest import TickingClock

REFS = ["N-1", "D-20260101-001", "TASK-001", "CARD-7", "a:storage", 'Größe/数据库 "x"\'']
TEXTS = [None, "", "one writer?", "rests on D-20260101-001 and TASK-001", "[8 May 2023, 13:56] Ada: CARD-7 it is"]
ITEMS = st.fixed_dictionaries(
    {
        "ref": st.sampled_from(REFS),
        "source": st.sampled_from(["note", "card"]),
        "title": st.sampled_from([None, "Pool size", "the a:storage"]),
        "body": st.sampled_from(TEXTS),
        "status": st.sampled_from([None, "active", "superseded"]),
        "tags": st.sampled_from([(), ("db", "pool")]),
        "links": st.sampled_from([(), (("supersedes", "N-1"), ("rests_on", "CARD-7")), (("mentions", "N-1"),)]),
    }
)
BATCHES = st.lists(st.tuples(st.lists(ITEMS, max_size=9), st.sets(st.sampled_from(REFS), max_size=2)), max_size=4)
numbers = count()


def place(clew: Clew, workspace: str) -> Context:
    return Context(clew.dispatcher, Connection(), workspace, None)


def one_by_one(tx: Transaction, workspace: str, items: list[Item], gone: list[str]) -> None:
    for item in items:
        index_item(tx, workspace, item)
    for ref in gone:
        unindex_item(tx, workspace, ref)


def at_once(tx: Transaction, workspace: str, items: list[Item], gone: list[str]) -> None:
    index_items(tx, workspace, items)
    unindex_items(tx, workspace, gone)


def kept(tx: Transaction, workspace: str) -> dict[str, Any]:
    """Everything the index says of a workspace, without the ids, which differ."""
    names = {
        row["id"]: row["ref"]
        for table in ("item", "item_past")
        for row in tx.all(f"SELECT id, ref FROM {table} WHERE workspace = ?", workspace)
    }

    def told(sql: str) -> list[dict[str, Any]]:
        rows = [{**row, "id": names[row["id"]], "workspace": ""} for row in tx.all(sql, workspace)]
        return sorted(rows, key=str)

    last = int(tx.value("SELECT seq FROM workspace WHERE id = ?", workspace))
    return {
        "items": told("SELECT * FROM item WHERE workspace = ?"),
        "terms": told("SELECT * FROM item_terms WHERE workspace = ?"),
        "links": told("SELECT * FROM item_link WHERE workspace = ?"),
        "past": told("SELECT * FROM item_past WHERE workspace = ?"),
        "as of": [
            sorted((row.ref, row.seq, row.status, row.terms) for row in found)
            for found in (items_as_of(tx, workspace, "seq", seq) for seq in range(last + 1))
        ],
    }


@settings(max_examples=25)
@given(batches=BATCHES)
def test_at_once_is_as_one_by_one(
    clew: Clew,
    clock: TickingClock,
    monkeypatch: pytest.MonkeyPatch,
    batches: list[tuple[list[dict[str, Any]], set[str]]],
) -> None:
    monkeypatch.setattr("clew.index.items.CHUNK", 3)
    found, number = [], next(numbers)
    for write in (one_by_one, at_once):
        clock.now_ms = 1_700_000_000_000
        ctx = place(clew, f"{write.__name__}-{number}")
        for batch, gone in batches:
            with ctx.writing() as bound:
                items = [Item(seq=bound.ws.next_seq(), ts_ms=bound.ws.seq * 10, **fields) for fields in batch]
                write(bound.tx, bound.workspace, items, sorted(gone))
        with ctx.writing() as bound:
            found.append(kept(bound.tx, bound.workspace))
    assert found[0] == found[1]


def test_the_last_of_a_repeated_ref_wins_and_the_one_before_is_past(clew: Clew) -> None:
    with place(clew, "ws").writing() as bound:
        said = ["red", "green", "blue"]
        index_items(bound.tx, "ws", [Item("N-1", "note", seq, seq * 10, body=text) for seq, text in enumerate(said, 1)])
        assert [row["body"] for row in matching(bound.tx, "ws", said, 9)] == ["blue"]
        seen = [items_as_of(bound.tx, "ws", "seq", seq)[0].terms for seq in (1, 2, 3)]
        assert [terms.strip() for terms in seen if terms] == said
        numbers = [row["change"] for row in bound.tx.all("SELECT change FROM item_terms WHERE workspace = 'ws'")]
        assert numbers == [3]


def test_an_id_is_never_used_twice(clew: Clew) -> None:
    with place(clew, "ws").writing() as bound:
        index_items(bound.tx, "ws", [Item(f"N-{n}", "note", n, n, body="red") for n in range(5)])
        before = {row["id"] for row in bound.tx.all("SELECT id FROM item")}
        assert unindex_items(bound.tx, "ws", [f"N-{n}" for n in range(7)]) == 5
        index_items(bound.tx, "ws", [Item(f"N-{n}", "note", n, n, body="red") for n in range(5)])
        after = {row["id"] for row in bound.tx.all("SELECT id FROM item")}
        assert len(after) == 5
        assert not before & after


def test_nothing_is_asked_for_nothing(clew: Clew) -> None:
    with clew.database.read() as tx:
        index_items(tx, "ws", [])
        assert unindex_items(tx, "ws", []) == 0


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_refs_are_looked_up_and_items_not_walked(clew: Clew) -> None:
    with clew.database.read() as tx:
        plan = [row["detail"] for row in tx.all(f"EXPLAIN QUERY PLAN {IDS_OF['sqlite']}", '["N-1"]', "ws")]
    assert any(step.startswith("SEARCH item USING") for step in plan)
    assert not any(step.startswith("SCAN item") for step in plan)
