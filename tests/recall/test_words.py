"""Words are found as people write them, on both engines, in the call after the one that wrote them."""

from __future__ import annotations

import pytest

from tests.conftest import Caller

HARD = [
    "server",
    "docker",
    "decision",
    "session",
    "number",
    "filter",
    "café",
    "数据库",
    "pg_dump",
    "users.email",
    "BM4_HYPOTHESIS",
]


def found(call: Caller, query: str, **arguments: object) -> list[str]:
    return [hit["_id"] for hit in call("recall", query=query, sources=["all"], **arguments)["results"]]


@pytest.fixture
def notes(call: Caller) -> dict[str, str]:
    """One note for each hard word, among others."""
    refs = {}
    for word in HARD:
        entry = call("notes_commit", content=f"About the {word} here.")["entry"]
        refs[word] = f"notes@{entry['seq']}"
        call("notes_commit", content=f"Nothing of interest, entry after {entry['seq']}.")
    return refs


def test_every_hard_word_finds_its_note_first(call: Caller, notes: dict[str, str]) -> None:
    assert {word: found(call, word)[0] for word in HARD} == notes


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("sessions", "session"),
        ("cafe", "café"),
        ("dump", "pg_dump"),
        ("email users", "users.email"),
        ("users.em", "users.email"),
        ("bm4 hypothesis", "BM4_HYPOTHESIS"),
        ("BM4_HYP", "BM4_HYPOTHESIS"),
        ("doccker", "docker"),
        ("nubmers", "number"),
        ("sesion", "session"),
    ],
)
def test_other_spellings_find_the_same(call: Caller, notes: dict[str, str], asked: str, written: str) -> None:
    assert found(call, asked)[0] == notes[written]


def test_irregular_forms_meet(call: Caller) -> None:
    call("notes_commit", content="The children went to the lake.")
    call("notes_commit", content="The report was late.")
    assert found(call, "where did the child go?")[0] == "notes@1"


def test_a_changed_item_is_found_by_its_new_words_only(call: Caller) -> None:
    call("notes_commit", content="alpha beta")
    assert found(call, "alpha") == ["notes@1"]
    call("notes_commit", content="gamma delta")
    assert found(call, "gamma") == ["notes@2"]


def test_phrases_in_quotes_come_first(call: Caller) -> None:
    call("notes_commit", content="Hand over the token and take the ring back to the office, as was said on the phone.")
    call("notes_commit", content="A token ring is a kind of network.")
    assert found(call, 'what is a "token ring"')[0] == "notes@2"
