"""Both engines give the same order: 800 random questions over 5,000 items."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.index.items import Item, index_item
from clew.recall.search import Request, Search
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings
from tests.conftest import TickingClock

ITEMS, QUESTIONS = 5000, 800


def words(chance: random.Random, count: int) -> list[str]:
    """Made-up words, few of them often and many seldom, as in any text."""
    pool = [
        f"{a}{b}{c}"
        for a in ("ba", "ke", "lo", "mi", "nu", "ra")
        for b in ("d", "f", "g", "t")
        for c in ("an", "el", "ir")
    ]
    pool += [f"{word}{ending}" for word in pool for ending in ("os", "um", "ek")]
    return [pool[min(int(chance.expovariate(0.02)), len(pool) - 1)] for _ in range(count)]


def filled(home: Path, url: str | None) -> Clew:
    flags: dict[str, Any] = {"home": home, "database_url": url, "workspace": "ws", "embedding_model": "none"}
    clew = open_clew(load_settings(flags, {}, home.parent), TickingClock())
    chance = random.Random(1)
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as ctx:
        for number in range(ITEMS):
            item = Item(
                ref=f"N-{number}",
                source=chance.choice(["note", "card", "thought"]),
                seq=ctx.ws.next_seq(),
                ts_ms=ctx.now_ms + number,
                title=" ".join(words(chance, 3)) if number % 3 == 0 else None,
                body=" ".join(words(chance, chance.randint(3, 20))) + ("?" if number % 7 == 0 else ""),
                tags=tuple(words(chance, 1)) if number % 5 == 0 else (),
                branch=1,
                doc=f"doc-{number // 30}" if number % 4 else None,
                speaker=chance.choice([None, "Ada", "Bo"]),
                status=chance.choice([None, "active", "superseded"]),
            )
            index_item(ctx.tx, "ws", item)
    return clew


def answers(clew: Clew) -> list[list[tuple[str, float]]]:
    chance = random.Random(2)
    ctx = Context(clew.dispatcher, Connection(), "ws", None)
    starts = ["", "why ", "when did Ada ", "list all the ", "compare ", "is it true that "]
    found = []
    for _ in range(QUESTIONS):
        query = chance.choice(starts) + " ".join(words(chance, chance.randint(1, 6)))
        found.append([(hit["_id"], hit["score"]) for hit in Search(ctx, Request(query)).run()["results"]])
    return found


@pytest.mark.timeout(900)
def test_both_engines_give_the_same_order(tmp_path: Path, postgres_url: str) -> None:
    embedded, team = filled(tmp_path / "a", None), filled(tmp_path / "b", postgres_url)
    here, there = answers(embedded), answers(team)
    embedded.close()
    team.close()
    assert sum(bool(hits) for hits in here) > QUESTIONS // 2
    assert here == there
