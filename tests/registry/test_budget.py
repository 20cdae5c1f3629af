"""Budgets: never exceeded, never less for more, the same bytes for the same state."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.budget_fit import escalated, fit, size
from tests.conftest import Caller

ENTRIES = Budget(
    (
        Clip("entries[].content", 50),
        Trim("entries", drop="first", floor=1, page="pagination"),
        Drop("extra"),
        Trim("entries", drop="first", page="pagination"),
    ),
    keep=("doc",),
)


def results() -> st.SearchStrategy[dict[str, Any]]:
    entry = st.builds(lambda seq, text: {"seq": seq, "content": text}, st.integers(1, 999), st.text(max_size=200))
    return st.builds(
        lambda entries, extra: {
            "doc": "notes",
            "entries": entries,
            "extra": extra,
            "pagination": {"cursor": None, "next_cursor": None, "has_more": False, "count": len(entries)},
            "truncated": False,
        },
        st.lists(entry, max_size=12),
        st.text(max_size=100),
    )


def shown(result: dict[str, Any]) -> int:
    return sum(len(entry["content"]) for entry in result.get("entries", [])) + len(result.get("entries", [])) * 1000


@given(result=results(), limit=st.integers(0, 3000))
def test_a_budget_is_never_exceeded_and_counts_what_it_says(result: dict[str, Any], limit: int) -> None:
    before = copy.deepcopy(result)
    fitted = fit(result, ENTRIES, limit)
    assert fitted.used_chars == size(fitted.result) <= fitted.max_chars
    assert fitted.clamped is (limit < 2)
    assert result == before, "the result given in stays as it was"
    assert fit(result, ENTRIES, limit) == fitted


@given(result=results(), limit=st.integers(2, 3000), more=st.integers(0, 500))
def test_a_larger_budget_never_shows_less(result: dict[str, Any], limit: int, more: int) -> None:
    small, large = fit(result, ENTRIES, limit), fit(result, ENTRIES, limit + more)
    assert shown(large.result) >= shown(small.result)
    assert large.truncated <= small.truncated


@given(result=results(), limit=st.integers(150, 3000))
def test_what_a_budget_left_out_is_told_and_can_be_paged_to(result: dict[str, Any], limit: int) -> None:
    fitted = fit(result, ENTRIES, limit)
    kept = fitted.result.get("entries")
    if kept is None or len(kept) == len(result["entries"]):
        return
    page = fitted.result["pagination"]
    assert fitted.left_out["entries"] == len(result["entries"]) - len(kept)
    assert page["has_more"] is True
    assert page["count"] == len(kept)
    assert page["next_cursor"] == (kept[0]["seq"] if kept else None)


@given(default=st.integers(2, 20_000), needed=st.integers(0, 2_000_000))
def test_a_caller_without_a_budget_gets_one_that_fits_up_to_a_hard_end(default: int, needed: int) -> None:
    limit = escalated(default, needed)
    assert limit <= 1_000_000
    assert limit >= needed or limit == 1_000_000


def test_show_reports_its_default_budget(call: Caller) -> None:
    call("notes_commit", content="short")
    assert call("show", doc_kind="notes")["budget"]["max_chars"] == 16_000


def test_a_long_answer_without_a_budget_is_whole(call: Caller) -> None:
    for number in range(6):
        call("notes_commit", content=f"{number} " + "x" * 9_000)
    answer = call.answer("show", doc_kind="notes")
    assert answer.envelope["warnings"] == []
    assert len(answer.envelope["result"]["entries"]) == 6
    assert answer.envelope["result"]["budget"]["max_chars"] == 64_000


def test_paging_through_tight_budgets_loses_nothing(call: Caller) -> None:
    for number in range(20):
        call("notes_commit", content=f"note {number:02d} " + "y" * 100)
    seen: list[str] = []
    cursor = None
    for _ in range(60):
        page = call("show", doc_kind="notes", max_chars=900, cursor=cursor)
        seen = [entry["content"][:7] for entry in page["entries"]] + seen
        if not page["pagination"]["has_more"]:
            break
        cursor = page["pagination"]["next_cursor"]
    assert seen == [f"note {number:02d}" for number in range(20)]


def test_the_smallest_budgets_are_clamped_and_say_so(call: Caller) -> None:
    call("notes_commit", content="something")
    for limit in (0, 1, 2, 10, 20, 30):
        answer = call.answer("show", doc_kind="notes", max_chars=limit)
        budget = answer.envelope["result"]["budget"]
        assert budget["used_chars"] <= budget["max_chars"]
        codes = {item["code"] for item in answer.envelope["warnings"]}
        assert "BUDGET_MINIMAL" in codes
        assert ("BUDGET_MIN_CLAMPED" in codes) is (limit < 2)


def test_the_same_state_and_call_give_the_same_bytes(call: Caller) -> None:
    for number in range(5):
        call("notes_commit", content=f"note {number}")
    for limit in (200, 500, 5000):
        first = call.answer("show", doc_kind="notes", max_chars=limit).text
        assert call.answer("show", doc_kind="notes", max_chars=limit).text == first
