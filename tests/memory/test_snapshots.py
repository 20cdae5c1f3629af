"""What an approval leaves on the disk: a difference, not a copy of memory; a copy only where Mind-Mem works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.app import Clew
from tests.conftest import Caller

RECORDS, APPROVALS = 60, 3


def fill(call: Caller) -> list[str]:
    said = [
        f"Component {n} keeps its own counters, numbered {n}, in table c{n}. " + f"word{n} " * 150
        for n in range(RECORDS)
    ]
    for text in said:
        call("remember", kind="lesson", text=text, why="Measured")
    return [str(call("remember", kind="rule", text=f"Never merge module {n}.", why="Order")["id"]) for n in range(4)]


def applied(root: Path) -> int:
    return sum(file.stat().st_size for file in (root / "intelligence" / "applied").rglob("*") if file.is_file())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "workspaces" / "ws" / "memory"


def test_an_approval_costs_what_it_changes_not_what_memory_holds(call: Caller, folder: Path, engine: str) -> None:
    if engine != "sqlite":
        pytest.skip("no files on PostgreSQL unless the settings name a folder")
    rules = fill(call)
    whole = sum(file.stat().st_size for file in folder.glob("*/*.md"))
    proposals = []
    for rule in rules[:APPROVALS]:
        proposals.append(call("retract", id=rule, why="No longer needed")["waits_for"])
    before = applied(folder)
    for proposal in proposals:
        call("approve_apply", proposal_id=proposal, dry_run=False)
    cost = (applied(folder) - before) / APPROVALS
    assert 0 < cost < 4_000 < whole / 10


def test_it_can_be_rolled_back_without_a_copy(call: Caller) -> None:
    rule = fill(call)[0]
    proposal = call("retract", id=rule, why="No longer needed")["waits_for"]
    ts = call("approve_apply", proposal_id=proposal, dry_run=False)["receipt_ts"]
    call("rollback_proposal", receipt_ts=ts)
    assert call("open", id=rule)["record"]["label"] == "in force"


def test_where_mind_mem_works_the_copy_is_whole(make_clew: Callable[..., Clew], folder: Path, engine: str) -> None:
    if engine != "sqlite":
        pytest.skip("no files on PostgreSQL unless the settings name a folder")
    call = Caller(make_clew())
    rule = call("remember", kind="rule", text="Never merge on Fridays.", why="Order")["id"]
    (folder / ".mind-mem-index").mkdir()
    proposal = call("retract", id=rule, why="No longer needed")["waits_for"]
    ts = call("approve_apply", proposal_id=proposal, dry_run=False)["receipt_ts"]
    kept = folder / "intelligence" / "applied" / ts
    assert (kept / "MANIFEST.json").is_file()
    assert "Never merge on Fridays" in "".join(file.read_text() for file in kept.rglob("*.md"))
