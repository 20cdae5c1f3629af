"""Likeness of meaning is the same to the last bit in the process, on any processor, and in PostgreSQL by pgvector."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clew.app import Clew
from clew.index import vectors
from clew.index.item_reads import changed_items, last_change
from clew.index.items import Item, index_items
from clew.index.vectors import vectors_after
from clew.recall import likeness as dense
from clew.recall.kernel import default_kernel
from clew.recall.likeness import EXACT_NUMBER, EXACT_SUM, question
from clew.recall.models import installed_model, load
from clew.recall.search import Request, Search
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller
from tests.recall.test_engines import words

ITEMS, QUESTIONS = 2500, 60
SERVED: dict[str, dict[str, bool | int | float | str]] = {"vector": {"in_process": 0}}

numbers = st.floats(-1, 1, width=32)


@given(arrays(np.float32, st.integers(1, 64), elements=numbers))
def test_a_question_is_made_of_numbers_whose_sums_are_exact(vector: np.ndarray[Any, Any]) -> None:
    asked = question(vector)
    assert (asked.numbers == np.round(asked.numbers)).all()
    assert np.abs(asked.numbers).max() <= EXACT_NUMBER
    assert 127 * np.abs(asked.numbers).sum() < EXACT_SUM
    assert np.log2(asked.factor) == int(np.log2(asked.factor))
    assert np.abs(asked.numbers / asked.factor - vector).max() <= 0.5 / asked.factor


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 384, 1024]))
def test_the_order_of_adding_changes_nothing(seed: int, dimensions: int) -> None:
    chance = np.random.default_rng(seed)
    rows = chance.integers(-127, 128, (20, dimensions)).astype(np.float32)
    asked = question(chance.standard_normal(dimensions).astype(np.float32)).numbers
    exact = rows.astype(np.int64) @ asked.astype(np.int64)
    turned = chance.permutation(dimensions)
    assert (rows @ asked == exact).all()
    assert (rows[:, turned] @ asked[turned] == exact).all()


def filled(clew: Clew) -> Context:
    """Notes with vectors of their own making, in a space as wide as the model's."""
    ctx, chance = Context(clew.dispatcher, Connection(), "ws", None), random.Random(1)
    with ctx.writing() as bound:
        items = [
            Item(
                ref=f"N-{number}",
                source="note" if number % 3 else "card",
                seq=bound.ws.next_seq(),
                ts_ms=bound.now_ms,
                body=" ".join(words(chance, 12)),
            )
            for number in range(ITEMS)
        ]
        index_items(bound.tx, "ws", items)
    give_vectors(ctx)
    return ctx


def give_vectors(ctx: Context) -> None:
    model = embedder()
    made = np.random.default_rng(1).standard_normal((ITEMS, model.dimensions)).astype(np.float32)
    made[7::50] = made[7]  # equal ones, so that ties are looked at too
    with ctx.writing() as bound:
        rows = changed_items(bound.tx, "ws", 0, ITEMS)
        stored = [vectors.StoredVector(row.id, str(at), vectors.packed(made[at])) for at, row in enumerate(rows)]
        vectors.keep(bound.tx, "ws", model.id, stored, [], last_change(bound.tx, "ws"))


def embedder() -> Any:
    return load(installed_model())


def answers(ctx: Context, **changes: Any) -> list[list[tuple[str, float]]]:
    chance, kernel, found = random.Random(2), default_kernel().changed(changes), []
    for number in range(QUESTIONS):
        # Every third question looks at so few items that the server compares those, every second at most of them.
        sources = ((), ("note",), ("card",))[number % 3]
        request = Request(" ".join(words(chance, 4)), kernel=kernel, sources=sources)
        answer = Search(ctx, request).run()
        assert answer["arms"]["semantic"] is True
        found.append([(hit["_id"], hit["score"]) for hit in answer["results"]])
    return found


def install(ctx: Context) -> str:
    from clew.index import vectors as pgvector

    with ctx.database.write() as tx:
        return pgvector.install(tx)


def opened(url: str | None, home: Path) -> Clew:
    from clew.app import open_clew
    from clew.settings import load_settings

    flags: dict[str, Any] = {"home": home, "database_url": url, "workspace": "ws"}
    return open_clew(load_settings(flags, {}, home.parent))


def test_pgvector_gives_the_order_that_the_process_gives(tmp_path: Path, empty_postgres_url: str) -> None:
    embedded, team = opened(None, tmp_path / "a"), opened(empty_postgres_url, tmp_path / "b")
    here, there = filled(embedded), filled(team)
    assert install(there) == ""
    in_process = answers(here)
    assert sum(bool(hits) for hits in in_process) > QUESTIONS // 2
    assert answers(there) == in_process
    assert answers(there, **SERVED) == in_process
    embedded.close()
    team.close()


def test_the_first_vectors_bring_pgvector(tmp_path: Path, empty_postgres_url: str) -> None:
    clew = opened(empty_postgres_url, tmp_path / "home")
    call = Caller(clew)
    call("notes_commit", content="Our automobile broke down on the highway.")
    call("reindex", include_vectors=True)
    assert call("index_stats")["vectors"]["compared_by"] == "this process"
    with psycopg.connect(empty_postgres_url) as connection:
        count = connection.execute("SELECT count(*) FROM item_vector WHERE vector_dims(near) = 384").fetchone()
    assert count == (1,)
    found = Search(Context(clew.dispatcher, Connection(), "ws", None), served_request("car trouble")).run()
    assert [hit["_id"] for hit in found["results"]] == ["notes@1"]
    clew.close()


def served_request(query: str) -> Request:
    return Request(query, kernel=default_kernel().changed(SERVED), sources=("note",))


def test_without_the_right_to_install_it_the_process_compares(
    tmp_path: Path, guest_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clew = opened(guest_url, tmp_path / "home")
    ctx = filled(clew)
    assert "permission denied" in install(ctx)
    assert answers(ctx, **SERVED) == answers(ctx)
    read: list[int] = []

    def counted(*given: Any) -> Any:
        read.append(1)
        return vectors_after(*given)

    monkeypatch.setattr(dense, "vectors_after", counted)
    answers(ctx, **SERVED)
    assert not read, "vectors that are here are not read again for each question"
    clew.close()


@pytest.fixture
def guest_url(empty_postgres_url: str) -> Iterator[str]:
    """A database as somebody sees it who may make tables in it and nothing else."""
    guest = f"guest_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {guest} LOGIN")
        connection.execute(f"GRANT ALL ON SCHEMA public TO {guest}")
        yield psycopg.conninfo.make_conninfo(empty_postgres_url, user=guest)
        connection.execute(f"DROP OWNED BY {guest}")
        connection.execute(f"DROP ROLE {guest}")
