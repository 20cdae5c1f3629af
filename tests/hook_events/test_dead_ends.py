"""Failures are known again, and what ended them is told only when it is certain."""

from __future__ import annotations

import random
from typing import Any

import pytest
from benchmarks.transcripts import Bug, output_of, score

from clew.app import Clew
from clew.hook_events.failures import normal, read_failure
from tests.conftest import Caller
from tests.hook_events.hooked import Hooked


@pytest.fixture
def known(clew: Clew) -> Clew:
    Caller(clew)("notes_commit", content="The project uses Clew.")
    return clew


def found_pairs(clew: Clew) -> list[dict[str, Any]]:
    with clew.database.read() as tx:
        return tx.all("SELECT * FROM dead_end ORDER BY number")


PYTEST = """
  File "/home/ada/shop/app/parser.py", line {line}, in load
E       KeyError: 'timeout'

FAILED tests/test_parser.py::test_load - KeyError: 'timeout'
1 failed, {line} passed in 0.3s
"""


def test_a_failure_is_known_again_by_what_does_not_change() -> None:
    first, second = (read_failure(PYTEST.format(line=line)) for line in (12, 380))
    assert first is not None and second is not None
    assert (
        (first.key, first.place)
        == (second.key, second.place)
        == ("KeyError: 'timeout'", "tests/test_parser.py::test_load")
    )
    assert "parser.py" in first.names
    assert normal("open /tmp/a1/x.db at 0x7f3a took 3.5 s") == normal("open /var/b2/x.db at 0x11 took 12 s")
    assert read_failure("") is None


def test_what_ended_a_failure_is_told_once_in_a_later_session(known: Clew) -> None:
    hook = Hooked(known, "first-session")
    assert hook.runs("pytest -q", 1, PYTEST.format(line=1)) == ""
    hook.edits("README.md", "some words")
    hook.edits("app/parser.py", "timeout = 3")
    hook.runs("pytest -q", 0, "12 passed")
    hook.runs("git commit -am 'fix: default timeout in the parser'")
    later = Hooked(known, "later-session")
    said = later.runs("pytest -q", 1, PYTEST.format(line=99))
    assert "met once before" in said and "editing app/parser.py" in said and "README" not in said
    assert "fix: default timeout in the parser" in said and "first-se" in said
    assert later.runs("pytest -q", 1, PYTEST.format(line=98)) == "", "told once"


def test_a_test_that_fails_at_random_is_called_so_and_no_edit_is_credited(known: Clew) -> None:
    hook = Hooked(known)
    hook.runs("pytest -q", 1, PYTEST.format(line=1))
    hook.runs("pytest -q", 0, "12 passed")
    assert "without a change" in Hooked(known, "s-2").runs("pytest -q", 1, PYTEST.format(line=2))


def test_the_edit_that_did_not_help_is_not_the_remedy(known: Clew) -> None:
    hook = Hooked(known)
    hook.runs("pytest -q", 1, PYTEST.format(line=1))
    hook.edits("app/parser.py", "first attempt")
    hook.runs("pytest -q", 1, PYTEST.format(line=2))
    hook.runs("git checkout app/parser.py")
    hook.runs("pytest -q", 0, "12 passed")
    assert [row["remedy"] for row in found_pairs(known)] == ["revert"]


def test_a_message_without_words_needs_its_place(known: Clew) -> None:
    bug = Bug("A", "pytest -q", "AssertionError: assert 3 == 4", "tests/test_a.py::test_x", ("app/a.py",), frozenset())
    elsewhere = Bug("B", "pytest -q", bug.error, "tests/test_b.py::test_y", ("app/b.py",), frozenset())
    chance = random.Random(1)
    hook = Hooked(known)
    hook.runs("pytest -q", 1, output_of(bug, chance))
    hook.edits("app/a.py", "x")
    hook.runs("pytest -q", 0, "ok")
    assert Hooked(known, "s-2").runs("pytest -q", 1, output_of(elsewhere, chance)) == ""
    assert "app/a.py" in Hooked(known, "s-3").runs("pytest -q", 1, output_of(bug, chance))


def test_pairs_and_what_is_told_are_right_on_generated_sessions(known: Clew) -> None:
    """A small version of `python -m benchmarks hooks`, which prints the same figures over many more sessions."""
    hooks: dict[str, Hooked] = {}

    def of(session: str) -> Hooked:
        return hooks.setdefault(session, Hooked(known, session))

    found = score(
        80,
        7,
        lambda session, command, code, output: of(session).runs(command, code, output),
        lambda session, path, text: of(session).edits(path, text),
        lambda: found_pairs(known),
    )
    assert found.pairs >= 30 and found.precision >= 0.9, found
    assert found.told >= 8 and found.told_precision >= 0.9, found
