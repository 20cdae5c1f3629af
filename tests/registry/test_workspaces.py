"""Whose workspace it is, and when one is made: two projects never share a memory by their directory's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.errors import ClewError
from clew.registry import permission
from clew.registry.catalogue import import_everything
from clew.registry.connection import Connection
from clew.registry.operation import declared
from clew.registry.permission import is_slip
from clew.settings import load_settings
from clew.store.workspaces import find_workspace, workspace_names
from clew.trust import trust


class Project:
    """A directory with a Clew of its own over a store that others use too."""

    def __init__(self, place: Path, store: dict[str, Any], toml: str = "") -> None:
        place.mkdir(parents=True, exist_ok=True)
        (place / ".git").mkdir(exist_ok=True)
        if toml:
            (place / "clew.toml").write_text(toml)
        environ = {"CLEW_HOME": str(store["home"]), "CLEW_DATABASE_URL": store.get("database_url") or ""}
        self.clew: Clew = open_clew(load_settings({}, environ, place))

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.clew.dispatcher.call(name, arguments, Connection(toolset="full")).envelope

    def note(self, text: str, **arguments: Any) -> dict[str, Any]:
        return self.call("notes_commit", content=text, **arguments)

    def notes(self) -> list[str]:
        found = self.call("show", doc_kind="notes")
        return [entry["content"] for entry in found["result"].get("entries", [])]

    def workspaces(self) -> list[str]:
        with self.clew.database.read() as tx:
            return workspace_names(tx)


@pytest.fixture
def api(tmp_path: Path, database_flags: dict[str, Any]) -> Iterator[Project]:
    project = Project(tmp_path / "one" / "api", database_flags)
    yield project
    project.clew.close()


@pytest.fixture
def other(tmp_path: Path, database_flags: dict[str, Any]) -> Iterator[Project]:
    """Another project whose directory has the same name, over the same store."""
    project = Project(tmp_path / "two" / "api", database_flags)
    yield project
    project.clew.close()


def test_two_projects_of_one_name_share_nothing(api: Project, other: Project) -> None:
    assert api.note("ours")["success"]
    assert other.note("theirs")["success"]
    assert api.notes() == ["ours"] and other.notes() == ["theirs"]
    own, theirs = other.workspaces()
    assert own == "api" and theirs.startswith("api-")


def test_the_second_one_reads_nothing_of_the_first(api: Project, other: Project) -> None:
    api.note("ours")
    assert other.notes() == []
    assert other.workspaces() == ["api"]


def test_each_keeps_its_own_after_a_restart(
    api: Project, other: Project, tmp_path: Path, database_flags: dict[str, Any]
) -> None:
    api.note("ours")
    other.note("theirs")
    for place, notes in (("one", ["ours"]), ("two", ["theirs"])):
        again = Project(tmp_path / place / "api", database_flags)
        assert again.notes() == notes
        again.clew.close()


def test_a_workspace_of_before_without_a_mark_goes_on_working(api: Project, other: Project) -> None:
    api.note("ours")
    with api.clew.database.write() as tx:
        tx.run("UPDATE workspace SET project_guard = NULL")
    assert other.notes() == ["ours"]


def test_projects_that_name_one_workspace_share_it(
    api: Project, tmp_path: Path, database_flags: dict[str, Any]
) -> None:
    api.note("ours")
    Project(tmp_path / "three" / "x", database_flags, 'workspace = "api"\n').clew.close()
    trust(Path(database_flags["home"]), tmp_path / "three" / "x" / "clew.toml")
    named = Project(tmp_path / "three" / "x", database_flags, 'workspace = "api"\n')
    assert named.notes() == ["ours"]
    named.clew.close()


@pytest.mark.parametrize("name", ["status", "show", "tasks_snapshot", "think_query", "recall", "branch_list"])
def test_reading_makes_no_workspace(api: Project, name: str) -> None:
    arguments = {"show": {"doc_kind": "notes"}, "recall": {"query": "x"}, "think_query": {}}.get(name, {})
    first = api.call(name, workspace="elsewhere", **arguments)
    again = api.call(name, workspace="elsewhere", **arguments)
    # A refusal bears the time of its call.
    assert {**first, "timestamp": ""} == {**again, "timestamp": ""}
    assert first["success"] or first["error"]["code"] in ("INVALID_INPUT", "UNKNOWN_ID")
    assert api.workspaces() == []


def test_reading_an_unknown_workspace_waits_for_no_writer(api: Project) -> None:
    """Every read, while somebody writes: an unknown workspace reads as an empty one and is not made for it."""
    import_everything()
    known = [found for found in declared().values() if not found.name.startswith("probe_")]  # other tests' own
    reads = [found for found in known if not found.writes and found.mode != "own"]
    assert len(reads) > 50
    api.note("there is a store")
    with api.clew.database.write() as tx:
        find_workspace(tx, "api")
        tx.run("UPDATE counter SET value = value WHERE workspace = ''")  # as whoever makes a workspace
        answers = {found.name: api.call(found.name, **{**found.example, "workspace": "elsewhere"}) for found in reads}
    codes = {name: (answer["error"] or {}).get("code") for name, answer in answers.items()}
    bad = {"INTERNAL", "STORE_LOCKED", "STORE_ERROR", "STORE_UNAVAILABLE"}
    assert {name: code for name, code in codes.items() if code in bad} == {}
    assert sum(code is None for code in codes.values()) > 20
    assert api.workspaces() == ["api"]


def test_writing_into_a_slip_of_a_known_name_is_refused_with_the_known_one(api: Project) -> None:
    api.note("first", workspace="storage")
    refused = api.note("second", workspace="storagge")
    assert refused["error"]["code"] == "UNKNOWN_ID"
    repaired = next(item for item in refused["suggestions"] if item["action"] == "call_tool")
    assert repaired["target"] == "notes_commit"
    assert repaired["params"] == {"content": "second", "workspace": "storage"}
    assert api.workspaces() == ["storage"]
    assert api.call(repaired["target"], **repaired["params"])["success"]


def test_init_makes_what_is_meant_to_stand_beside(api: Project) -> None:
    api.note("first", workspace="storage")
    assert api.call("init", workspace="storages")["success"]
    assert api.note("second", workspace="storages")["success"]


def test_an_answer_says_that_its_workspace_is_new(api: Project) -> None:
    made = api.note("first", workspace="elsewhere")
    assert [item["code"] for item in made["warnings"]] == ["WORKSPACE_NEW"]
    assert api.note("second", workspace="elsewhere")["warnings"] == []


def test_there_is_a_most_of_workspaces(api: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission, "MOST_WORKSPACES", 2)
    for name in ("alpha", "omega"):
        assert api.note("x", workspace=name)["success"]
    assert api.note("x", workspace="third")["error"]["code"] == "NOT_ALLOWED"
    assert api.note("x", workspace="alpha")["success"]


@pytest.mark.parametrize(
    ("name", "other", "slip"),
    [
        ("storage", "storgae", True),
        ("storage", "storag", True),
        ("storage", "storagee", True),
        ("storage", "stprage", True),
        ("acme/api", "acme-api", True),
        ("Acme", "acme", True),
        ("acme/api", "acme/web", False),
        ("release1", "release2", False),
        ("w1", "w2", False),
        ("api", "app", False),
        ("storage", "store", False),
    ],
)
def test_what_counts_as_a_slip(name: str, other: str, slip: bool) -> None:
    assert is_slip(name, other) == is_slip(other, name) == slip


def test_a_clone_that_names_anothers_workspace_needs_trust(
    api: Project, tmp_path: Path, database_flags: dict[str, Any]
) -> None:
    """Its file would read and poison what another place made, until a person trusts it."""
    api.note("ours")
    clone = Project(tmp_path / "clone", database_flags, 'workspace = "api"\n')
    try:
        for name, arguments in (("show", {"doc_kind": "notes"}), ("notes_commit", {"content": "poison"})):
            refused = clone.call(name, **arguments)["error"]
            assert (refused["code"], refused["details"]["rule"]) == ("NOT_ALLOWED", "trust")
            assert "clew trust" in refused["recovery"]
        with pytest.raises(ClewError):
            clone.clew.dispatcher.read_resource("mind-mem://decisions", Connection())
    finally:
        clone.clew.close()
    assert api.notes() == ["ours"]
    trust(Path(database_flags["home"]), tmp_path / "clone" / "clew.toml")
    trusted = Project(tmp_path / "clone", database_flags, 'workspace = "api"\n')
    assert trusted.notes() == ["ours"]
    trusted.clew.close()


def test_a_file_that_nobody_trusted_may_name_a_workspace_of_its_own(
    tmp_path: Path, database_flags: dict[str, Any]
) -> None:
    for _ in range(2):
        project = Project(tmp_path / "one", database_flags, 'workspace = "mine"\n')
        assert project.note("ours")["success"]
        project.clew.close()
