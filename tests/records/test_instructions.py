"""sync_instructions: a block in AGENTS.md that says what holds; edits inside of it come back as proposals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Caller

OWN = "# Relay\n\nWritten by hand.\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()  # what makes a directory a project
    path = tmp_path / "AGENTS.md"
    path.write_text(OWN)
    return path


@pytest.fixture
def known(call: Caller, file: Path) -> Caller:
    call("remember", kind="rule", text="Never edit a released migration", why="checksums")
    call("remember", kind="preference", text="Short answers")
    call("remember", kind="decision", text="Leases are renewed at half of the deadline", why="skew")
    return call


def sync(call: Caller, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = call("sync_instructions", **arguments)
    return result


def test_the_block_says_what_holds_and_leaves_the_rest_alone(known: Caller, file: Path) -> None:
    assert sync(known, dry_run=True)["changed"]
    assert file.read_text() == OWN
    assert sync(known)["records"] == 3
    text = file.read_text()
    assert text.startswith(OWN)
    assert "- R-1: Never edit a released migration\n" in text and "- D-1: Leases are renewed" in text
    again = sync(known)
    assert (again["changed"], again["edits"]) == (False, [])
    known("remember", kind="decision", text="Leases are renewed at a third", why="margin", replaces=["D-1"])
    sync(known)
    assert "D-1" not in file.read_text() and "- D-2: Leases are renewed at a third" in file.read_text()
    sync(known, remove=True)
    assert file.read_text().rstrip() == OWN.rstrip()


def test_edits_inside_the_block_are_proposed_and_the_block_says_what_holds(known: Caller, file: Path) -> None:
    sync(known)
    text = file.read_text().replace("Never edit a released migration", "Never edit any migration")
    text = text.replace("- U-1: Short answers\n", "- Tests run offline\n")
    file.write_text(text + "\nA line below.\n")
    result = sync(known)
    assert [(edit["what"], edit["id"]) for edit in result["edits"]] == [
        ("changed", "R-1"),
        ("deleted", "U-1"),
        ("added", ""),
    ]
    assert len(result["proposed"]) == 3
    text = file.read_text()
    assert "Never edit a released migration" in text and "U-1: Short answers" in text
    assert "Tests run offline" not in text and text.endswith("\nA line below.\n")
    for proposal in result["proposed"]:
        known("approve_apply", proposal_id=proposal, dry_run=False)
    sync(known)
    text = file.read_text()
    assert "- R-1: Never edit any migration" in text and "- R-2: Tests run offline" in text
    assert "U-1" not in text


def test_what_came_later_was_not_deleted_by_hand(known: Caller, file: Path) -> None:
    sync(known)
    known("remember", kind="rule", text="Sign every commit")
    file.write_text(file.read_text().replace("Short answers", "Long answers"))
    assert [edit["id"] for edit in sync(known)["edits"]] == ["U-1"]


def test_a_statement_cannot_end_the_block(known: Caller, file: Path) -> None:
    known("remember", kind="rule", text="Never write --> or <!-- clew:end --> into a page")
    sync(known)
    assert file.read_text().count("<!-- clew:end -->\n") == 1
    assert sync(known)["changed"] is False


def test_files_that_cannot_be_read_or_lie_elsewhere_are_refused(known: Caller, file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    assert known.error("sync_instructions")["code"] == "IO_ERROR"
    file.unlink()
    outside = tmp_path.parent / "outside.md"
    outside.write_text("theirs")
    file.symlink_to(outside)
    assert known.error("sync_instructions")["code"] == "NOT_ALLOWED"
    assert outside.read_text() == "theirs"
