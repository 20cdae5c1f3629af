"""A plain line of an everyday command means the same without the command-line library as with it."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from clew.faces.cli.asking import ShellAsker
from clew.faces.cli.plain import EVERYDAY, run_plainly
from clew.faces.cli.root import run_command

PLAIN = [
    "start Parse .env files -s 'parser; test: pytest -q' -s docs --strict --plan PLAN-1",
    "think -k hypothesis 'The cache is stale' --revises 3",
    "remember The file named last wins --kind=decision --why 'Shells do it so' --about src/a.py --about docs --json",
    "recall why SQLite",
    "recall --about src/importer.py -n 3 --source cards --history --active --explain --as-of 2026-05-01 -k rule",
    "retract CARD-1 --why 'The measurement was wrong' --also CARD-2",
    "undo",
    "undo list",
    "undo evt_0000000000000042",
    "close s:1 --unproven 'prose only, read by hand'",
    "close",
    "resume",
    "resume TASK-001 --max-chars 12000 --all",
    "open D-12",
    "open D-12 --json",
]
LEFT_TO_TYPER = [
    "resume -h",
    "resume TASK-001 TASK-002",
    "resume --max-chars many",
    "resume --max-chars -1",
    "resume --all=yes",
    "remember",
    "remember --kind",
    "recall --nothing",
    "recall -- -v",
    "open \udcff",
    "retract CARD-1",
    "status",
    "--home /tmp resume",
    "",
]


class Asked(Exception):
    def __init__(self, name: str, arguments: dict[str, Any], options: dict[str, Any]) -> None:
        super().__init__(name)
        self.call = (name, arguments, options)


@pytest.fixture(autouse=True)
def _nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(asker: ShellAsker, name: str, arguments: dict[str, Any], **options: Any) -> None:
        raise Asked(name, arguments, options)

    monkeypatch.setattr(ShellAsker, "call", ask)


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_asks_what_it_asks_through_typer(line: str) -> None:
    with pytest.raises(Asked) as plain:
        run_plainly(shlex.split(line))
    with pytest.raises(Asked) as full:
        run_command(shlex.split(line))
    assert plain.value.call == full.value.call


@pytest.mark.parametrize("line", LEFT_TO_TYPER)
def test_a_line_that_is_not_plain_is_left_to_typer(line: str) -> None:
    assert run_plainly(shlex.split(line)) is None


def test_every_everyday_command_has_a_plain_line() -> None:
    assert {line.split()[0] for line in PLAIN} == EVERYDAY
