"""The contract that every source keeps: previews write nothing, provenance is exact, a second run changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import open_clew
from clew.importers.port import Candidate, Malformed, Roots, TaskCandidate
from clew.importers.sources import SOURCES, load_sources
from clew.importers.sources.git_history import GitHistory
from clew.settings import load_settings
from tests.conftest import Caller
from tests.importers.fixtures import FIXTURES, PRIVATE, SECRET, Fixture, git, lay_git_history


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    project, home = tmp_path / "relay", tmp_path / "person"
    (project / ".git").mkdir(parents=True)  # what makes a directory a project
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return Roots(project, home)


@pytest.fixture
def call(database_flags: dict[str, Any], roots: Roots) -> Iterator[Caller]:
    """A Clew that stands in the project."""
    flags = {"workspace": "ws", "workspace_lock": False, "embedding_model": "none", **database_flags}
    clew = open_clew(load_settings(flags, {}, roots.project))
    yield Caller(clew)
    clew.close()


def of_source(fixture: Fixture, call: Caller, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = call("backfill", sources=[fixture.source], **arguments)
    return result


def tables(call: Caller) -> dict[str, int]:
    """Rows of every table: what a preview must not change."""
    with call.clew.database.read() as tx:
        if tx.engine == "sqlite":
            names = [row["name"] for row in tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
        else:
            names = [row["tablename"] for row in tx.all("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        return {name: int(tx.value(f"SELECT count(*) FROM {name}")) for name in names}


def test_every_source_has_a_fixture() -> None:
    assert [fixture.source for fixture in FIXTURES] == list(SOURCES)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.source)
def test_a_source_reads_its_format_with_provenance_and_names_what_is_damaged(fixture: Fixture, roots: Roots) -> None:
    fixture.lay(roots)
    (source,) = load_sources([fixture.source])
    found = [finding for path in source.detect(roots) for finding in source.read(roots, path)]
    candidates = [item for item in found if not isinstance(item, Malformed)]
    assert fixture.expected <= {_said(item) for item in candidates}
    for place in fixture.places:
        assert any(str(item.origin).startswith(place) for item in candidates), place
    problems = [str(item) for item in found if isinstance(item, Malformed)]
    assert fixture.malformed in "\n".join(problems)
    texts = str(candidates)
    assert PRIVATE not in texts and "other project" not in texts.lower() and "another project" not in texts.lower()


def _said(item: Candidate | TaskCandidate) -> tuple[str, str]:
    return ("task", item.title) if isinstance(item, TaskCandidate) else (item.kind, item.text)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.source)
def test_a_preview_writes_nothing_and_a_second_run_changes_nothing(
    fixture: Fixture, roots: Roots, call: Caller
) -> None:
    fixture.lay(roots)
    call("status")
    before = tables(call)
    previewed = of_source(fixture, call)
    assert previewed["dry_run"] and previewed["preview"]
    assert tables(call) == before
    (first,) = of_source(fixture, call, dry_run=False)["sources"]
    assert first["proposed"] == first["candidates"] >= len(fixture.expected)
    written = tables(call)
    (second,) = of_source(fixture, call, dry_run=False)["sources"]
    assert (second["proposed"], second["known"]) == (0, first["candidates"])
    for table in ("block", "work", "step"):
        assert tables(call)[table] == written[table]


def test_a_candidate_waits_as_a_proposal_and_names_its_source(roots: Roots, call: Caller) -> None:
    FIXTURES[0].lay(roots)
    of_source(FIXTURES[0], call, dry_run=False)
    waiting = call("record_list", kind="rule")["records"]
    by_text = {row["title"]: row for row in waiting}
    record = by_text["Never log a message body."]
    assert record["status"] == "proposed"
    opened = call("open", id=record["id"])
    assert "CLAUDE.md:3" in str(opened)
    assert "proposed: Never log a message body." in call("resume")["text"]


def test_a_secret_in_a_source_is_masked(roots: Roots, call: Caller) -> None:
    FIXTURES[0].lay(roots)
    of_source(FIXTURES[0], call, dry_run=False)
    with call.clew.database.read() as tx:
        texts = [row["text"] for row in tx.all("SELECT text FROM block")]
    assert any("The token is" in text for text in texts)
    assert not any(SECRET in text for text in texts)


def test_a_rejected_candidate_is_not_proposed_again(roots: Roots, call: Caller) -> None:
    fixture = next(item for item in FIXTURES if item.source == "memory_server")
    fixture.lay(roots)
    of_source(fixture, call, dry_run=False)
    (proposal,) = call("inbox_list")["items"]
    call("reject_proposal", proposal_id=proposal["id"], reason="not true any more")
    (again,) = of_source(fixture, call, dry_run=False)["sources"]
    assert (again["proposed"], again["rejected"]) == (0, 1)


def test_an_open_task_of_another_tool_becomes_a_task_with_what_proves_it(roots: Roots, call: Caller) -> None:
    fixture = next(item for item in FIXTURES if item.source == "task_master")
    fixture.lay(roots)
    of_source(fixture, call, dry_run=False)
    (task,) = [row for row in call("tasks_context")["tasks"] if row["title"] == "Bound the queue"]
    opened = str(call("tasks_snapshot", task=task["id"]))
    assert "Refuse more" in opened and "Send 1,001 messages" in opened
    assert "Measure" not in opened
    with call.clew.database.read() as tx:
        (described,) = [row["description"] for row in tx.all("SELECT description FROM work WHERE kind = 'task'")]
    assert "Read from .taskmaster/tasks/tasks.json (master 1)." in described and SECRET not in described


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_limit_says_what_it_left_out(roots: Roots, call: Caller) -> None:
    FIXTURES[0].lay(roots)
    (report,) = of_source(FIXTURES[0], call, limit=2)["sources"]
    assert report["candidates"] == 2
    assert report["left_out"] >= 2


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_unknown_source_is_refused_with_the_known_ones(call: Caller) -> None:
    error = call.error("backfill", sources=["notion"])
    assert error["code"] == "INVALID_INPUT"
    assert "git_history" in error["recovery"]


def test_commits_of_several_things_and_of_upkeep_decide_nothing(roots: Roots) -> None:
    lay_git_history(roots)
    found = {item.text for item in GitHistory().read(roots, roots.project) if isinstance(item, Candidate)}
    assert found == {"Retry with jitter", "close the cursor", "Cache the answers"}


def test_a_revert_that_was_reverted_is_no_dead_end(roots: Roots) -> None:
    lay_git_history(roots)
    git(roots.project, "revert", "--no-edit", "HEAD")
    found = [item for item in GitHistory().read(roots, roots.project) if isinstance(item, Candidate)]
    assert found
    assert "Cache the answers" not in {item.text for item in found if item.kind == "rejected"}
