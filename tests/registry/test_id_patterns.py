"""Every kind of id has one pattern, and the places that read ids agree on it."""

import pytest

from clew.ids import ANY_BLOCK, BLOCK, BLOCK_PREFIXES, MENTIONED, PATTERNS, dated, kind_by_form
from clew.memory.kinds import KINDS
from clew.store.events import event_id

EXAMPLES = {
    "workspace": "acme/repo",
    "agent": "codex-1",
    "anchor": "a:storage",
    "plan": "PLAN-001",
    "task": "TASK-1234",
    "step": "STEP-0123ABCD",
    "job": "JOB-007",
    "job_event": "JOB-007@12",
    "runner": "runner:one",
    "entry": "notes@12",
    "card": "CARD-1",
    "conflict": "CONFLICT-" + "0a" * 16,
    "event": event_id(12),
    "transcript": "transcript:rollout.jsonl@12",
    "session": "01234567-89ab-4def-8123-456789abcdef",
    "notebook": "NB-001",
    "receipt": "RCPT-001",
    "proposal": "P-20260213-001",
    "contradiction": "C-20260213-001",
    "block": "D-20260213-001",
}


@pytest.mark.parametrize("kind", PATTERNS)
def test_each_kind_takes_its_example(kind: str) -> None:
    assert PATTERNS[kind].fullmatch(EXAMPLES[kind])


NOT_BY_FORM = {"workspace": None, "agent": None, "step": None, "card": None}
"""A caller may choose such ids, or they look like any word; only the store tells what they are."""


@pytest.mark.parametrize("kind", PATTERNS)
def test_the_form_of_an_id_tells_its_kind(kind: str) -> None:
    blocks = {"proposal": "block", "contradiction": "block"}
    assert kind_by_form(EXAMPLES[kind]) == {**blocks, **NOT_BY_FORM}.get(kind, kind)


def test_the_most_particular_form_counts() -> None:
    assert kind_by_form("JOB-007@12") == "job_event"
    assert kind_by_form("transcript:a@b.jsonl@3") == "transcript"
    assert kind_by_form("A:Storage") == "anchor"
    assert kind_by_form("task-1234") is None


def test_the_prefixes_of_blocks_are_those_of_the_kinds_of_memory() -> None:
    assert set(BLOCK_PREFIXES) == set(KINDS)


def test_a_block_of_an_unknown_kind_is_a_block_in_a_file_and_not_for_open() -> None:
    assert ANY_BLOCK.fullmatch("TABLE-1") and not BLOCK.fullmatch("TABLE-1")


def test_ids_in_running_text() -> None:
    text = "TASK-001 (see PLAN-0123, STEP-ABCDEF01), CARD-7; JOB-002@4 and a:core, D-20260213-001; XTASK-001, TASK-1"
    assert MENTIONED.findall(text) == [
        *("TASK-001", "PLAN-0123", "STEP-ABCDEF01", "CARD-7", "JOB-002", "a:core", "D-20260213-001"),
    ]
    assert dated("D", "T").findall("D-20260213-001 T-20260213-1 SIG-20260213-001") == ["D-20260213-001"]
