"""`clew ops`: the way to any operation from the shell."""

import shlex

from clew.registry.catalogue import catalogue
from tests.faces.cli.conftest import Shell


def test_without_words_everything_is_listed_and_nothing_is_opened(clew: Shell) -> None:
    ran = clew("ops", "--json")
    assert ran.code == 0
    assert [row["name"] for row in ran.json["operations"]] == [entry.name for entry in catalogue().operations]
    assert not clew.home.exists()


def test_words_find_operations_best_first(clew: Shell) -> None:
    names = [row["name"] for row in clew("ops", "rename", "branch", "--json").json["operations"]]
    assert names[0] == "branch_rename"


def test_a_name_shows_the_schema_and_an_example_that_runs(clew: Shell) -> None:
    ran = clew("ops", "notes_commit", "--schema")
    assert ran.code == 0
    assert '"content"' in ran.out
    example = next(line for line in ran.out.splitlines() if "clew call" in line)
    assert clew(*shlex.split(example)[1:]).code == 0


def test_older_names_are_found(clew: Shell) -> None:
    ran = clew("ops", "branchmind_status", "--json")
    assert [row["name"] for row in ran.json["operations"]] == ["status"]
    assert ran.json["operations"][0]["arguments"]["type"] == "object"


def test_words_without_a_match_exit_2(clew: Shell) -> None:
    ran = clew("ops", "xylophone")
    assert ran.code == 2
    assert "clew ops" in ran.err
