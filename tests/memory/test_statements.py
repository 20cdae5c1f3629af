"""The numbers behind the comparison of statements: likeness, confidence, ranges, and the order of two sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.memory.contradictions.amounts import Amount, amounts, with_periods
from clew.memory.contradictions.judgement import clash, sharpness
from clew.memory.contradictions.lexicon import DENYING, EXCLUSIVE, OPPOSED
from clew.memory.contradictions.statements import ALIKE, CLOSE, DENIED, _alike, _sure, read

NOUNS = ("billing", "invoices", "worker", "gateway", "ledger", "mailer", "scheduler", "archive", "reports", "sessions")
SAID = st.lists(
    st.sampled_from(
        [
            *NOUNS,
            *("use", "for", "in", "before", "over", "only", "must", "instead of", "every six hours", "at most", "30"),
            *sorted(DENYING)[:8],
            *(word for group in EXCLUSIVE[:6] for word in sorted(group)[:3]),
            *(word for pair in OPPOSED[:8] for word in pair),
        ]
    ),
    max_size=9,
).map(" ".join)


def likeness(first: str, second: str) -> float:
    return _alike(read(first), read(second))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("billing gateway", "billing ledger", 0.42),
        ("billing gateway ledger", "billing gateway mailer", 0.58),
        ("billing gateway ledger mailer", "billing gateway ledger archive", 0.68),
        ("billing", "billing gateway", 0.75),
        ("billing", "billing gateway ledger", 0.67),
        ("billing gateway", "billing gateway ledger mailer", 0.75),
        ("billing gateway", "billing gateway", 1.0),
        ("billing", "gateway", 0.0),
    ],
)
def test_likeness_is_what_the_thresholds_were_chosen_by(first: str, second: str, expected: float) -> None:
    assert round(likeness(first, second), 2) == expected


def test_the_thresholds_ask_for_two_of_three_and_three_of_four_words() -> None:
    assert 0.42 < ALIKE <= 0.58 < CLOSE <= 0.67 < DENIED <= 0.75


def test_confidence_rises_with_likeness_up_to_its_top() -> None:
    assert [_sure(value, 0.9) for value in (ALIKE, 0.75, 0.9, 1.0)] == [0.7, 0.82, 0.9, 0.9]


@given(SAID, SAID)
def test_a_clash_does_not_depend_on_the_order_of_the_two(first: str, second: str) -> None:
    one, other = clash(first, second), clash(second, first)
    assert (one and (one.kind, one.confidence)) == (other and (other.kind, other.confidence))


@given(SAID)
def test_nothing_contradicts_itself(statement: str) -> None:
    assert clash(statement, statement) is None


@given(SAID, SAID)
def test_likeness_is_a_share(first: str, second: str) -> None:
    assert 0 <= likeness(first, second) <= 1
    assert likeness(first, second) == likeness(second, first)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [("never use tabs", 2), ("only admins may deploy", 2), ("use Redis", 1), ("retry 3 times", 1), ("write docs", 0)],
)
def test_sharpness_says_what_a_statement_may_clash_with(statement: str, expected: int) -> None:
    assert sharpness(statement) == expected


RANGE = st.builds(
    lambda a, b, open_low, open_high: Amount(
        "time", float("-inf") if open_low else min(a, b), float("inf") if open_high and not open_low else max(a, b), ""
    ),
    st.integers(0, 9).map(float),
    st.integers(0, 9).map(float),
    st.booleans(),
    st.booleans(),
)


@given(RANGE, RANGE)
def test_amounts_apart_have_no_common_value_or_differ_as_bounds(one: Amount, other: Amount) -> None:
    assert one.apart(other) == other.apart(one)
    bounds = one.low == other.low == float("-inf") or one.high == other.high == float("inf")
    disjoint = one.high < other.low or other.high < one.low
    assert one.apart(other) == ((one.low, one.high) != (other.low, other.high) if bounds else disjoint)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("every six hours", 21_600), ("twice a day", 43_200), ("daily", 86_400), ("each week", 604_800)],
)
def test_periods_become_the_seconds_between(text: str, seconds: int) -> None:
    found, _ = amounts(with_periods(text).split())
    assert [(amount.measure, amount.low) for amount in found] == [("period", seconds)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The default branch of a repository is called main", "The default branch of a repository is called trunk"),
        ("When two files set the same key, the first one wins", "When two files set the same key, the last one wins"),
        ("Two-factor login is required for all employees", "Two-factor login is required only for administrators"),
        ("Feature previews are shown to every customer", "Feature previews are shown only to beta customers"),
        ("Keep audit logs for 90 days", "Keep audit logs for 7 years"),
        ("Maria approves production database changes", "Tomas approves production database changes"),
        ("Travel is booked by the assistant", "Employees book their travel themselves"),
        ("Visitors may stay until 20:00", "Visitors may stay until 6 pm"),
        ("Reservations are held for 15 minutes", "Reservations are held for half an hour"),
        ("The product is sold only in Europe", "The product is sold worldwide"),
    ],
)  # fmt: skip
def test_what_excludes_each_other_whatever_it_is_about(first: str, second: str) -> None:
    assert clash(first, second) is not None
    assert clash(second, first) is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Public endpoints need a rate limit", "Internal endpoints need no rate limit"),
        ("Passwords have at least 12 characters", "Administrator passwords have at least 16 characters"),
        ("Uploads are limited to 10 MB", "Uploads of paying customers are limited to 50 MB"),
        ("Parcels over 20 kg go by sea", "Parcels under 20 kg go by air"),
        ("Everybody can open a pull request", "Only maintainers can merge into main"),
        ("Ann signs the invoices", "Bo files the invoices"),
        ("Tests run before the merge", "Tests must not use the network"),
        ("Salaries are paid at the end of the month", "Expenses are paid at the start of the month"),
    ],
)
def test_things_of_one_kind_and_exceptions_are_no_contradictions(first: str, second: str) -> None:
    assert clash(first, second) is None
    assert clash(second, first) is None
