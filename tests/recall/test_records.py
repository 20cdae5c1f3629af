"""Records with kinds and authors: what somebody is about to do finds what binds, and pages trust the model more."""

from __future__ import annotations

import pytest

from clew.app import Clew
from clew.index.indexing import index_items
from clew.index.items import Item
from clew.recall.kernel import default_kernel
from clew.recall.query import analyse
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller


def keep(clew: Clew, *records: tuple[str, str, str]) -> None:
    """Notes by ref, kind and text, each standing for itself."""
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as ctx:
        index_items(
            ctx.tx,
            "ws",
            [
                Item(ref, "note", ctx.ws.next_seq(), ctx.now_ms, body=text, kind=kind, branch=1, doc=ref)
                for ref, kind, text in records
            ],
        )


def first(call: Caller, query: str) -> str:
    found: str = call("recall", query=query, sources=["notes"])["results"][0]["_id"]
    return found


def test_what_somebody_is_about_to_do_finds_what_binds(clew: Clew, call: Caller) -> None:
    keep(
        clew,
        ("n", "note", "The refund handler was renamed, retries included, in the spring."),
        ("r", "rule", "Refund handler: no retries without an idempotency key."),
    )
    assert first(call, "I am going to add retries to the refund handler") == "r"


def test_a_kind_that_is_named_comes_first(clew: Clew, call: Caller) -> None:
    keep(
        clew,
        ("f", "fact", "Logs of the payout worker go to Loki."),
        ("q", "question", "Logs of the payout worker: for how long?"),
    )
    assert first(call, "open question about the logs of the payout worker") == "q"


@pytest.mark.parametrize(
    ("text", "doing"),
    [
        ("I'm going to add retries to the refund handler", True),
        ("Adding a phone number to the customer mart", True),
        ("I will copy the dump", True),
        ("Next: give it a margin", True),
        ("what did we decide about retries?", False),
        ("retry policy", False),
        ("loading Spanish letters crashes", False),
    ],
)
def test_plans_are_told_from_questions(text: str, doing: bool) -> None:
    assert analyse(text, default_kernel(), 0).doing is doing


@pytest.mark.parametrize(
    ("text", "history"),
    [
        ("what was the previous retry policy", True),
        ("history of the retry policy", True),
        ("what is the retry policy", False),
        ("why MySQL", False),
    ],
)
def test_history_is_asked_for_in_words(text: str, history: bool) -> None:
    assert analyse(text, default_kernel(), 0).history is history


def test_between_talk_and_pages_the_weights_change_evenly() -> None:
    kernel = default_kernel()
    talk, half, page = (kernel.weights(share)["dense"] for share in (0.0, 0.5, 1.0))
    assert talk < half < page
    assert half == pytest.approx((talk + page) / 2)
    assert (kernel.pages(0.34), kernel.pages(1.0)) == (0.0, 1.0)
