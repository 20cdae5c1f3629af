"""Thought sessions from the shell: lists, trees, and the way from and to Thoughtbox."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.faces.cli.commands.session import tree
from tests.faces.cli.conftest import Shell
from tests.ledger import sample


def think(clew: Shell, text: str, **arguments: Any) -> dict[str, Any]:
    given = {"thought": text, "nextThoughtNeeded": True, **arguments}
    ran = clew("call", "thought", json.dumps(given))
    assert ran.code == 0, ran.err
    result: dict[str, Any] = ran.json
    return result


@pytest.fixture
def session(clew: Shell) -> str:
    key = str(think(clew, "S1|O|search is slow", sessionTags=["ops"])["sessionId"])
    think(clew, "S2|H|S1|cache", sessionId=key, branchId="alt", branchFromThought=1)
    think(clew, "S2|R|^S1|only on Monday", sessionId=key, nextThoughtNeeded=False)
    return key


def test_a_session_is_listed_found_and_shown_as_a_tree(clew: Shell, session: str) -> None:
    listed = clew("sessions")
    assert session in listed.out
    assert "search is slow" in listed.out
    assert session in clew("sessions", "monday").out
    assert clew("sessions", "zebra").out == "No sessions.\n"
    shown = clew("session", session[:8])
    assert shown.out.splitlines()[2:] == [
        "├─ 1 O  search is slow",
        "│  └─ alt",
        "│     └─ 2 H  S1|cache",
        "└─ 2 R ↺1 ■  ^S1|only on Monday",
    ]
    assert json.loads(clew("session", session, "--json").json["result"]["content"])["session"]["id"] == session
    assert clew("session", "00000000").code == 1


def test_a_deep_tree_is_drawn_without_recursion() -> None:
    thoughts = [{"thoughtNumber": 1, "thought": "root", "isRevision": False, "nextThoughtNeeded": True}]
    for number in range(1, 3000):
        base = {"branchFromBranch": f"b{number - 1}"} if number > 1 else {}
        thoughts.append(
            {**thoughts[0], "thoughtNumber": number + 1, "branchId": f"b{number}", "branchFromThought": number, **base}
        )
    assert len(list(tree(thoughts))) == 1 + 2 * 2999


def test_a_thoughtbox_directory_comes_in_and_goes_out(clew: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "dot-thoughtbox"
    sample.build(folder)
    tried = clew("import", "thoughtbox", str(folder), "--dry-run")
    assert tried.code == 0
    assert clew("sessions").out == "No sessions.\n"
    ran = clew("import", "thoughtbox", str(folder))
    total = sum(sample.THOUGHTS.values())
    assert f"7 sessions, {total} thoughts: {total} added, 0 already there" in ran.out
    assert "2 entities as patterns, 4 ghosts dropped" in ran.out
    for finding in (
        "  thought lost:100: its fork point 99 is not there",
        "  missing in branch gone: 009.json",
        "  missing: 011.json",
        "  in no manifest, read all the same: 1001.json",
        "  exports/broken.json: is not JSON",
    ):
        assert finding in ran.out
    out = clew("export", "thoughtbox", str(tmp_path / "out"), "--json").json["result"]
    assert (out["sessions"], out["thoughts"], out["valid"]) == (7, total, True)
    one = clew("export", "thoughtbox", str(tmp_path / "one"), "--session", "2222")
    assert "1 sessions, 9 thoughts, files complete" in one.out


def test_a_directory_that_is_not_there_is_refused(clew: Shell) -> None:
    ran = clew("import", "thoughtbox", "/nowhere")
    assert ran.code == 1
    assert "NOT_FOUND" in ran.err
