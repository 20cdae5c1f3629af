"""What was fitted on talk among equals does no harm between a person and a machine, among pages and in lists."""

from __future__ import annotations

from typing import Any

from clew.app import Clew
from clew.index.items import Item, index_item
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller

KINDS = ("kayak", "oven", "violin", "tent", "piano", "camera", "drill", "aquarium", "sofa", "scooter")
THINGS = [f"{kind}{letter}" for letter in "abcdef" for kind in KINDS]


def stored(clew: Clew, rows: list[tuple[str | None, str | None, str]]) -> None:
    """Rows of document, speaker and text; the nth is `N-n`."""
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as ctx:
        for number, (doc, speaker, text) in enumerate(rows):
            seq = ctx.ws.next_seq()
            item = Item(f"N-{number}", "note", seq, ctx.now_ms, body=text, branch=1, doc=doc, speaker=speaker)
            index_item(ctx.tx, "ws", item)


def asked(call: Caller, query: str) -> list[dict[str, Any]]:
    hits = call("recall", query=query, sources=["all"], explain=True)["results"]
    return [{"id": hit["_id"], **{part["feature"]: part["value"] for part in hit["explain"]["parts"]}} for hit in hits]


def advice(thing: str) -> str:
    return f"A good {thing} should last. {'There are many ways to clean things and to store them well. ' * 4}"


def chats() -> list[tuple[str | None, str | None, str]]:
    """In each the user tells of a thing and asks; the assistant explains at length."""
    rows: list[tuple[str | None, str | None, str]] = []
    for number, thing in enumerate(THINGS):
        told = f"I bought my {thing} in town{number} two weeks ago and like it. How do I care for it?"
        rows += [(f"s{number}", "user", told), (f"s{number}", "assistant", advice(thing))]
    return rows


def test_a_user_who_always_asks_is_found_all_the_same(call: Caller) -> None:
    stored(call.clew, chats())
    for number, thing in list(enumerate(THINGS))[::10]:
        first = asked(call, f"Where did I buy my {thing}?")[0]
        assert first["id"] == f"N-{2 * number}"
        # Asking is what the user does in every turn, so that it tells little about this one.
        assert first["question"] < 0.7


def test_a_long_neighbour_does_not_drown_a_remark(call: Caller) -> None:
    short, long = "The mooring mast was painted.", "The mooring mast was painted. " + "Other news follow here. " * 100
    filling = [(f"d{number}", "Ada" if number % 2 else "Bob", f"talk of thing{number}") for number in range(20)]
    rows = [("a", "Ada", short), ("a", "Bob", "Nice."), ("b", "Ada", long), ("b", "Bob", "Nice.")]
    stored(call.clew, [*rows, *filling])
    leads = {hit["id"]: hit["lead"] for hit in asked(call, "who painted the mooring mast")}
    assert leads["N-1"] > 2 * leads.get("N-3", 0.0)


def test_pages_are_ranked_the_same_alone_and_in_one_document(call: Caller) -> None:
    """Neither their place nor their length counts; BM25 knows about lengths."""
    pages = [f"The {thing} of model{number} weighs grams{number % 5}." for number, thing in enumerate(THINGS * 3)]
    pages[17] += " It hangs in the harbour museum beside a map of the northern trade winds and an old brass bell."
    orders = []
    for name, together in (("apart", False), ("in-one", True)):
        stored(call.clew, [("all" if together else f"{name}{number}", None, text) for number, text in enumerate(pages)])
        hits = asked(call, "aquariumb of model17 in the museum")
        orders.append([hit["id"] for hit in hits][:3])
        assert min(hit["length"] for hit in hits) > 0.95
    assert orders[0] == orders[1]
