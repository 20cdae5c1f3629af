"""Records with kinds and authors: what somebody is about to do finds what binds, and pages trust the model more."""

from __future__ import annotations

import pytest

from clew.app import Clew
from clew.index.items import Item, index_items
from clew.recall.kernel import default_kernel
from clew.recall.query import analyse
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller

WORDS = ("rope", "sail", "mast", "oar", "plank", "chart", "lamp", "bell", "flag", "crate", "winch", "barrel")


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


def test_pages_without_a_model_trust_words_more() -> None:
    kernel = default_kernel()
    assert kernel.weights(1.0, meaning=False)["document"] > kernel.weights(1.0, meaning=True)["document"]
    assert kernel.weights(0.0, meaning=False)["lead"] > kernel.weights(0.0, meaning=True)["lead"]
    assert kernel.weights(0.0, meaning=False).keys() == kernel.weights(0.0, meaning=True).keys()


def test_a_text_that_begins_like_a_line_of_a_transcript_is_not_spoken(clew: Clew, call: Caller) -> None:
    """Where hardly any record has a speaker, the word before a colon is none."""
    records = [(f"n{at}", "note", f"The {word} of the harbour is kept dry.") for at, word in enumerate(WORDS)]
    keep(clew, *records, ("s", "note", "List: eggs, milk and bread."), ("w", "note", "A list of the moored ferries."))
    assert first(call, "list of ferries that are moored") == "w"
    assert speaker_part(call, "list of ferries that are moored", "s") < 0.5


def test_where_everybody_speaks_the_named_author_counts_fully(clew: Clew, call: Caller) -> None:
    keep(
        clew, *((f"n{at}", "note", f"{'Ada' if at % 2 else 'Bo'}: the {word} is dry.") for at, word in enumerate(WORDS))
    )
    assert speaker_part(call, "what did Ada say of the rope", "n1") == pytest.approx(1.0)


def speaker_part(call: Caller, query: str, ref: str) -> float:
    """The value of the feature `speaker` in a hit; 0 where it adds nothing."""
    hits = call("recall", query=query, sources=["notes"], limit=30, explain=True)["results"]
    parts = next(hit["explain"]["parts"] for hit in hits if hit["_id"] == ref)
    return float(sum(part["value"] for part in parts if part["feature"] == "speaker"))
