"""Plans, tasks, steps and evidence are found by their words, and every ref that is found opens."""

from __future__ import annotations

from clew.index.item_reads import matching
from clew.index.terms import terms
from tests.conftest import Caller


def found(call: Caller, words: str) -> list[tuple[str, str]]:
    with call.clew.database.read() as tx:
        return [(row["ref"], row["source"]) for row in matching(tx, "ws", list(terms(words)), 10)]


def test_work_is_found_by_its_words_as_soon_as_it_is_written(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, description="quokka handling")
    call("tasks_define", task=task, path="s:0", success_criteria=["every wombat is counted"])
    call("tasks_evidence_capture", task=task, path="s:0", checks=["CMD: count --platypus"])
    assert found(call, "quokka") == [("TASK-001", "task")]
    assert found(call, "wombats") == [("STEP-00000001", "task")]
    assert ("EV-001", "evidence") in found(call, "platypus")
    call("tasks_define", task=task, path="s:0", success_criteria=["nothing"])
    assert found(call, "wombats") == []


def test_what_is_deleted_is_no_longer_found(call: Caller, task: str) -> None:
    call("tasks_evidence_capture", task=task, path="s:0", checks=["CMD: count --platypus"])
    call("tasks_delete", task=task)
    assert [ref for ref, source in found(call, "platypus parse read files") if source in {"task", "evidence"}] == []


def test_everything_found_can_be_opened(call: Caller, task: str) -> None:
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="docs", checks=["LINK: https://x.test/"])
    step = call("open", id="STEP-00000001")
    assert (step["kind"], step["path"], step["gate"]["missing"]) == ("step", "s:0", ["criteria", "tests", "docs"])
    assert step["evidence"] == ["EV-001"]
    evidence = call("open", id="EV-001")
    assert (evidence["kind"], evidence["checkpoints"], evidence["task"]) == ("evidence", ["docs"], task)
    assert call("open", id=task)["target"]["title"] == "Read files"
    assert call("open", id="PLAN-001")["target"]["kind"] == "plan"
