"""Which lines are commands, and what their output says."""

from __future__ import annotations

import pytest

from clew.tasks.commands import claims_failure, named_commands, same_command, says_failed


@pytest.mark.parametrize(
    "text",
    [
        "12 FAILED, 0 passed",
        "3 failed, 2 passed in 0.1s",
        "FAILED (failures=2)",
        "FAILED tests/a.py::test_b",
        "FAIL\tgithub.com/x/y",
        "not ok 3 - parses",
        "Tests: 2 failed, 3 total",
        "BUILD FAILED in 3s",
    ],
)
def test_output_that_says_it_failed(text: str) -> None:
    assert says_failed(text) and claims_failure(text)


@pytest.mark.parametrize(
    "text", ["make test, exit 2", "exit code: 1", "Traceback (most recent call last):", "4 errors", "exit status 127"]
)
def test_pasted_text_that_speaks_of_failure(text: str) -> None:
    assert claims_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        "0 failed, 12 passed",
        "5 passed, 1 xfailed",
        "ok 3 - failed logins are counted",
        "test_failed_login PASSED",
        "failures=0",
        "FAILED: 0",
        "make test, exit 0",
        "no errors",
        "pytest --maxfail=1",
        "All checks passed!",
    ],
)
def test_success_is_not_taken_for_failure(text: str) -> None:
    assert not says_failed(text) and not claims_failure(text)


def test_commands_are_told_from_sentences() -> None:
    lines = [
        "make test",
        "The tests of each slice pass",
        "`./run.sh`",
        "- pytest",
        "CMD: tool check",
        "Check: it works",
        "./check.sh --all",
        "uv run pytest -q",
        "tests/test_parser.py covers quotes",
    ]
    named = ["make test", "./run.sh", "pytest", "tool check", "./check.sh --all", "uv run pytest -q"]
    assert named_commands(lines) == named


def test_one_command_in_two_forms() -> None:
    assert same_command("- CMD:  pytest   -q", "`pytest -q`")
    assert not same_command("pytest -q", "pytest")
    assert same_command("/opt/venv/bin/python3.11 -m pytest -q", "python -m pytest -q")
    assert same_command(".venv/bin/pytest -q", "pytest -q")
    assert not same_command("fake/pytest -q", "pytest -q")
    assert not same_command("python -m pytest -q", "python -m pytest -q tests")
    assert not same_command("bin/check all", "bin/check")
