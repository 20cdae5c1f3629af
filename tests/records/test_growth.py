"""A project that has grown: resume still tells what binds, what is next and what was decided, within its limit."""

from __future__ import annotations

import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.records.test_work import at_page, connected

TOPICS = (
    "timestamps",
    "levels",
    "masks",
    "merging",
    "encodings",
    "sorting",
    "colours",
    "columns",
    "offsets",
    "aliases",
    "warnings",
    "buffers",
    "archives",
    "pagers",
    "locales",
    "signals",
)
RULES = ("Never add a dependency", "Exit with code 2 on bad input", "Errors are one line, never a traceback")


@pytest.fixture
def grown(clew: Clew) -> Clew:
    """Two sessions of two agents: 16 decisions, 3 rules, 10 steps, 8 of them done, 2 replacements that wait."""
    project = clew.settings.project_root
    (project / "tidylog.py").write_text("first\n")
    coder = connected(clew, "coder", "one")
    coder(
        "start",
        title="tidylog",
        steps=[f"step {number}; test: python -m pytest -q -k {number}" for number in range(10)],
    )
    for rule in RULES:
        coder("remember", text=rule, kind="rule", why="The person said so.")
    for number, topic in enumerate(TOPICS[:14]):
        # The first two are a person's, so that replacing them waits for a person.
        author = at_page(clew) if number < 2 else coder
        author(
            "remember", text=f"What tidylog does about {topic} is decided by tidylog.py alone", kind="decision", why="w"
        )
    coder("remember", text="Should repeated messages be collapsed?", kind="question")
    coder("think", text="The zone of the machine changes the merge", kind="hypothesis")
    _close(coder, range(4), "only one plain address tested")
    reviewer = connected(clew, "reviewer", "two")
    for number, old in ((14, "D-1"), (15, "D-2")):
        text = f"What tidylog does about {TOPICS[number]} holds instead"
        assert reviewer("remember", text=text, kind="decision", why="v", replaces=old)["state"] == "proposed"
    _close(reviewer, range(4, 8), None)
    (project / "tidylog.py").write_text("second\n")
    return clew


def _close(agent: Caller, steps: range, note: str | None) -> None:
    for number in steps:
        proof = {"command": f"python -m pytest -q -k {number}", "exit_code": 0, "files": ["tidylog.py"]}
        last = {"note": note} if note and number == steps[-1] else {}
        agent("close", task="TASK-001", step=f"s:{number}", proof=proof, **last)


def test_a_grown_project_is_told_within_the_default_limit(grown: Clew) -> None:
    text = connected(grown, "coder", "three").answer("resume").text
    assert len(text) <= 4000 and all(rule in text for rule in RULES)
    assert "8 of 10 done: 8 claimed (s:0-s:7), 8 stale (files changed since: s:0-s:7)" in text
    assert "now s:8 step 8: test: python -m pytest -q -k 8" in text and "then s:9 step 9" in text
    assert sum(line.startswith("  D-") for line in text.splitlines()) >= 8
    assert "-> D-15 proposed: What tidylog does" in text and "-> D-16 proposed: What tidylog does" in text
    assert "Should repeated messages be collapsed?" in text
    assert "reviewer-1 " in text and "closed TASK-001 s:4-s:7 (claimed)" in text and "proved" not in text
    assert text.count("python -m pytest") == 3, "the step in hand, the last proof, the call that goes on"


def test_with_room_reasons_notes_and_open_thoughts_are_told(grown: Clew) -> None:
    agent = connected(grown, "coder", "three")
    text = agent.answer("resume", max_chars=8000).text
    assert "Why: The person said so." in text and "s:3 only one plain address tested" in text
    assert "open thoughts (1)" in text and "The zone of the machine changes the merge" in text
    assert "proposed to replace D-2, D-1" in text and "more:" not in text
    opened = agent.lines("open", id="TASK-001")
    assert "s:3 step 3: done, claimed, stale" in opened and "note on s:3: only one plain address tested" in opened
    assert any(line.startswith("open thought ") and "zone of the machine" in line for line in opened)
    assert any(line.startswith("history: s:7 closed by reviewer-1 ") for line in opened)


def test_no_size_loses_a_rule_before_anything_else(grown: Clew) -> None:
    agent = connected(grown, "coder", "three")
    for size in range(300, 4000, 185):
        told = agent("resume", max_chars=size)
        others = [name for name, value in told.items() if isinstance(value, list) and value and name != "rules"]
        assert len(told["text"]) <= size
        assert len(told["rules"]) == len(RULES) or not others, f"{size}: {others} and {len(told['rules'])} rules"


def test_a_task_that_was_named_is_the_one_that_close_means(grown: Clew) -> None:
    agent = connected(grown, "coder", "three")
    assert agent.error("close", unproven="by hand")["code"] == "INVALID_INPUT"
    assert agent.answer("resume", task="TASK-001").text.endswith("then close step=s:8")
    assert agent("close", unproven="by hand")["task"] == "TASK-001"
    agent("close", unproven="by hand")
    told = agent.answer("resume", task="TASK-001").text
    assert "DONE" in told and told.splitlines()[-1] == "next: start, with the title of what is to be done"
    assert connected(grown, "coder", "four").error("close", unproven="by hand")["code"] == "INVALID_INPUT"
