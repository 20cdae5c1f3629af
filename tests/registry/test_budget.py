"""Budgets: never exceeded, never less for more, the same bytes for the same state."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.registry.budget import Budget, Clip, Drop, Trim, size
from clew.registry.budget_fit import budget_warnings, escalated, fit
from clew.registry.short_form import short_forms
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
    entries = result.get("entries", [])
    return sum(len(entry.get("content", "")) for entry in entries) + len(entries) * 1000


@given(result=results(), limit=st.integers(0, 3000))
def test_a_budget_is_never_exceeded_and_counts_what_it_says(result: dict[str, Any], limit: int) -> None:
    before = copy.deepcopy(result)
    fitted = fit(result, ENTRIES, limit)
    assert fitted.used_chars == size(fitted.result) <= fitted.max_chars
    assert fitted.clamped is (limit < 2)
    assert result == before, "the result given in stays as it was"
    assert fit(result, ENTRIES, limit) == fitted


# Below 150 characters the first that fits is kept: where paging begins to fit, it takes the place of an entry's text.
@given(result=results(), limit=st.integers(150, 3000), more=st.integers(0, 500))
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


SEVERAL = Budget(
    (
        Clip("nodes[].text", 80),
        Trim("nodes", drop="last", floor=1, count="count", more="has_more"),
        Trim("inner.hits", drop="last"),
        Drop("extra"),
        Trim("log", drop="first"),
        Drop("log"),
        Trim("inner.words", drop="last"),
        Trim("nodes", drop="last", count="count", more="has_more"),
    ),
    keep=("branch", "count"),
)


def several() -> st.SearchStrategy[dict[str, Any]]:
    text = st.text(max_size=200)
    node = st.builds(
        lambda id, title, body: {"id": f"CARD-{id}", "title": title, "text": body, "tags": [title], "meta": {}},
        st.integers(1, 999),
        text,
        text,
    )
    line = st.builds(lambda seq, body: {"seq": seq, "content": body}, st.integers(1, 999), text)
    return st.builds(
        lambda nodes, hits, words, log, extra: {
            "branch": "main",
            "nodes": nodes,
            "inner": {"hits": hits, "words": words},
            "log": log,
            "count": len(nodes),
            "has_more": False,
            "extra": extra,
            "truncated": False,
        },
        st.lists(node, max_size=6),
        st.lists(node, max_size=4),
        st.lists(text.filter(bool), max_size=4),
        st.lists(line, max_size=6),
        text,
    )


@given(result=several(), limit=st.integers(0, 4000))
def test_a_list_that_had_items_is_never_shown_empty(result: dict[str, Any], limit: int) -> None:
    fitted = fit(result, SEVERAL, limit)
    assert fitted.used_chars == size(fitted.result) <= fitted.max_chars
    for path in ("nodes", "log", "inner.hits", "inner.words"):
        whole: Any = result
        shown: Any = fitted.result
        for part in path.split("."):
            whole, shown = whole[part], (shown or {}).get(part)
        assert shown != [] or whole == [], path
        assert not shown or len(shown) <= len(whole)


@given(result=several(), limit=st.integers(0, 4000))
def test_the_last_list_is_named_whenever_a_name_fits(result: dict[str, Any], limit: int) -> None:
    shown = fit(result, SEVERAL, limit).result
    if result["nodes"] and limit >= size({"nodes": [{"id": result["nodes"][0]["id"]}], "truncated": True}):
        assert shown["nodes"][0]["id"] == result["nodes"][0]["id"]
    # What counts the list counts what is shown of it.
    if "count" in shown:
        assert shown["count"] == len(shown.get("nodes", []))
    if "has_more" in shown:
        assert shown["has_more"] is (len(shown.get("nodes", [])) < len(result["nodes"]))


@given(result=several(), limit=st.integers(2, 4000), more=st.integers(0, 500))
def test_a_larger_budget_never_shows_fewer_items(result: dict[str, Any], limit: int, more: int) -> None:
    small, large = fit(result, SEVERAL, limit).result, fit(result, SEVERAL, limit + more).result
    assert len(large.get("nodes", [])) >= len(small.get("nodes", []))


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"id": "CARD-1", "type": "note", "status": "open", "title": "A", "text": "t" * 500}, {"id": "CARD-1"}),
        ({"seq": 7, "kind": "note", "doc": "notes", "content": "t" * 500}, {"seq": 7}),
        ({"from": "A", "rel": "supports", "to": "B", "meta": None}, {"from": "A", "rel": "supports", "to": "B"}),
        ({"agent": None, "events": 3, "last_seq": 9}, {"events": 3}),
        ({"code": "ORPHAN", "message": "m" * 500}, {"code": "ORPHAN"}),
    ],
)
def test_short_forms_keep_the_name_and_shrink(item: dict[str, Any], name: dict[str, Any]) -> None:
    forms = list(short_forms(item))
    assert forms[-1] == name
    assert forms[0].keys() == item.keys(), "the first form keeps every field, for whoever reads items"
    assert all(name.items() <= form.items() for form in forms)


def test_what_is_left_of_a_minimal_answer_is_named() -> None:
    nodes = [{"id": f"CARD-{n}", "text": "t" * 300} for n in range(5)]
    result = {"branch": "main", "nodes": nodes, "note": "x" * 100}
    small, signal = fit(result, SEVERAL, 75), fit(result, SEVERAL, 24)
    assert budget_warnings(small)[0]["message"] == "The answer did not fit; left of it: nodes (1 of 5), branch"
    assert budget_warnings(signal)[0]["message"] == "The answer did not fit; only a signal is left"


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
