"""The model that reads two statements as one text: its words, its batches, and what it cannot read."""

from __future__ import annotations

import string
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from benchmarks.contradictions import named
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.memory.contradictions.pair_model import MOST_PIECES, pair_model
from clew.memory.contradictions.word_pieces import UNKNOWN, pieces
from clew.recall.models import installed_model

PAIRS = [(one, other) for _, one, other in named("fresh2")]
TEXTS = st.text(string.printable + "éüñçÅ–—“”…", max_size=120)


@pytest.fixture(scope="module")
def reference() -> Any:
    """The library that the model's ancestor was taught with."""
    from tokenizers import Tokenizer

    files = installed_model()
    assert files is not None
    tokenizer = Tokenizer.from_file(str(files.tokenizer))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@settings(max_examples=300)
@given(TEXTS)
def test_texts_are_cut_as_the_library_cuts_them(reference: Any, text: str) -> None:
    known = pair_model().numbers
    words = list(known)
    expected = reference.encode(text, add_special_tokens=False).tokens
    told = [word if word in known else UNKNOWN for word in expected]
    assert [words[number] for number in pieces(text, known)] == told


def test_a_word_without_end_is_one_unknown_piece() -> None:
    known = pair_model().numbers
    assert pieces("a" * 5_000, known) == [known[UNKNOWN]]


def test_what_is_read_together_is_judged_as_if_it_were_read_alone() -> None:
    model = pair_model()
    alone = [model.judge([pair])[0] for pair in PAIRS]
    assert model.judge(PAIRS) == pytest.approx(alone, abs=1e-3)
    assert model.judge([]) == []


def test_threads_that_read_at_the_same_time_do_not_disturb_each_other() -> None:
    model = pair_model()
    expected = model.judge(PAIRS)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: model.judge(PAIRS), range(4)):
            assert found == pytest.approx(expected, abs=1e-3)


@given(TEXTS, TEXTS)
def test_any_two_texts_have_odds(one: str, other: str) -> None:
    (odds,) = pair_model().judge([(one, other)])
    assert -50 < odds < 50


def test_a_long_text_is_read_as_far_as_the_model_has_places() -> None:
    model = pair_model()
    long = "the cache is kept " * 400
    assert model.judge([(long, long + " and never emptied")]) == model.judge([(long, long)])
    assert len(pieces(long, model.numbers)) > 2 * MOST_PIECES


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("Backups are kept for 30 days", True),
        ("Sauvegardes conservées trente jours", True),
        ("重试三次之后放弃", False),
        ("не удаляй без проверки", False),
        ("", False),
    ],
)
def test_what_is_in_other_letters_is_not_judged_by_the_model(text: str, readable: bool) -> None:
    assert pair_model().can_read(text) is readable
