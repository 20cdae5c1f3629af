"""Posting lists say of every term which items hold it and how often, however the runs were built and joined."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.index.postings import FIELD_COUNT, Names, PostingRun, added, build_run, cut, join_runs, term_counts

FIELD = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=6)
ITEM = st.lists(FIELD, min_size=FIELD_COUNT, max_size=FIELD_COUNT)
ITEMS = st.lists(ITEM, max_size=8)

Fields = list[list[str]]


def run_of(items: list[Fields], vocabulary: Names, first: int = 0) -> PostingRun:
    keys, lengths = cut(["\n".join(" ".join(field) for field in item) for item in items], vocabulary)
    return build_run(first, keys, lengths.sum(axis=1))


def assert_says(run: PostingRun, items: list[Fields], vocabulary: Names) -> None:
    """Every key is looked up and compared with a count over the texts; the reading order is compared too."""
    assert run.size == len(items)
    assert np.all(run.keys[1:] > run.keys[:-1]), "each key once, rising"
    for term, number in vocabulary.items():
        for field in range(FIELD_COUNT):
            expected = {
                run.first + at: Counter(item[field])[term] for at, item in enumerate(items) if term in item[field]
            }
            found = run.postings(number * FIELD_COUNT + field)
            slots, counts = ([], []) if found is None else (found[0].tolist(), found[1].tolist())
            assert dict(zip(slots, counts, strict=True)) == expected
            assert slots == sorted(slots)
    for at, item in enumerate(items):
        expected_keys = [vocabulary[term] * FIELD_COUNT + field for field in range(FIELD_COUNT) for term in item[field]]
        assert run.reading(run.first + at).tolist() == expected_keys


@given(ITEMS)
def test_a_run_says_what_its_texts_say(items: list[Fields]) -> None:
    vocabulary = Names()
    assert_says(run_of(items, vocabulary, first=7), items, vocabulary)


@given(ITEMS, ITEMS)
def test_two_runs_joined_say_what_both_say(left: list[Fields], right: list[Fields]) -> None:
    vocabulary = Names()
    joined = join_runs(run_of(left, vocabulary), run_of(right, vocabulary, first=len(left)))
    assert_says(joined, left + right, vocabulary)


@given(st.lists(ITEMS.filter(bool), min_size=1, max_size=6))
def test_a_growing_list_of_runs_stays_short_and_counts_right(batches: list[list[Fields]]) -> None:
    vocabulary, runs, items = Names(), [], []  # type: ignore[var-annotated]
    for batch in batches:
        runs = added(runs, run_of(batch, vocabulary, first=len(items)))
        items += batch
    assert all(left.size >= 2 * right.size for left, right in pairwise(runs))
    weights = np.array([4.0, 1.0, 2.0, 0.0], np.float32)
    for term, number in vocabulary.items():
        expected = [sum(float(weights[at]) * field.count(term) for at, field in enumerate(item)) for item in items]
        assert term_counts(runs, number, weights, len(items)).tolist() == expected
