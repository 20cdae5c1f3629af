"""Giving an item another status changes nothing else of it: its words, tags and links stay, and readers see it."""

from __future__ import annotations

from clew.index import item_reads as search
from clew.index.items import Item, index_item, mark_item
from clew.registry.context import Context
from clew.store.database import Row, Transaction
from tests.conftest import Caller

ITEM = Item(
    ref="X-1",
    source="evidence",
    seq=1,
    ts_ms=1,
    title="The walrus",
    body="See CARD-7 for tusks.",
    kind="check",
    tags=("a:zoo", "open"),
    status="open",
    event_ts_ms=5,
    speaker="ann",
    review_by="2030-01-01",
    links=(("supports", "CARD-3"),),
)


def stored(tx: Transaction) -> tuple[Row, list[tuple[str, str]]]:
    (row,) = search.items_by_ref(tx, "ws", ["X-1"])
    return dict(row), [(link["relation"], link["target"]) for link in search.links_of(tx, "ws", [row["id"]])]


def test_only_the_status_changes(call: Caller) -> None:
    with Context(call.clew.dispatcher, call.session, "ws", None).writing() as ctx:
        index_item(ctx.tx, "ws", ITEM)
        before, links = stored(ctx.tx)
        change = search.last_change(ctx.tx, "ws")
        assert mark_item(ctx.tx, "ws", "X-1", "disowned")
        after, links_after = stored(ctx.tx)
        assert search.last_change(ctx.tx, "ws") > change, "no other process would notice"
    assert links == links_after == [("mentions", "CARD-7"), ("supports", "CARD-3")]
    assert after == {**before, "status": "disowned"}


def test_what_is_not_indexed_is_not_marked(call: Caller) -> None:
    with Context(call.clew.dispatcher, call.session, "ws", None).writing() as ctx:
        assert not mark_item(ctx.tx, "ws", "X-1", "disowned")
