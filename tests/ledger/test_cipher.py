"""The cipher: what each form means, and that no text can break the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ledger.cipher import (
    KINDS,
    MARKS,
    OPERATORS,
    QUANTIFIERS,
    CipherReading,
    Confidence,
    Reference,
    anchors,
    described,
    read,
    write,
)

SEED_CHAIN = """\
S1|O|User reports slow page loads
S2|H|S1|Database queries causing latency
S3|E|S2|Query logs show 2s avg response
S4|H|S3|Missing index on users.email
S5|E|S4|EXPLAIN shows full table scan
S6|C|S4,S5|∴ Add index on users.email
S7|P|S6|1. Create migration 2. Apply to staging 3. Verify 4. Deploy"""


def test_the_seeds_own_example_is_understood_line_by_line() -> None:
    found = [read(line) for line in SEED_CHAIN.splitlines()]
    assert [reading.number for reading in found] == [1, 2, 3, 4, 5, 6, 7]
    assert "".join(str(reading.kind) for reading in found) == "OHEHECP"
    assert [[str(r) for r in reading.references] for reading in found] == [
        [],
        ["S1"],
        ["S2"],
        ["S3"],
        ["S4"],
        ["S4", "S5"],
        ["S6"],
    ]
    assert found[0].field is None
    assert found[5].content == "∴ Add index on users.email"
    assert found[5].operators == ("∴",)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("S3|H|—|x", ()),
        ("S3|H||x", ()),
        ("S3|H|-|x", ()),
        ("S3|H|x", None),
        ("S3|H|a | b", None),
        ("S3|H|S1|x", (Reference("S", 1),)),
        ("S3|H|[S1-S3]|x", (Reference("S", 1, 3),)),
        ("S3|H|S1-3|x", (Reference("S", 1, 3),)),
        ("S3|H|[H1],S2|x", (Reference("H", 1), Reference("S", 2))),
        ("S3|R|^S2|x", (Reference("S", 2, mark="^"),)),
        ("S3|R|^[S2], +[S1]|x", (Reference("S", 2, mark="^"), Reference("S", 1, mark="+"))),
        ("S3|X|×[S4] |x", (Reference("S", 4, mark="×"),)),
        ("S3|E|[S1,S2]|x", (Reference("S", 1), Reference("S", 2))),
    ],
)  # fmt: skip
def test_the_reference_field_is_given_empty_or_left_out(text: str, field: tuple[Reference, ...] | None) -> None:
    assert read(text).field == field


def test_a_revision_is_what_is_marked_or_what_an_r_names_first() -> None:
    assert read("S16|R|^S12|Actually the network").revises == Reference("S", 12, mark="^")
    assert read("S16|R|S12,S3|Actually the network").revises == Reference("S", 12)
    assert read("wrong, see ^[S4]").revises == Reference("S", 4, mark="^", inline=True)
    assert read("S16|H|S12|no revision").revises is None


def test_references_in_the_content_need_brackets_or_a_mark() -> None:
    found = read("S9|C|S8|supports ⊕S3, against ⊖[S4], and [S5-S6]; the S3 bucket of AWS is no reference")
    assert [str(r) for r in found.inline] == ["⊕[S3]", "⊖[S4]", "[S5-S6]"]


def test_prose_keeps_its_text_and_its_question_marks() -> None:
    found = read("Is it slow? Yes! > 2 s, see [S3].")
    assert not found.notation
    assert found.operators == ()
    assert described(found) == {"references": ["[S3]"]}
    assert described(read("Plain words.")) == {}


@pytest.mark.parametrize(
    ("mark", "confidence"),
    [
        ("(!)", Confidence("high")),
        ("(~)", Confidence("medium")),
        ("(?)", Confidence("low")),
        ("(p=0.95)", Confidence("high", 0.95)),
        ("(p=70%)", Confidence("medium", 0.7)),
        ("(p=20)", Confidence("low", 0.2)),
        ("(p=900)", None),
    ],
)
def test_confidence_is_a_level_or_a_number(mark: str, confidence: Confidence | None) -> None:
    assert read(f"S1|H|it is the cache {mark}").confidence == confidence


def test_operators_and_quantifiers_are_named() -> None:
    said = described(read("S1|H|∀ users Δ latency → timeout"))
    assert said == {"type": "H", "operators": ["leads to"], "quantifiers": ["for all", "change"]}


def test_pointers_into_other_sessions_are_not_references() -> None:
    text = "S2|H|—|as in @auth-redesign:S25 and @cache:S3-S5 and again @auth-redesign:S25"
    assert anchors(text) == ["@auth-redesign:S25", "@cache:S3-S5"]
    assert read(text).references == ()


ALPHABET = "S0123456789|HECX ^+×[],-—→⊖\n(!p=.)@a:"
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.text(ALPHABET, max_size=60)


@given(anything)
def test_reading_never_fails_and_writing_it_reads_the_same(text: str) -> None:
    once = read(text)
    assert read(write(once)) == once
    described(once)


references = st.builds(
    Reference,
    st.sampled_from(["S", *KINDS]),
    st.integers(1, 999_999_999),
    st.none(),
    st.sampled_from(["", *MARKS]),
) | st.builds(Reference, st.just("S"), st.integers(1, 999), st.integers(1, 999), st.sampled_from(["", *MARKS]))
words = st.lists(
    st.sampled_from(["db", "slow", "(~)", "(p=0.5)", "[S1]", "⊖[S2]", *OPERATORS, *QUANTIFIERS]), min_size=1, max_size=6
)


@given(st.integers(1, 999_999_999), st.sampled_from(list(KINDS)), st.lists(references, max_size=5).map(tuple), words)
def test_what_is_written_is_what_is_read(
    number: int, kind: str, field: tuple[Reference, ...], content: list[str]
) -> None:
    text = write(CipherReading(" ".join(content), number, kind, field))
    found = read(text)
    assert (found.number, found.kind, found.field, found.content) == (number, kind, field, " ".join(content))
