"""What counts as a ref or as proof when it only stands in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.tasks.commands import is_command
from clew.tasks.jobs.thread import is_proof, salvage, with_salvage


@pytest.mark.parametrize(
    "line",
    [
        "cargo test",
        "pytest -q",
        "pytest tests/test_x.py",
        "git diff HEAD~1",
        "make test",
        "python -m pytest",
        "go vet ./...",
    ],
)
def test_commands_are_believed(line: str) -> None:
    assert is_command(line)
    assert list(salvage(f"I ran this:\n- `{line}`")) == [f"CMD: {line}"]
    assert list(salvage(f"$ {line}")) == [f"CMD: {line}"]


@pytest.mark.parametrize(
    "line",
    [
        "just keep going",
        "make sure it works",
        "pytest",
        "go on",
        "git is broken",
        "python is slow.",
        "node",
        "rm -rf /",
    ],
)
def test_sentences_are_not_commands(line: str) -> None:
    assert not is_command(line)
    assert list(salvage(line)) == []


def test_receipts_addresses_and_ids_are_found_once() -> None:
    text = "CMD: ./run.sh\nsee https://ci.example/run/7. and task-001, CARD-Ab3, notes@12, a:core\nagain notes@12"
    assert list(salvage(text)) == [
        "CMD: ./run.sh",
        "LINK: https://ci.example/run/7",
        "TASK-001",
        "CARD-Ab3",
        "notes@12",
        "a:core",
    ]


def test_placeholders_are_never_salvaged() -> None:
    assert list(salvage("CMD: <fill: what you ran>\nLINK:")) == []


def test_given_refs_win_unless_they_name_only_the_job() -> None:
    assert with_salvage("see CARD-2", ["CARD-1"], "JOB-001") == ["CARD-1", "JOB-001"]
    assert with_salvage("see CARD-2", ["JOB-001"], "JOB-001") == ["CARD-2", "JOB-001"]
    assert with_salvage("JOB-001 is fine", [], "JOB-001") == ["JOB-001"]


@pytest.mark.parametrize(("ref", "proves"), [("CARD-1", True), ("CMD: x", True), ("JOB-001", False), ("a:core", False)])
def test_jobs_and_areas_prove_nothing(ref: str, proves: bool) -> None:
    assert is_proof(ref) is proves


@given(st.text(max_size=2000))
def test_any_text_gives_a_bounded_list_of_short_refs(text: str) -> None:
    refs = with_salvage(text, [], "JOB-001")
    assert 1 <= len(refs) <= 32
    assert all(0 < len(ref) <= 128 for ref in refs)
    assert refs.count("JOB-001") == 1
