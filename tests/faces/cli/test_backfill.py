"""`clew backfill`: instruction files and earlier sessions, in this project and in all of them."""

import subprocess
from pathlib import Path

import pytest

from tests.faces.cli.conftest import Shell
from tests.history.transcripts import PROMPT, claude, codex


@pytest.fixture
def project(clew: Shell, person: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(clew.directory)], check=True)
    (clew.directory / "CLAUDE.md").write_text("- Never log a message body.\n")
    claude(person, clew.directory, "s-1")
    return clew.directory


def test_sessions_are_counted_first_and_read_with_the_proposals(clew: Shell, project: Path) -> None:
    preview = clew("backfill")
    assert "Never log a message body." in preview.out and "Claude Code" in preview.out
    assert "Nothing was read." in preview.out
    assert clew("history", "search", "lease", "--json").json["result"]["hits"] == []
    applied = clew("backfill", "--apply")
    assert applied.code == 0, applied.err
    (hit,) = clew("history", "search", "two relays same lease", "--json").json["result"]["hits"]
    assert hit["title"].startswith(PROMPT[:20])
    assert [item["kind"] for item in clew("inbox", "--json").json["result"]["items"]] == ["proposal"]


def test_a_named_source_reads_no_sessions(clew: Shell, project: Path) -> None:
    assert "Claude Code " not in clew("backfill", "--source", "git_history").out
    clew("backfill", "--source", "instructions", "--apply")
    assert clew("history", "search", "lease", "--json").json["result"]["hits"] == []


def test_every_project_with_a_session_is_taken(clew: Shell, project: Path, person: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "api"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    (other / "AGENTS.md").write_text("- Use uv instead of pip.\n")
    codex(person, other, "s-2")
    codex(person, tmp_path / "gone", "s-3")
    shown = clew("backfill", "--all", "--apply")
    assert shown.code == 0, shown.err
    assert str(project) in shown.out and str(other) in shown.out and "gone" not in shown.out
    assert "Use uv instead of pip." in Shell(other, clew.home, clew.anew)("recall", "uv", "pip").out


def test_connect_names_what_memory_can_start_from(clew: Shell, project: Path, person: Path) -> None:
    (person / ".claude.json").write_text("{}")
    assert "`clew backfill` shows what memory can start from" in clew("connect", "claude", "--yes").out
