"""Which runs that ended with 0 show nothing, and which are not to be doubted."""

from __future__ import annotations

import pytest

from clew.tasks.commands import doubt

HIDING = [
    "pytest || true",
    "pytest; true",
    "pytest -q; ls",
    "pytest -q | cat",
    "pytest -q 2>&1 | tail -5",
    "bash -c 'make; exit 0'",
    "pytest -q & wait",
    "pytest -q\necho done",
    "set -e; pytest -q | tail -1",
    "if pytest; then echo ok; fi",
]
IDLE = [
    "true",
    ":",
    "echo ok",
    "echo pytest -q",
    "sh -c 'true'",
    "ls src",
    "cat README.md",
    "git status",
    "git diff",
    "cd / && pwd",
    "pytest --collect-only",
    "python -m pytest -q --co",
    "pytest --version",
    "mypy --help",
    "make -n test",
    "make -i test",
    "ruff check --exit-zero .",
    "cargo test -- --list",
    "npm test --if-present",
]
HONEST = [
    "pytest -q",
    "pytest -q 2>&1",
    "make test > log 2>&1",
    "make test",
    "echo a && pytest",
    "bash -c 'pytest -q'",
    "cd web; npm test",
    "source .venv/bin/activate; pytest -n 4",
    "set -o pipefail; pytest -q | tail -1",
    "set -euo pipefail; make lint; make test | tee log",
    "pytest -q || exit 1",
    "pytest -k 'a; b | c'",
    "test -f a.py",
    "git diff --exit-code",
    "python -c 'import a; a.check()'",
    "notebook_run_cell notebookId=NB-1 cellId=CELL-0001 # run 7, exit 0; output sha256:00",
]


@pytest.mark.parametrize("command", HIDING)
def test_a_line_whose_exit_code_is_only_its_last_commands(command: str) -> None:
    assert "exit code" in str(doubt(command, "1 passed"))


@pytest.mark.parametrize("command", IDLE)
def test_a_command_that_would_have_passed_anyway(command: str) -> None:
    assert "whatever the state" in str(doubt(command, ""))


@pytest.mark.parametrize("command", HONEST)
def test_a_command_that_could_have_failed(command: str) -> None:
    assert doubt(command, "12 passed") is None


@pytest.mark.parametrize(
    "output",
    [
        "no tests ran in 0.01s",
        "3 tests collected in 0.01s",
        "=== 3 skipped, 1 warning in 0.02s ===",
        "4 deselected in 0.1s",
        "Ran 0 tests in 0.000s\n\nOK",
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed",
        "?   \texample.com/x\t[no test files]",
        "ok  \texample.com/x\t0.01s [no tests to run]",
        "No test files found, exiting with code 0",
        "0 passing (2ms)",
        "# tests 0",
        "make: Nothing to be done for 'test'.",
        "make[1]: Entering directory '/x'\nmake: 'test' is up to date.",
    ],
)
def test_an_output_that_says_that_nothing_was_run(output: str) -> None:
    assert doubt("runner", output) == "its output says that nothing was run"


@pytest.mark.parametrize(
    "output",
    [
        "",
        "All checks passed!",
        "12 passed, 3 skipped in 2.1s",
        "running 0 tests\nok\nrunning 12 tests\ntest result: ok. 12 passed",
        "ok  \texample.com/a\t0.2s\n?   \texample.com/b\t[no test files]",
        "make: Nothing to be done for 'deps'.\npython check.py\nfine",
        "Tests: 4 passed, 0 skipped",
        "0 errors, 0 warnings",
    ],
)
def test_an_output_that_is_believed(output: str) -> None:
    assert doubt("runner", output) is None
