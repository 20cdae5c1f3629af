"""Card input: an object, its JSON, `key: value` lines and plain text lead to the same card."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.canonical import canonical
from clew.errors import ClewError
from clew.reasoning.cards.forms import Card, parse_lines, read_card
from clew.reasoning.visibility import CARD_TYPES


def test_an_object_its_json_and_its_lines_are_the_same_card() -> None:
    given_card = {"type": "test", "title": "Import twice", "text": "CMD: make import", "tags": ["a:io", "Slow"]}
    lines = "type: test\ntitle: Import twice\ntags: a:io, slow\ntext: CMD: make import"
    expected = Card(None, "test", "Import twice", "CMD: make import", tags=("a:io", "slow"))
    assert read_card(given_card) == read_card(orjson.dumps(given_card).decode()) == read_card(lines) == expected


def test_plain_text_is_a_note() -> None:
    assert read_card("Remember: the index is stale") == Card(None, "note", None, "Remember: the index is stale")


def test_keys_that_no_card_has_are_kept_in_meta() -> None:
    assert read_card("title: T\nowner: Ann\nsource: ci").meta == {"owner": "Ann", "source": "ci"}
    assert read_card({"title": "T", "owner": "Ann", "meta": {"a": 1}}).meta == {"a": 1, "owner": "Ann"}


def test_lines_that_are_no_fields_go_on_with_the_text() -> None:
    card = read_card(
        "type: evidence\ntext: It failed\nCMD: pytest -x\nsee http://ci/1\n  status: shown in the log\nstatus: done"
    )
    assert card.text == "It failed\nCMD: pytest -x\nsee http://ci/1\nstatus: shown in the log"
    assert card.status == "done"


@pytest.mark.parametrize(
    ("given_card", "field"),
    [
        ({}, "card"),
        ({"title": "  "}, "card"),
        ({"title": 3}, "card.title"),
        ({"title": "T", "tags": [1]}, "card.tags"),
        ({"title": "T", "tags": ["a|b"]}, "card.tags"),
        ({"title": "T", "meta": []}, "card.meta"),
        ({"title": "T", "type": "idea"}, "card.type"),
        ({"title": "T", "id": "a|b"}, "card.id"),
        ({"title": "T", "id": "a\x07b"}, "card.id"),
        ({"title": "x" * 1001}, "card.title"),
        ('{"title": }', "card"),
    ],
)
def test_a_bad_card_is_refused_by_the_field_that_is_wrong(given_card: dict[str, object] | str, field: str) -> None:
    with pytest.raises(ClewError) as refused:
        read_card(given_card)
    assert refused.value.code == "INVALID_INPUT"
    assert refused.value.hints[0]["field"] == field


@given(st.text())
def test_no_text_breaks_the_line_parser(text: str) -> None:
    parsed = parse_lines(text)
    assert set(parsed) <= {"id", "card_id", "type", "title", "text", "status", "tags", "meta"}


@given(st.text(min_size=1).filter(lambda text: text.strip() and not text.strip().startswith("{")))
def test_any_text_is_a_card_or_a_typed_refusal(text: str) -> None:
    try:
        card = read_card(text)
    except ClewError as refused:
        assert refused.code == "INVALID_INPUT"
    else:
        assert card.title or card.text


TEXT = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"))
line = st.text(TEXT, min_size=1, max_size=40).map(str.strip).filter(bool)
cards = st.builds(
    Card,
    id=st.none() | st.from_regex(r"[A-Z]{1,4}-[0-9]{1,4}", fullmatch=True),
    type=st.sampled_from(CARD_TYPES),
    title=st.none() | line,
    text=st.lists(
        st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40) | st.just("CMD: ls") | st.just("title: x"),
        min_size=1,
    )
    .map("\n".join)
    .map(str.strip)
    .filter(bool),
    status=st.sampled_from(["open", "closed", "accepted"]),
    tags=st.sets(st.from_regex(r"[a-z][a-z0-9:-]{0,10}", fullmatch=True)).map(lambda tags: tuple(sorted(tags))),
    meta=st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
        st.integers(-(2**63), 2**63 - 1)
        | st.booleans()
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=10),
    ),
)


@given(cards)
def test_a_card_written_as_lines_reads_back_as_itself(card: Card) -> None:
    assert read_card(_as_lines(card)) == card


def _as_lines(card: Card) -> str:
    fields = {"type": card.type, "id": card.id, "title": card.title, "status": card.status}
    lines = [_field(key, value) for key, value in fields.items() if value is not None]
    lines += [f"tags: {', '.join(card.tags)}"] if card.tags else []
    lines += [f"meta: {canonical(card.meta)}"] if card.meta else []
    lines += [_field("text", card.text)] if card.text is not None else []
    return "\n".join(lines)


def _field(key: str, value: str) -> str:
    head, *rest = value.split("\n")
    return "\n".join([f"{key}: {head}" if head else f"{key}:", *(f"  {line}" for line in rest)])
