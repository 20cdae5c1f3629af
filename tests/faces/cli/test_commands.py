"""Every command teaches, is documented, and keeps to the promised exit codes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clew import __version__
from clew.errors import ERROR_CODES
from clew.faces.cli.main import Exit, exit_for
from clew.faces.cli.root import app, command_modules, load_command
from tests.faces.cli.conftest import Shell

DOCS = Path(__file__).parents[3] / "docs"


def leaves(words: list[str], command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that does something, as it is typed; a group stands for those inside it."""
    inner = getattr(command, "commands", None)
    if not inner:
        yield " ".join(words), command
    for name, child in (inner or {}).items():
        yield from leaves([*words, name], child)


COMMANDS = dict(leaf for name in command_modules() for leaf in leaves([name], load_command(name)))


def options_of(command: Any) -> list[str]:
    found = [option for param in command.params for option in param.opts if option.startswith("--")]
    return [option for option in found if option != "--help"]


@pytest.mark.parametrize("line", COMMANDS)
def test_help_shows_an_example(line: str) -> None:
    shown = CliRunner().invoke(app, [*line.split(), "--help"])
    assert shown.exit_code == 0
    assert re.search(rf"Examples?:.*clew (--\S+ \S+ )?{line}", shown.output, re.DOTALL), shown.output


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_and_option_is_documented(line: str) -> None:
    """A section `### clew NAME` for each command; the commands of a group share its section."""
    page = (DOCS / "cli.md").read_text()
    section = re.search(rf"^### clew {line.split()[0]}\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE)
    assert section, f"docs/cli.md has no section '### clew {line.split()[0]}'"
    assert " " not in line or f"clew {line}" in section[1], f"docs/cli.md does not mention 'clew {line}'"
    assert not [option for option in options_of(COMMANDS[line]) if option not in section[1]]


# `login` prints a secret for a person's eyes: what can be read by a program could be kept by one. Of
# `merge-memory` git reads the exit code.
@pytest.mark.parametrize("line", [line for line in COMMANDS if line not in ("login", "merge-memory")])
def test_every_command_can_answer_in_json(line: str) -> None:
    assert "--json" in options_of(COMMANDS[line])


@pytest.mark.parametrize("line", [["--version"], ["-V"], ["version"]])
def test_every_way_to_ask_for_the_version_answers(line: list[str], clew: Shell) -> None:
    ran = clew(*line)
    assert ran.code == 0 and ran.out.startswith(f"clew {__version__} (Python ")


def test_help_is_a_word_too_and_stands_under_headings(clew: Shell) -> None:
    assert clew("help", "recall").out == clew("recall", "--help").out != ""
    shown = clew("help").out
    names = ("Every day", "Setting up", "Looking", "Data", "All operations, and this program")
    headings = [shown.index(f" {name} ──") for name in names]
    assert headings == sorted(headings) and "<bool>" not in shown


def test_shared_options_may_stand_after_the_command(clew: Shell, tmp_path: Path) -> None:
    kept = clew("remember", "-k", "decision", "Masts are oiled", "--workspace", "quay/a", "--home", str(tmp_path / "h"))
    assert kept.code == 0, kept.err
    found = clew("recall", "masts", "--workspace=quay/a", f"--home={tmp_path / 'h'}", "--json")
    assert "Masts are oiled" in found.out
    elsewhere = clew("recall", "masts", "--workspace=quay/b", f"--home={tmp_path / 'h'}", "--json")
    assert "Masts are oiled" not in elsewhere.out
    missing = clew("recall", "masts", "--workspace")
    assert missing.code == Exit.USAGE and "requires an argument" in missing.err
    clew("start", "Rig the mast", "-s", "stays")
    own = clew("prove", "--", "echo", "--workspace", "other")
    assert "--workspace other" in own.out, "the words of another program are left alone"


def test_a_record_is_opened_by_its_id(clew: Shell) -> None:
    id = clew("remember", "-k", "decision", "Sails are mended on Mondays").out.split()[0]
    shown = clew("open", id)
    assert shown.code == 0 and "Sails are mended on Mondays" in shown.out
    assert clew("open", "D-999").code == Exit.REFUSED


def test_exit_codes_are_documented() -> None:
    page = (DOCS / "cli.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == {int(code) for code in Exit}


def test_every_error_code_has_an_exit_code() -> None:
    assert exit_for(None) is Exit.OK
    for code in ERROR_CODES:
        assert exit_for(code) in (Exit.REFUSED, Exit.USAGE, Exit.STORE)
    assert {code for code in ERROR_CODES if exit_for(code) is Exit.STORE} == {
        code for code in ERROR_CODES if code.startswith("STORE_")
    }


@pytest.mark.parametrize("words", [["nonsense"], ["call"], ["call", "status", "--nonsense"], ["connect", "emacs"]])
def test_a_line_that_is_not_understood_exits_2(clew: Shell, words: list[str]) -> None:
    ran = clew(*words)
    assert ran.code == 2
    assert ran.err
    assert "Traceback" not in ran.err


def test_with_json_a_line_that_is_not_understood_is_answered_in_json(clew: Shell) -> None:
    for words in (["call", "--json"], ["docter", "--json"], ["ops", "--json", "--nonsense"], ["ops", "zzzz", "--json"]):
        ran = clew(*words)
        assert ran.code == 2
        assert ran.json["error"]["code"] == "INVALID_INPUT"
        assert ran.err == ""


def test_a_misspelt_command_names_the_nearest(clew: Shell) -> None:
    ran = clew("docter")
    assert ran.code == 2
    assert "doctor" in ran.err


def test_version_in_both_forms(clew: Shell) -> None:
    assert clew("version").out.startswith("clew ")
    assert set(clew("version", "--json").json) == {"clew", "python"}


def test_status_in_both_forms(clew: Shell) -> None:
    clew("call", "notes_commit", "content=x")
    plain, full = clew("status"), clew("status", "--json")
    assert (plain.code, full.code) == (0, 0)
    assert re.search(r"^checkout +main$", plain.out, re.MULTILINE)
    assert full.json["result"]["workspace"]


def complete(clew: Shell, line: str) -> list[str]:
    words = line.split(" ")
    env = {"_CLEW_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return clew(env=env).out.split()


def test_completion_knows_commands_operations_and_arguments(clew: Shell) -> None:
    assert "doctor" in complete(clew, "clew do")
    assert "branch_create" in complete(clew, "clew call branch_cr")
    assert "content=" in complete(clew, "clew call notes_commit cont")
    assert complete(clew, "clew connect cu") == ["cursor"]


def test_a_new_command_needs_only_a_file() -> None:
    folder = Path(__file__).parents[3] / "src" / "clew" / "faces" / "cli" / "commands"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert set(command_modules().values()) == files
