"""An audit finds what is planted, in the store and in files before an import, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.faces.cli.commands.audit import page
from tests.conftest import Caller

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()  # what makes a directory a project
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lease.py").write_text("margin = 2\n")
    return tmp_path


@pytest.fixture
def call(make_clew: Callable[..., Clew], project: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    monkeypatch.chdir(project)
    return Caller(make_clew())


def found(result: dict[str, Any], check: str) -> list[tuple[str, str | None]]:
    return [(item["place"], item.get("other")) for item in result["findings"] if item["check"] == check]


def test_each_check_finds_what_is_planted_and_nothing_is_written(call: Caller) -> None:
    call("remember", kind="decision", text="A failed delivery is retried five times with jitter", why="herds")
    call("remember", kind="fact", text="The lease table has one row for each relay")
    call("remember", kind="rule", text="Never edit a migration that was released", about=["migrations/*.sql"])
    call("remember", kind="rule", text="Take the margin from the settings of the lease", about=["src/lease.py"])
    call("remember", kind="fact", text="Staging has two relays", why="counted", review_by="2020-01-01")
    before = call("events_list", limit=1)
    result = call("audit")
    assert call("events_list", limit=1) == before
    assert [place for place, _ in found(result, "unsupported")] == ["F-1"]
    assert [place for place, _ in found(result, "no file")] == ["R-1"]
    assert [place for place, _ in found(result, "expired")] == ["F-2"]
    assert result["counts"] == {"no file": 1, "expired": 1, "unsupported": 1}


def test_statements_that_differ_in_a_number_are_no_duplicates_but_a_contradiction(call: Caller) -> None:
    call("remember", kind="decision", text="A failed delivery is retried 5 times", why="herds")
    call("remember", kind="decision", text="A failed delivery is retried 10 times", why="5 was too few", beside=["D-1"])
    result = call("audit")
    assert found(result, "duplicate") == []
    assert found(result, "contradiction") == [("D-1", "D-2")]


def test_a_folder_is_compared_with_itself_and_with_the_store(call: Caller, project: Path) -> None:
    call("remember", kind="decision", text="Sessions are kept in memory", why="simple")
    call("remember", kind="decision", text="Sessions are kept in PostgreSQL", why="restarts", replaces=["D-1"])
    (project / "CLAUDE.md").write_text(
        "# Relay\n\n- Sessions are kept in memory\n- Deploys happen on Tuesdays only\n"
        f"- Deploys happen on Tuesdays, only\n- Use the token {TOKEN} for staging\n"
    )
    result = call("audit", path="CLAUDE.md")
    assert result["statements"] == 4
    assert found(result, "outdated") == [("CLAUDE.md:3", "D-1")]
    assert found(result, "duplicate") == [("CLAUDE.md:4", "CLAUDE.md:5")]
    assert found(result, "secret") == [("CLAUDE.md:6", None)]
    assert TOKEN not in str(result)
    assert call("record_list", kind="rule")["records"] == []


def test_a_memory_of_mind_mem_is_read_as_records(call: Caller, project: Path) -> None:
    folder = project / "mind" / "decisions"
    folder.mkdir(parents=True)
    (folder / "DECISIONS.md").write_text(
        "# Decisions\n\n[D-20260101-001]\nStatement: Leases are renewed at half of the deadline\nStatus: superseded\n"
        "\n---\n\n[D-20260102-001]\nStatement: Leases are renewed at half of the deadline\nStatus: active\n"
    )
    result = call("audit", path="mind")
    assert result["statements"] == 2
    (stated,) = [item for item in result["findings"] if item["check"] == "outdated"]
    assert stated["place"] == "decisions/DECISIONS.md D-20260102-001"


def test_bad_paths_are_refused(call: Caller, make_clew: Callable[..., Clew]) -> None:
    assert call.error("audit", path="missing")["code"] == "NOT_FOUND"
    agent = Caller(make_clew())
    assert agent.error("audit", path="/etc")["code"] == "NOT_ALLOWED"


def test_the_page_shows_every_finding_and_runs_nothing() -> None:
    finding = {"check": "duplicate", "severity": "low", "place": "D-1", "text": "<script>x</script>", "note": "as D-2"}
    html = page({"audited": "ws", "statements": 2, "counts": {"duplicate": 1}, "findings": [finding]})
    assert "&lt;script&gt;x" in html and "<script" not in html and "as D-2" in html
