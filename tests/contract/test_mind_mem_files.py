"""Files shared with Mind-Mem: its workspaces are opened, used and handed back so that it can go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.app import Clew
from clew.errors import ClewError
from clew.memory.kinds import RECORDED_DECISIONS
from clew.settings import load_settings
from tests.contract.mind_mem import (
    DECISIONS,
    EDITS,
    RECEIPT,
    STATE,
    TASKS,
    decision,
    fingerprint,
    issues,
    make_workspace,
    op,
    proposal,
    read_ops,
    task,
)
from tests.memory.conftest import Memory

STATE_FILE = "memory/intel-state.json"


@pytest.fixture
def theirs(make_clew: Callable[..., Clew], tmp_path: Path) -> Memory:
    """A workspace that Mind-Mem made, opened with Clew."""
    make_workspace(tmp_path / "memory")
    assert issues(tmp_path / "memory") == []
    return Memory(make_clew(memory_dir=tmp_path / "memory"), tmp_path / "memory")


@pytest.fixture
def ours(make_clew: Callable[..., Clew], tmp_path: Path) -> Memory:
    return Memory(make_clew(memory_dir=tmp_path / "memory"), tmp_path / "memory")


def test_its_state_file_counts_and_keeps_what_only_mind_mem_knows(theirs: Memory) -> None:
    assert theirs("scan")["checks"]["governance_mode"] == "propose"
    assert theirs("governance", mode="enforce", per_day=9)["governance_mode"] == "enforce"
    after = json.loads(theirs.read(STATE_FILE))
    budget = {**STATE["proposal_budget"], "per_day": 9}
    assert {**after, "proposal_budget": budget, "governance_mode": "enforce"} == after
    assert {name: after[name] for name in STATE if name not in ("governance_mode", "proposal_budget")} == {
        name: value for name, value in STATE.items() if name not in ("governance_mode", "proposal_budget")
    }
    assert after["proposal_budget"]["per_week"] == 20


@pytest.mark.parametrize("number", range(102, 108))
def test_each_kind_of_proposal_that_it_staged_is_applied_and_taken_back(theirs: Memory, number: int) -> None:
    before = {path: theirs.read(path) for path in (DECISIONS, TASKS)}
    id = f"P-20261115-{number}"
    assert theirs("approve_apply", proposal_id=id)["status"] == "dry_run_passed"
    done = theirs("approve_apply", proposal_id=id, dry_run=False)
    assert done["status"] == "applied"
    assert {path: theirs.read(path) for path in before} != before
    assert issues(theirs.root) == []
    assert theirs("rollback_proposal", receipt_ts=done["receipt_ts"])["status"] == "rolled_back"
    assert {path: theirs.read(path) for path in before} == before


def test_quotes_around_values_of_its_proposals_are_no_part_of_them(theirs: Memory) -> None:
    for number in (103, 104):
        theirs("approve_apply", proposal_id=f"P-20261115-{number}", dry_run=False)
    text = theirs.read(TASKS)
    assert "\n- 2026-11-15: finished\n" in text
    assert "\n- log of today\n" in text


def test_a_proposal_that_was_changed_after_it_was_staged_is_refused(theirs: Memory) -> None:
    theirs.edit(EDITS, theirs.read(EDITS).replace("on Tuesdays", "on Fridays"))
    error = theirs.error("approve_apply", proposal_id="P-20261115-102")
    assert (error["code"], error["details"]["rule"]) == ("CONFLICT", "fingerprint")


def test_what_clew_stages_carries_its_fingerprint_and_a_digest_of_the_rest(theirs: Memory) -> None:
    ops = [{"op": "update_field", "target": "D-20260801-001", "field": "Rationale", "value": "cheaper"}]
    made = theirs("propose_edit", ops=ops, rationale="asked for")
    whole = [op("update_field", DECISIONS, "D-20260801-001", value="cheaper")]
    assert made["fingerprint"] == fingerprint("edit", "D-20260801-001", whole)
    theirs.edit(EDITS, theirs.read(EDITS).replace("field: Rationale", "field: Statement"))
    assert theirs.error("approve_apply", proposal_id=made["proposal_id"])["details"]["rule"] == "fingerprint"


RATIONALE = {"op": "update_field", "target": "D-20260801-001", "field": "Rationale"}


@pytest.mark.parametrize(
    ("made", "theirs_too"),
    [
        (
            {"op": "append_block", "file": TASKS, "patch": f"{task('T-20261115-001', 'One')}\n\n{task('T-2', 'Two')}"},
            True,
        ),
        ({**RATIONALE, "value": "| a | b |"}, True),
        ({**RATIONALE, "value": "measured\n\nand counted"}, False),
    ],
)
def test_what_clew_stages_is_read_by_it_or_refused(theirs: Memory, made: dict[str, str], theirs_too: bool) -> None:
    """Its proposals have no form for a value of several lines: it sees another fingerprint and leaves it alone."""
    proposed = theirs("propose_edit", ops=[made], rationale="measured")
    target = made.get("target", "new")
    known = read_ops(theirs.read(EDITS).partition(f"[{proposed['proposal_id']}]")[2])
    assert (fingerprint("edit", target, known) == proposed["fingerprint"]) is theirs_too
    assert theirs("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)["success"]


def test_its_receipts_are_listed_opened_and_rolled_back(theirs: Memory) -> None:
    listed = {item["proposal_id"]: item["receipt_ts"] for item in theirs("list_proposals")["proposals"]}
    assert listed["P-20261115-101"] == RECEIPT
    assert theirs("open", id=f"AR-{RECEIPT}")["block"]["fields"]["Proposal"] == "P-20261115-101"
    assert "D-20261115-001" in theirs.read(DECISIONS)
    back = theirs("rollback_proposal", receipt_ts=RECEIPT)
    assert back["log"].endswith("Removed D-20261115-001")
    assert "D-20261115-001" not in theirs.read(DECISIONS)
    assert "D-20260801-004" in theirs.read(DECISIONS)
    assert issues(theirs.root) == []
    again = theirs.error("rollback_proposal", receipt_ts=RECEIPT)
    assert again["code"] == "CONFLICT"


def test_a_block_that_changed_since_its_receipt_is_not_rolled_back_over(theirs: Memory) -> None:
    theirs("list_proposals")
    theirs.edit(DECISIONS, theirs.read(DECISIONS).replace("Deploys happen from CI", "Deploys happen from CI only"))
    assert theirs.error("rollback_proposal", receipt_ts=RECEIPT)["details"]["rule"] == "later_change"


def test_receipts_of_clew_hold_the_files_as_they_were_and_their_neighbours(theirs: Memory) -> None:
    theirs.edit("entities/tools.md", theirs.read("entities/tools.md") + "\n[TOOL-mixer]\nName: Mixer\n")
    before = theirs.read("entities/tools.md")
    edit = [{"op": "append_block", "file": "entities/tools.md", "patch": "[TOOL-redis]\nName: Redis"}]
    made = theirs("propose_edit", ops=edit, rationale="we use it")
    ts = theirs("approve_apply", proposal_id=made["proposal_id"], dry_run=False)["receipt_ts"]
    folder = theirs.root / "intelligence/applied" / ts
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    assert manifest["files"] == ["entities/tools.md"]
    neighbours = [f"entities/{name}.md" for name in ("incidents", "people", "projects", "tools")]
    assert manifest["cleanup_inventory"] == {"entities": neighbours}
    assert (folder / "entities/tools.md").read_text() == before
    for path in neighbours[:3]:
        assert (folder / path).read_text() == theirs.read(path)
    assert "TOOL-redis" in theirs.read("entities/tools.md")


def test_a_receipt_holds_both_files_of_a_block_that_it_moved(theirs: Memory) -> None:
    theirs("remember", text="Logs are kept for 30 days", kind="decision")
    opposed = theirs("remember", text="Logs are kept for 90 days", kind="decision")
    before = {path: theirs.read(path) for path in (DECISIONS, RECORDED_DECISIONS)}
    theirs("governance", self_approval=True)
    ts = theirs("approve_apply", proposal_id=opposed["proposal"], dry_run=False)["receipt_ts"]
    folder = theirs.root / "intelligence/applied" / ts
    assert json.loads((folder / "MANIFEST.json").read_text())["files"] == sorted(before)
    assert {path: (folder / path).read_text() for path in before} == before


@pytest.mark.parametrize(
    ("status", "after"), [("applied", "accepted"), ("rejected", "rejected"), ("expired", "resolved")]
)
def test_a_signal_ends_with_its_proposal_whoever_ended_that(theirs: Memory, status: str, after: str) -> None:
    made = theirs.propose("Okapi jobs run hourly")
    path = "intelligence/proposed/DECISIONS_PROPOSED.md"
    theirs.edit(path, theirs.read(path).replace("Status: staged", f"Status: {status}"))
    assert theirs("scan")["checks"]["pending_signals"] == 0
    signal = theirs.read("intelligence/SIGNALS.md").partition(f"[{made['signal_id']}]")[2]
    assert f"Status: {after}\n" in signal


def test_what_remember_writes_passes_its_validator_and_stands_where_it_searches(theirs: Memory) -> None:
    kept = theirs("remember", text="Nightly builds are signed", kind="decision")
    assert kept["state"] == "kept"
    assert kept["id"] in theirs.read(DECISIONS)
    opposed = theirs("remember", text="Nightly builds are not signed", kind="decision")
    assert opposed["state"] == "proposed"
    assert opposed["id"] not in theirs.read(DECISIONS)
    for kind in ("rule", "preference", "fact", "lesson", "rejected"):
        theirs("remember", text=f"A {kind} about pelicans", kind=kind)
    assert issues(theirs.root) == []
    theirs("governance", self_approval=True)
    done = theirs("approve_apply", proposal_id=opposed["proposal"], dry_run=False)
    assert opposed["id"] in theirs.read(DECISIONS)
    assert issues(theirs.root) == []
    theirs("rollback_proposal", receipt_ts=done["receipt_ts"])
    assert opposed["id"] not in theirs.read(DECISIONS)
    assert issues(theirs.root) == []


def test_a_workspace_that_clew_made_passes_its_validator(ours: Memory) -> None:
    ours.decide("Use Redis for caching")
    ours("propose_update", block_type="task", statement="Warm the cache")
    for kind in ("decision", "rule"):
        ours("remember", text=f"The {kind} of the house", kind=kind)
    ours("remember", text="Never use Redis for caching", kind="decision")
    ours("scan")
    ours("list_contradictions")
    assert issues(ours.root) == []


def test_files_that_only_mind_mem_uses_are_left_alone(theirs: Memory) -> None:
    before = theirs.files()
    theirs("recall", query="billing")
    theirs("list_proposals")
    assert theirs.files() == before


def test_two_of_its_receipts_on_one_block_are_rolled_back_newest_first(theirs: Memory) -> None:
    """The first receipt does not know what the second made of the block; it finds that in the second's snapshot."""
    text = theirs.read(DECISIONS)
    first, second = text.replace("on Mondays", "on Sundays"), text.replace("on Mondays", "on Saturdays")
    for ts, number, snapshot in (("20261115-220000", 201, text), ("20261115-221000", 202, first)):
        edit = op("update_field", DECISIONS, "D-20260801-002", field="Statement", value=f"number {number}")
        made = proposal(f"P-20261115-{number}", "edit", "D-20260801-002", edit, status="applied")
        theirs.edit(EDITS, f"{theirs.read(EDITS)}\n{made}\n\n---\n")
        theirs.edit(f"intelligence/applied/{ts}/{DECISIONS}", snapshot)
        head = f"[AR-{ts}]\nDate: 2026-11-15\nProposal: P-20261115-{number}\nFilesTouched:\n- {DECISIONS}\n"
        theirs.edit(f"intelligence/applied/{ts}/APPLY_RECEIPT.md", f"{head}Status: in_progress\nResult: applied\n")
    theirs.edit(DECISIONS, second)
    assert theirs.error("rollback_proposal", receipt_ts="20261115-220000")["details"]["rule"] == "later_change"
    theirs("rollback_proposal", receipt_ts="20261115-221000")
    assert theirs.read(DECISIONS) == first
    theirs("rollback_proposal", receipt_ts="20261115-220000")
    assert theirs.read(DECISIONS) == text
    assert decision("D-20260801-002", "Invoices go out on Mondays") in text


def test_the_workspace_is_where_the_server_is_started_and_a_slip_makes_none(tmp_path: Path) -> None:
    home, here = {"home": tmp_path / "home"}, tmp_path / "theirs"
    make_workspace(here)
    chosen = {**home, "toolset": "mind-mem"}
    assert load_settings(chosen, {}, here).memory_dir == here
    assert load_settings(home, {}, here).memory_dir is None
    assert load_settings(chosen, {}, tmp_path).memory_dir is None
    assert load_settings(chosen, {"MIND_MEM_WORKSPACE": str(here)}, tmp_path).memory_dir == here
    with pytest.raises(ClewError, match=r"Workspace not found at .*/there"):
        load_settings(chosen, {"MIND_MEM_WORKSPACE": str(tmp_path / "there")}, tmp_path)
    assert not (tmp_path / "there").exists()


def test_a_receipt_that_cannot_be_read_switches_nothing_off(theirs: Memory) -> None:
    for name, data in (("20261115-230000", b"\xff\xfe"), ("20261115-230001", b"no receipt at all")):
        folder = theirs.root / "intelligence/applied" / name
        folder.mkdir()
        (folder / "APPLY_RECEIPT.md").write_bytes(data)
    (theirs.root / "intelligence/applied/20261115-230002").mkdir()
    (theirs.root / "intelligence/applied/20261115-230002/APPLY_RECEIPT.md").symlink_to("/etc/hostname")
    assert theirs("approve_apply", proposal_id="P-20261115-107", dry_run=False)["status"] == "applied"
    assert theirs.error("rollback_proposal", receipt_ts="20261115-230000")["code"] == "UNKNOWN_ID"
    assert theirs("rollback_proposal", receipt_ts=RECEIPT)["status"] == "rolled_back"
