"""The index of substrings finds every text that holds another, keeps to its workspace, and gives up on common ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew
from clew.index.substrings import COMMON, MOST_CANDIDATES, NEWEST, candidates, index_substrings
from clew.store.database import Transaction
from clew.store.postgres import PostgresDatabase

WORKSPACES = count(1)
WORDS = st.text(alphabet='ab c"%ßé日\n', max_size=12)


@pytest.fixture
def tx(clew: Clew) -> Iterator[Transaction]:
    with clew.database.write() as tx:
        yield tx


def fill(tx: Transaction, workspace_number: int, texts: list[str]) -> None:
    for seq, text in enumerate(texts, 1):
        index_substrings(tx, workspace_number, seq, text)


@settings(max_examples=25)
@given(st.lists(WORDS, max_size=8), WORDS.filter(lambda text: len(text) >= 3))
def test_no_text_that_holds_it_is_missed(clew: Clew, texts: list[str], wanted: str) -> None:
    texts = [*texts, f"before{wanted}after"]
    number = next(WORKSPACES)
    with clew.database.write() as tx:
        fill(tx, number, texts)
        found = candidates(tx, number, wanted)
    holding = {seq for seq, text in enumerate(texts, 1) if wanted in text}
    assert holding <= set(found) if found is not None else len(holding) >= COMMON


def test_what_is_rare_is_found_newest_first(tx: Transaction) -> None:
    fill(
        tx, 1, [f"thought {n % 7} of the storage engine: {'needle' if n in (5, 90) else 'hay'}" for n in range(1, 500)]
    )
    assert candidates(tx, 1, "needle") == (90, 5)
    assert candidates(tx, 1, "nothing like it") == ()
    assert candidates(tx, 1, "ha") is None  # shorter than a term


def test_workspaces_do_not_meet(tx: Transaction) -> None:
    fill(tx, 1, ["needle", "hay"])
    fill(tx, 2, ["hay", "needle", "needle"])
    assert candidates(tx, 1, "needle") == (1,)
    assert candidates(tx, 3, "needle") == ()


def test_what_is_common_is_left_to_a_walk(tx: Transaction) -> None:
    fill(tx, 1, ["the storage engine"] * (MOST_CANDIDATES + 1))
    assert candidates(tx, 1, "storage") is None


def test_postgres_does_not_ask_the_index_for_what_the_newest_hold(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    with database.write() as tx:
        fill(tx, 1, ["hay", *["needle"] * COMMON, *["hay"] * (NEWEST - COMMON)])
        assert candidates(tx, 1, "needle") is None
        index_substrings(tx, 1, NEWEST + 2, "hay")
        assert candidates(tx, 1, "needle") == (4, 3, 2)
        plan = tx.all("EXPLAIN SELECT number FROM node_grams WHERE grams @> CAST('{1,2}' AS INTEGER[]) LIMIT 1001")
        assert any("node_grams_held" in str(line) for line in plan)
    database.close()
