"""Kernels: strings on the wire, typed inside, every key read or rejected by name."""

from __future__ import annotations

import orjson

from clew.memory import kernels
from clew.memory.kernel_defaults import DEFAULTS
from tests.memory.conftest import Memory

RECALL = "mind/recall.mind"


def test_the_shipped_kernels_are_listed_and_read_as_strings(memory: Memory) -> None:
    listed = orjson.loads(memory.answer("list_mind_kernels").text)
    assert "recall" in [item["name"] for item in listed]
    shown = memory("get_mind_kernel", name="recall")
    assert shown["path"] == str(memory.root / RECALL)
    assert all(isinstance(value, str) for keys in shown["config"].values() for value in keys.values())
    assert list(shown["config"]) == next(item["sections"] for item in listed if item["name"] == "recall")


def test_a_kernel_says_whether_it_has_a_file(memory: Memory) -> None:
    assert memory("get_mind_kernel", name="recall")["exists"] is False
    memory.propose("Use Redis")
    assert not (memory.root / RECALL).exists(), "beside it Mind-Mem would read none of its own"
    memory.edit(RECALL, "[bm25]\nk1 = 1.75\n")
    assert "exists" not in memory("get_mind_kernel", name="recall")


def test_an_edited_kernel_counts_at_the_next_call(memory: Memory) -> None:
    memory.propose("Use Redis")
    memory.edit(RECALL, "[bm25]\nk1 = 1.75  # stronger\n")
    assert memory("get_mind_kernel", name="recall")["config"] == {"bm25": {"k1": "1.75"}}
    with memory.context().reading() as ctx:
        assert kernels.kernel(ctx, "recall")["bm25"]["k1"] == 1.75
        assert kernels.kernel(ctx, "recall")["bm25"]["b"] == DEFAULTS["recall"]["bm25"]["b"].default


def test_what_nothing_reads_is_rejected_by_name_and_keeps_its_default(memory: Memory) -> None:
    memory.propose("Use Redis")
    memory.edit(RECALL, "[bm25]\nk1 = fast\nk9 = 1\n[stemmer]\nalgorithm = porter2\nnonsense\n")
    problems = memory("get_mind_kernel", name="recall")["problems"]
    assert [problem.split(":")[0] for problem in problems] == [f"{RECALL} line {line}" for line in (2, 3, 4, 5, 6)]
    assert "bm25.k9" in problems[1]
    with memory.context().reading() as ctx:
        assert kernels.kernel(ctx, "recall")["bm25"]["k1"] == DEFAULTS["recall"]["bm25"]["k1"].default
        assert [item["code"] for item in ctx.remarks.warnings] == ["KERNEL_REJECTED"] * 5
    assert {item["check"] for item in memory("scan")["findings"]} == {"kernel"}


def test_sections_that_only_older_files_have_are_no_problem(memory: Memory) -> None:
    memory.propose("Use Redis")
    memory.edit(RECALL, "[floor_words_pages]\nheld = 5.0\n[floor]\nsure = 0.7\n")
    shown = memory("get_mind_kernel", name="recall")
    assert shown["unused"] == ["floor_words_pages.held", "floor.sure"]
    assert "problems" not in shown


def test_unknown_kernels_are_errors_in_the_seeds_words(memory: Memory) -> None:
    answer = memory.answer("get_mind_kernel", name="nonexistent")
    assert orjson.loads(answer.text)["error"] == "Kernel 'nonexistent' not found"
    assert memory.error("get_mind_kernel", name="../etc/passwd")["code"] == "INVALID_INPUT"
