"""The model that reads two statements as one text: its batches, and what it cannot read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from benchmarks.contradictions import named
from hypothesis import given

from clew.model.pair import MOST_PIECES, pair_model
from clew.model.word_pieces import pieces
from tests.model.test_word_pieces import TEXTS

PAIRS = [(one, other) for _, one, other in named("fresh2")]


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
    assert len(pieces(long, model.transformer.words.numbers)) > 2 * MOST_PIECES


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
