"""An operation that declares no budget still gives no answer that nobody can read."""

from __future__ import annotations

from typing import Any

from clew.registry.budget import size
from clew.registry.budget_fit import UNDECLARED, cut
from clew.registry.catalogue import import_everything
from clew.registry.operation import declared
from tests.conftest import Caller


def test_the_longest_list_goes_first_and_from_its_end() -> None:
    result = {"total": 5000, "short": ["a"] * 30, "rows": [{"id": n, "text": "x" * 60} for n in range(5000)]}
    shown, told = cut(result)
    assert size(shown) <= UNDECLARED + 20
    assert shown["total"] == 5000 and shown["short"] == ["a"] * 30
    assert [row["id"] for row in shown["rows"]] == list(range(len(shown["rows"])))
    assert len(shown["rows"]) > 1000
    assert shown["truncated"] is True
    assert told["code"] == "BUDGET_TRUNCATED" and "of rows" in told["message"]


def test_a_few_huge_texts_are_clipped_and_each_item_stays() -> None:
    shown, _ = cut({"conflicts": [{"id": n, "theirs": {"text": "x" * 800_000}} for n in range(15)]})
    assert [item["id"] for item in shown["conflicts"]] == list(range(15))
    assert all(len(item["theirs"]["text"]) == 2000 for item in shown["conflicts"])


def test_what_cannot_be_cut_keeps_its_small_fields() -> None:
    shown, _ = cut({"name": "x", "tags": {f"tag{n}": "y" * 100 for n in range(5000)}})
    assert shown == {"name": "x", "truncated": True}


def test_more_room_never_shows_less() -> None:
    result: dict[str, Any] = {"rows": [{"id": n, "text": "x" * (n % 300)} for n in range(3000)], "note": "y" * 5000}
    shown = [len(cut(result, limit)[0]["rows"]) for limit in range(20_000, 400_000, 40_000)]
    assert shown == sorted(shown)


def test_an_answer_is_cut_and_says_so(call: Caller) -> None:
    text = "".join(f"line {number}\n" for number in range(40_000))
    call("knowledge_write_scratchpad", id="log", title="Log", content=text)
    answer = call.answer("knowledge_read_scratchpad", id="log")
    assert len(answer.text) < UNDECLARED + 2000
    assert answer.envelope["result"]["truncated"] is True
    assert [item["code"] for item in answer.envelope["warnings"]] == ["BUDGET_TRUNCATED"]


READS: dict[str, dict[str, Any]] = {
    "category_summary": {"topic": "x"},
    "find_similar": {"block_id": "D-20270101-001"},
    "get_mind_kernel": {},
    "knowledge_read_scratchpad": {"id": "log"},
    "mental_models_get_model": {"model": "five-whys"},
    "op_read": {"name": "knowledge_read_scratchpad", "arguments": {"id": "log"}},
    "record_names": {"ids": ["D-20270101-001"]},
}
"""Arguments of reads that need some beyond their example."""


def test_no_read_that_declares_no_budget_answers_without_end(call: Caller) -> None:
    import_everything()
    text = "".join(f"{number} the quick brown fox\n" for number in range(9_000))
    call("knowledge_write_scratchpad", id="log", title="Log", content=text)
    for number in range(20):
        call("start_new", session_title=f"S{number}", description="d" * 4000)
    unbudgeted = [
        found
        for found in declared().values()
        if not (found.writes or found.budget or found.view.whole) and found.module.startswith("clew.")
    ]
    assert len(unbudgeted) > 30
    sizes = {}
    for found in unbudgeted:
        arguments = READS.get(found.name, found.example)
        sizes[found.name] = len(call.answer(found.name, **arguments, fmt="json").text)
    assert max(sizes.values()) < UNDECLARED + 5_000, sizes
    assert sizes["knowledge_read_scratchpad"] > UNDECLARED / 2, "and what fits is shown"
