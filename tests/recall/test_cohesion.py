"""What stands around an item counts where neighbours belong together, and not where they only stand together."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from clew.app import Clew
from clew.index.items import Item, index_item
from clew.recall.kernel import default_kernel
from clew.recall.library import library
from clew.recall.measures import cohesion
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller

TOPICS, EACH = 20, 8


def remarks() -> list[str]:
    """Twenty subjects, each spoken of in eight remarks with words of its own, and some that all have."""
    chance, common = random.Random(4), [f"common{letter}" for letter in "abcdefghijkl"]
    found = []
    for topic in range(TOPICS):
        words = [f"topic{topic}word{letter}" for letter in "abcdefgh"]
        found += [" ".join(chance.sample(words, 4) + chance.sample(common, 4)) for _ in range(EACH)]
    return found


def stored(clew: Clew, texts: list[str], speaker: str | None = "Ada") -> None:
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as ctx:
        for number, text in enumerate(texts):
            seq = ctx.ws.next_seq()
            item = Item(f"N-{number}", "note", seq, ctx.now_ms, body=text, branch=1, doc="all", speaker=speaker)
            index_item(ctx.tx, "ws", item)


def shares(clew: Clew) -> set[float]:
    with Context(clew.dispatcher, Connection(), "ws", None).reading() as ctx:
        corpus = library(ctx.database).current(ctx, default_kernel())
        return {round(float(share), 3) for share in cohesion(corpus)}


def test_a_talk_holds_together_and_a_shuffled_one_does_not(make_clew: Callable[..., Clew]) -> None:
    clew = make_clew()
    stored(clew, remarks())
    assert shares(clew) == {1.0}
    mixed = remarks()
    random.Random(5).shuffle(mixed)
    stored(clew, mixed)
    (share,) = shares(clew)
    assert share < 0.3


def test_few_items_are_believed_to_belong_together(clew: Clew) -> None:
    stored(clew, ["one thing", "another matter", "a third subject"])
    (share,) = shares(clew)
    assert share > 0.8


@pytest.mark.parametrize("together", [True, False])
def test_a_neighbour_is_lifted_only_where_neighbours_belong_together(call: Caller, together: bool) -> None:
    texts = remarks()
    if not together:
        random.Random(5).shuffle(texts)
    middle = len(texts) // 2
    texts[middle : middle + 2] = ["Where is the zeppelin moored?", "unrelated reply of some length here"]
    stored(call.clew, texts)
    hits = call("recall", query="where is the zeppelin moored", sources=["all"], explain=True)["results"]
    # In a talk, whoever follows the question is the likelier answer.
    assert hits[0]["_id"] == f"N-{middle + together}"
    windows = {hit["_id"]: {part["feature"]: part["value"] for part in hit["explain"]["parts"]} for hit in hits}
    beside = windows.get(f"N-{middle + 1}", {}).get("lead", 0.0)
    assert (beside > 0.3) if together else (beside < 0.15)


def test_one_more_item_seldom_changes_what_was_measured(clew: Clew) -> None:
    """The choice of pairs depends on the items alone, not on how the corpus grew."""
    stored(clew, remarks())
    grown = shares(clew)
    with Context(clew.dispatcher, Connection(), "ws", None).reading() as ctx:
        library(ctx.database)._kept.clear()
    assert shares(clew) == grown
