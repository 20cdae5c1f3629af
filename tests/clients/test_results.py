"""docs/clients.md is written from results that survive a run that was cut off, and runs of single clients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.clients import table
from tests.clients.drivers import ROWS, TOOLS
from tests.clients.programs import PROGRAMS
from tests.clients.results import note, results

CODEX, GEMINI = PROGRAMS["codex"], PROGRAMS["gemini"]


def test_the_page_is_what_the_results_say() -> None:
    assert table.PAGE.read_text() == table.page(results()), "run: python -m tests.clients.table"


def test_a_run_of_one_client_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    note(CODEX, TOOLS, "yes", file)
    note(GEMINI, TOOLS, "FAILED", file)
    note(GEMINI, TOOLS, "yes", file)
    assert {name: rows[TOOLS].cell for name, rows in results(file).items()} == {"codex": "yes", "gemini": "yes"}


def test_results_of_another_version_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    note(replace(CODEX, version="0.1.0"), ROWS[0], "yes", file)
    assert results(file) == {}
    note(CODEX, TOOLS, "yes", file)
    assert list(results(file)["codex"]) == [TOOLS]
