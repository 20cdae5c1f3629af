"""Files shared with Mind-Mem: its workspaces are opened, used and handed back so that it can go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.errors import ClewError
from clew.kinds.builtin import RECORDED_DECISIONS
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

STATE_FILE, CONFIGURATION = "memory/intel-state.json", "mind-mem.json"


@pytest.fixture
def theirs(make_clew: Callable[..., Clew], tmp_path: Path) -> Memory:
    """A workspace that Mind-Mem made, opened with Clew."""
    make_workspace(tmp_path / "memory")
    assert issues(tmp_path / "memory") == []
    return Memory(make_clew(memory_dir=tmp_path / "memory"), tmp_path / "memory")


@pytest.fixture
def ours(make_clew: Callable[..., Clew], tmp_path: Path) -> Memory:
    """A workspace that Clew makes for a client of Mind-Mem."""
    memory = Memory(make_clew(memory_dir=tmp_path / "memory"), tmp_path / "memory")
    memory.session.toolset = "mind-mem"
    return memory


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


def test_the_state_file_that_clew_makes_has_the_counters_that_its_scan_needs(ours: Memory) -> None:
    ours.decide("Deploys happen from CI")
    ours("governance", per_day=9)
    made = json.loads(ours.read(STATE_FILE))
    assert (made["counters"], made["proposal_budget"]["per_day"]) == ({}, 9)
    ours.edit(STATE_FILE, json.dumps({name: value for name, value in made.items() if name != "counters"}))
    ours("scan")
    assert json.loads(ours.read(STATE_FILE)) == made, "an older Clew made it without them"
    ours.edit(STATE_FILE, json.dumps({**made, "counters": {"snapshots": 3}}))
    ours("governance", per_day=8)
    assert json.loads(ours.read(STATE_FILE))["counters"] == {"snapshots": 3}


def modes(memory: Memory) -> list[str]:
    return [json.loads(memory.read(path))["governance_mode"] for path in (STATE_FILE, CONFIGURATION)]


def test_where_two_files_name_a_mode_the_stricter_holds_and_governance_writes_both(theirs: Memory) -> None:
    """Mind-Mem 1.0.3 reads it from the state file, 5.0.3 from its configuration."""
    proposed = theirs.propose("Deploys happen on Mondays")["proposal_id"]
    theirs.edit(CONFIGURATION, '{"limits": {"a": 1}, "governance_mode": "detect_only"}')
    found = theirs("scan")
    (said,) = [item for item in found["findings"] if item["check"] == "state"]
    assert (found["checks"]["governance_mode"], said["file"]) == ("detect_only", CONFIGURATION)
    assert "says detect_only and memory/intel-state.json says propose" in said["message"]
    refused = theirs.error("approve_apply", proposal_id=proposed, dry_run=False)
    assert refused["details"]["rule"] == "detect_only" and CONFIGURATION in refused["message"]
    assert theirs("governance", per_day=9)["problem"] == said["message"]
    assert modes(theirs) == ["propose", "detect_only"], "only a mode that is given is written"
    assert "problem" not in theirs("governance", mode="propose")
    assert modes(theirs) == ["propose", "propose"]
    assert json.loads(theirs.read(CONFIGURATION))["limits"] == {"a": 1}
    assert theirs("approve_apply", proposal_id=proposed, dry_run=False)["status"] == "applied"


def test_a_mode_that_version_1_wrote_into_its_configuration_and_never_read_does_not_count(theirs: Memory) -> None:
    """Its init writes detect_only there, whatever the state says. A later version that took the folder reads it."""
    made = {"version": "1.0.3", "governance_mode": "detect_only"}
    proposed = theirs.propose("Deploys happen on Mondays")["proposal_id"]
    for later, mode in (
        ({"version": "5.0.3"}, "detect_only"),
        ({"schema_version": "2.1"}, "detect_only"),
        ({}, "propose"),
    ):
        theirs.edit(CONFIGURATION, json.dumps({**made, **later}))
        found = theirs("scan")
        assert found["checks"]["governance_mode"] == mode
        assert bool([item for item in found["findings"] if item["check"] == "state"]) is (mode == "detect_only")
    assert theirs("approve_apply", proposal_id=proposed, dry_run=False)["status"] == "applied"
    theirs("governance", mode="enforce")
    assert modes(theirs) == ["enforce", "enforce"], "a mode that is set holds in both"


def test_a_workspace_that_clew_makes_begins_with_propose(ours: Memory) -> None:
    """And applies nothing by itself: that takes mode enforce."""
    proposed = ours.propose("Deploys happen on Mondays")
    assert "auto_applied" not in proposed and "Mondays" not in ours.read(DECISIONS)
    assert modes(ours) == ["propose", "propose"]
    assert json.loads(ours.read(STATE_FILE))["auto_apply_low_risk"] is True


def test_a_mode_that_a_person_writes_into_the_configuration_of_clew_counts(ours: Memory) -> None:
    """Clew prints version 1.0.3 there, by which that version knows a workspace."""
    ours.decide("Deploys happen from CI")
    ours.edit(CONFIGURATION, ours.read(CONFIGURATION).replace('"propose"', '"detect_only"'))
    assert ours("scan")["checks"]["governance_mode"] == "detect_only"


def test_a_mode_that_is_set_here_holds_for_mind_mem_too(ours: Memory) -> None:
    ours.decide("Deploys happen from CI")
    ours("governance", mode="enforce")
    assert modes(ours) == ["enforce", "enforce"]
    (ours.root / ".spec_binding.json").write_text("{}")
    assert "mm bind --rebind" in ours("governance", mode="detect_only")["next_step"]
    assert modes(ours) == ["detect_only", "detect_only"]
    assert "next_step" not in ours("governance", mode="detect_only"), "nothing was written"


def test_a_configuration_that_names_no_mode_or_cannot_be_read(theirs: Memory) -> None:
    before = theirs.read(CONFIGURATION)
    assert theirs("governance", mode="enforce")["governance_mode"] == "enforce"
    assert theirs.read(CONFIGURATION) == before
    for broken in (
        '{"governance_mode": "yolo", "limits": 1}',
        '{"governance_mode": ',
        "[]",
        '{"governance_mode": null}',
    ):
        theirs.edit(CONFIGURATION, broken)
        assert theirs("scan")["checks"]["governance_mode"] == "detect_only"
        assert theirs("governance", mode="propose")["governance_mode"] == "propose"
        assert modes(theirs) == ["propose", "propose"]


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
            {
                "op": "append_block",
                "file": TASKS,
                "patch": f"{task('T-20261115-001', 'One')}\n\n{task('T-20261115-002', 'Two')}",
            },
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
    for name in ("SIGNALS", "CONTRADICTIONS", "DRIFT", "IMPACT", "BRIEFINGS", "AUDIT"):
        assert ours.read(f"intelligence/{name}.md").startswith("# "), "it warns where one is missing"
    assert (ours.root / "summaries/weekly").is_dir()


def test_files_that_only_mind_mem_uses_are_left_alone(theirs: Memory) -> None:
    before = theirs.files()
    theirs("recall", query="billing")
    theirs("list_proposals")
    assert theirs.files() == before


def test_two_of_its_receipts_on_one_block_are_rolled_back_newest_first(theirs: Memory) -> None:
    """The first receipt does not know what the second made of the block; it finds that in the second's snapshot."""
    text = theirs.read(DECISIONS)
    first, second = text.replace("on Mondays", "on Sundays"), text.replace("on Mondays", "on Saturdays")
    for ts, number, day, snapshot in (
        ("20261115-220000", 201, "Sundays", text),
        ("20261115-221000", 202, "Saturdays", first),
    ):
        value = f"Invoices go out on {day}"
        edit = op("update_field", DECISIONS, "D-20260801-002", field="Statement", value=value)
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


@pytest.mark.parametrize("told", ["by its DIFF", "by its operations"])
def test_an_edit_after_its_apply_is_never_rolled_back_over_even_if_clew_sees_both_at_once(
    theirs: Memory, told: str
) -> None:
    """What its apply left is worked out from the receipt: the program also prints the whole block in another order."""
    text = theirs.read(DECISIONS)
    after = text.replace("on Mondays", "on Sundays")
    if told == "by its DIFF":
        line = "Statement: Invoices go out on Sundays\n"
        after = after.replace(line, "").replace("[D-20260801-002]\n", f"[D-20260801-002]\n{line}")
    ts = _applied_by_mind_mem(theirs, text, after if told == "by its DIFF" else None)
    theirs.edit(DECISIONS, after.replace("on Sundays", "on Sundays at noon"))
    error = theirs.error("rollback_proposal", receipt_ts=ts)
    assert (error["details"]["rule"], error["details"]["block_id"]) == ("later_change", "D-20260801-002")
    assert "on Sundays at noon" in theirs.read(DECISIONS)
    theirs.edit(DECISIONS, after)
    assert theirs("rollback_proposal", receipt_ts=ts)["log"].endswith("Restored D-20260801-002")
    assert theirs.read(DECISIONS) == text


def test_a_receipt_whose_difference_stands_there_twice_is_rolled_back_byte_for_byte(theirs: Memory) -> None:
    """Mind-Mem 5 prints it once for each way it has named the file, and puts a rule behind the block it prints anew."""
    plain = theirs.read(DECISIONS).replace("\n\n---\n\n[D-20260801-003]", "\n\n[D-20260801-003]")
    line = "Statement: Invoices go out on Sundays\n"
    after = plain.replace("Statement: Invoices go out on Mondays\n", "")
    after = after.replace("[D-20260801-002]\n", f"[D-20260801-002]\n{line}")
    after = after.replace("\n\n[D-20260801-003]", "\n\n---\n[D-20260801-003]")
    ts = _applied_by_mind_mem(theirs, plain, after, printed=2)
    theirs.edit(DECISIONS, after)
    assert theirs("rollback_proposal", receipt_ts=ts)["log"].endswith("Restored D-20260801-002")
    assert theirs.read(DECISIONS) == plain
    theirs.agree()


def test_a_receipt_without_its_copies_takes_nothing_away(theirs: Memory) -> None:
    """What a block was before is not known then, and it must not be taken for a new one."""
    text = theirs.read(DECISIONS)
    after = text.replace("on Mondays", "on Sundays")
    ts = _applied_by_mind_mem(theirs, text, after)
    theirs.edit(DECISIONS, after)
    for receipt in (ts, RECEIPT):
        (theirs.root / f"intelligence/applied/{receipt}/{DECISIONS}").unlink()
    assert "D-20260801-002" in theirs.error("rollback_proposal", receipt_ts=ts)["message"]
    assert theirs.read(DECISIONS) == after
    theirs("rollback_proposal", receipt_ts=RECEIPT)
    assert "D-20261115-001" not in theirs.read(DECISIONS), "an added block needs no copy"


def _applied_by_mind_mem(theirs: Memory, before: str, after: str | None, printed: int = 1) -> str:
    """A receipt for changing D-20260801-002, with the DIFF as that program writes it if the text after is given."""
    ts = "20261115-220000"
    edit = op("update_field", DECISIONS, "D-20260801-002", field="Statement", value="Invoices go out on Sundays")
    made = proposal("P-20261115-201", "edit", "D-20260801-002", edit, status="applied")
    theirs.edit(EDITS, f"{theirs.read(EDITS)}\n{made}\n\n---\n")
    theirs.edit(f"intelligence/applied/{ts}/{DECISIONS}", before)
    head = f"[AR-{ts}]\nDate: 2026-11-15\nProposal: P-20261115-201\nFilesTouched:\n- {DECISIONS}\nStatus: in_progress\n"
    told = ""
    if after is not None:
        lines = (before.splitlines(keepends=True), after.splitlines(keepends=True))
        diff = "\n".join(unified_diff(*lines, f"a/{DECISIONS}", f"b/{DECISIONS}", lineterm=""))
        whole = "\n".join([diff] * printed)
        told = "DIFF:\n" + "".join(f"  {line}\n" for line in whole.split("\n"))
    theirs.edit(f"intelligence/applied/{ts}/APPLY_RECEIPT.md", f"{head}{told}Result: applied\n")
    return ts


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


def edit(**parts: str) -> dict[str, Any]:
    return {"ops": [parts], "rationale": "asked for"}


def update(target: str, field: str, value: str) -> dict[str, Any]:
    return edit(op="update_field", target=target, field=field, value=value)


FAULTY = {
    "a scope of another kind": (
        "propose_update",
        {"block_type": "decision", "statement": "Use tabs", "scope": "team:x"},
    ),
    "a scope with a blank": (
        "propose_update",
        {"block_type": "decision", "statement": "Use tabs", "scope": "project:Web Shop"},
    ),
    "an unknown id": ("propose_update", {"block_type": "decision", "statement": "As D-20200101-001 says"}),
    "a word like an id": ("propose_update", {"block_type": "task", "statement": "Price PER-seat"}),
    "a changed scope": ("propose_edit", update("D-20260801-001", "Scope", "everywhere")),
    "a priority": ("propose_edit", update("T-20260801-001", "Priority", "urgent")),
    "an owner": (
        "propose_edit",
        edit(op="append_block", file=TASKS, patch=task("T-20261115-009", "Rest", Owner="carol")),
    ),
    "a successor of nothing": ("propose_edit", update("D-20260801-001", "Supersedes", "D-20200101-001")),
    "a successor of no decision": ("propose_edit", update("D-20260801-001", "Supersedes", "R-1")),
    "an id": (
        "propose_edit",
        edit(op="append_block", file="entities/people.md", patch="[PER-Carol_X]\nName: Carol"),
    ),
    "tags as a list": (
        "propose_edit",
        edit(op="replace_range", target="D-20260801-001", start="Tags:", end="Sources:", patch="Tags:\n- a\n- b"),
    ),
    "a field that is lost": (
        "propose_edit",
        edit(op="replace_range", target="D-20260801-001", start="Rationale:", end="Tags:", patch="Supersedes: none"),
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_what_its_validator_would_refuse_is_not_proposed(theirs: Memory, name: str) -> None:
    theirs("list_proposals")
    before = theirs.files()
    error = theirs.error(FAULTY[name][0], **FAULTY[name][1])
    assert (error["code"], error["details"]["rule"]) == ("CONFLICT", "validator")
    assert error["recovery"]
    assert theirs.files() == before


def test_what_a_person_wrote_against_its_rules_is_reported_and_keeps_nobody_from_proposing(theirs: Memory) -> None:
    wrong = decision("D-20260801-009", "As PER-nobody said", Scope="team:x", Supersedes="R-1", Tags="\n- a\n- b")
    theirs.edit(DECISIONS, f"{theirs.read(DECISIONS)}\n{wrong}\n")
    theirs.edit(TASKS, theirs.read(TASKS).replace("Owner: bot", "Owner: carol"))
    said = [item["message"] for item in theirs("scan")["findings"] if item["check"] == "validator"]
    assert [text.split(", ")[0] for text in said] == [
        "D-20260801-009 has Scope 'team:x'",
        "D-20260801-009 has Supersedes 'R-1'",
        "D-20260801-009 has Tags a list",
        "T-20260801-001 has Owner 'carol'",
        "PER-nobody is named and not defined; Mind-Mem applies nothing while that is so",
    ]
    for target, field in (("D-20260801-009", "Rationale"), ("T-20260801-001", "Next")):
        made = theirs("propose_edit", **update(target, field, "other"))
        assert theirs("approve_apply", proposal_id=made["proposal_id"], dry_run=False)["status"] == "applied"


def test_a_resolution_that_its_validator_would_refuse_does_not_stop_the_scan(theirs: Memory) -> None:
    """What stands in another file is not defined for it, so naming the winner would be a fault."""
    theirs.edit("decisions/TEAM.md", decision("D-20261101-001", "Invoices go out on Fridays"))
    found = theirs("scan")
    assert found["checks"]["proposed_resolutions"] == []
    said = [item["message"] for item in found["findings"] if item["check"] == "validator"]
    assert "D-20261101-001 is named and not defined; Mind-Mem applies nothing while that is so" in said
    assert any(text.startswith("That D-20260801-002 yields cannot be proposed: ") for text in said)


def test_a_tag_joins_the_line_of_tags(theirs: Memory) -> None:
    made = theirs("propose_edit", **edit(op="append_list_item", target="D-20260801-001", list="Tags", item="c"))
    theirs("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    assert "\nTags: a, b, c\nSources:" in theirs.read(DECISIONS)
    id, _ = theirs.decide("Backups are encrypted")
    made = theirs("propose_edit", **edit(op="append_list_item", target=id, list="Tags", item="safety"))
    theirs("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    assert "\nTags: safety\n" in theirs.read(DECISIONS)
    assert issues(theirs.root) == []


def test_what_waits_may_be_named_and_comes_first(theirs: Memory) -> None:
    first = theirs.propose("Backups are encrypted")
    then = theirs.propose(f"Keys are kept apart, as {first['block_id']} asks")
    refused = theirs.error("approve_apply", proposal_id=then["proposal_id"])
    assert refused["details"]["rule"] == "validator"
    assert refused["recovery"] == f"Apply {first['proposal_id']} first."
    for made in (first, then):
        theirs("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    assert issues(theirs.root) == []


@pytest.mark.parametrize("text", ["As D-20200101-001 says, tabs are used", "Seats are priced PER-seat"])
def test_remember_takes_every_word_and_its_validator_passes(theirs: Memory, text: str) -> None:
    answer = theirs.answer("remember", text=text, kind="decision")
    kept = answer.envelope["result"]
    assert kept["state"] == "kept"
    assert [item["code"] for item in answer.envelope["warnings"]] == ["KEPT_ASIDE"]
    assert f"[{kept['id']}]" in theirs.read("knowledge/DECISIONS.md")
    assert f"Statement: {text}\n" in theirs.read("knowledge/DECISIONS.md")
    assert issues(theirs.root) == []


def test_a_decision_in_the_place_of_several_passes_its_validator(theirs: Memory) -> None:
    old = [theirs("remember", text=text, kind="decision")["id"] for text in ("Logs are kept", "Traces are sampled")]
    new = theirs("remember", text="Logs and traces go to one store", kind="decision", replaces=old)
    assert new["state"] == "kept"
    assert theirs.read(DECISIONS).count(f"SupersededBy: {new['id']}") == 2
    assert issues(theirs.root) == []


def test_a_rollback_tells_who_still_names_what_is_gone(theirs: Memory) -> None:
    id, receipt = theirs.decide("Backups are encrypted")
    made = theirs("propose_edit", **update("T-20260801-001", "Context", id))
    theirs("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    back = theirs.answer("rollback_proposal", receipt_ts=receipt)
    assert back.envelope["result"]["status"] == "rolled_back"
    assert [item["code"] for item in back.envelope["warnings"]] == ["STILL_NAMED"]
    found = [item for item in theirs("scan")["findings"] if item["check"] == "validator"]
    assert [(item["file"], item["message"].split()[0]) for item in found] == [(TASKS, id)]


def test_where_mind_mem_is_not_used_words_are_free_and_values_are_not(ours: Memory) -> None:
    ours.session.toolset = "full"
    ours.decide("Seats are priced PER-seat, as D-20200101-001 says")
    ours("propose_edit", **edit(op="append_block", file="entities/people.md", patch="[PER-Carol_X]\nName: Carol"))
    assert ours.error("propose_update", block_type="decision", statement="Use tabs", scope="team:x")
    assert [item for item in ours("scan")["findings"] if item["check"] == "validator"] == []
    (ours.root / "maintenance").mkdir()  # where Mind-Mem puts its reports
    assert len([item for item in ours("scan")["findings"] if item["check"] == "validator"]) == 2
    assert (
        ours.error("propose_update", block_type="decision", statement="Pay PER-seat")["details"]["rule"] == "validator"
    )


NEW = decision("D-20261115-009", "Billing is migrated")


def test_a_receipt_of_another_store_about_two_files_is_rolled_back(
    theirs: Memory, make_clew: Callable[..., Clew]
) -> None:
    theirs("remember", text="Logs are kept for 30 days", kind="decision")
    opposed = theirs("remember", text="Logs are kept for 90 days", kind="decision")
    before = {path: theirs.read(path) for path in (DECISIONS, RECORDED_DECISIONS, TASKS)}
    moved = theirs("approve_apply", proposal_id=opposed["proposal"], dry_run=False)["receipt_ts"]
    ops = [op("set_status", TASKS, "T-20260801-001", status="done"), op("append_block", DECISIONS, patch=NEW)]
    both = theirs("propose_edit", ops=ops, rationale="done")["proposal_id"]
    changed = theirs("approve_apply", proposal_id=both, dry_run=False)["receipt_ts"]
    other = Memory(make_clew(memory_dir=theirs.root, workspace="other"), theirs.root)
    for receipt in (changed, moved):
        assert other("rollback_proposal", receipt_ts=receipt)["success"]
    assert {path: other.read(path) for path in before} == before
