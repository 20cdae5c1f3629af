"""The seven kinds of change: tried on a copy, applied as shown, refused as a whole, taken back exactly."""

from __future__ import annotations

from typing import Any

import pytest

from clew.memory import blocks
from tests.memory.conftest import Memory
from tests.records.test_work import connected
from tests.suggestions import run_suggestions

DECISIONS = "decisions/DECISIONS.md"
PROPOSED = "intelligence/proposed/EDITS_PROPOSED.md"
PROPOSED_DECISIONS = "intelligence/proposed/DECISIONS_PROPOSED.md"
NEW = "\n".join(
    [
        "[D-20300101-001]",
        "Date: 2030-01-01",
        "Status: active",
        "Scope: global",
        "Statement: Use Kafka",
        "Rationale: Throughput",
        "Supersedes: none",
        "Tags: queue",
        "Sources:",
        "- talk",
    ]
)


@pytest.fixture
def block(memory: Memory) -> str:
    memory.decide("Use RabbitMQ", tags="queue")
    memory.edit("entities/people.md", "# People\n\n[PER-ada]\nName: Ada\nHistory:\n- joined\n\n[PER-bob]\nName: Bob\n")
    return memory.decide("Use PostgreSQL", tags="db")[0]


def applied(memory: Memory, *ops: dict[str, Any]) -> str:
    proposed = memory("propose_edit", ops=list(ops), rationale="Because")
    return str(memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)["receipt_ts"])


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"op": "append_block", "file": DECISIONS, "patch": NEW}, DECISIONS, "\n\n[D-20300101-001]\nDate: 2030-01-01\n"),
    (
        {"op": "insert_after_block", "target": "PER-ada", "patch": "[PER-eve]\nName: Eve"},
        "entities/people.md",
        "- joined\n\n[PER-eve]\nName: Eve\n\n---\n\n[PER-bob]",
    ),
    (
        {"op": "update_field", "target": "PER-ada", "field": "Name", "value": "Ada L.\n[D-1]\nStatus: active"},
        "entities/people.md",
        "[PER-ada]\nName: Ada L.\n  [D-1]\n  Status: active\nHistory:",
    ),
    (
        {"op": "append_list_item", "target": "PER-ada", "list": "History", "item": "left"},
        "entities/people.md",
        "History:\n- joined\n- left\n\n[PER-bob]",
    ),
    (
        {"op": "set_status", "target": "@", "status": "revoked", "history": "2026-01-01: too slow"},
        DECISIONS,
        "History:\n- 2026-01-01: too slow",
    ),
    (
        {
            "op": "replace_range",
            "target": "PER-ada",
            "start": "Name:",
            "end": "History:",
            "patch": "Name: A\nRole: CTO",
        },
        "entities/people.md",
        "[PER-ada]\nName: A\nRole: CTO\nHistory:\n- joined",
    ),
    (
        {"op": "supersede_decision", "target": "@", "patch": NEW},
        DECISIONS,
        "Status: superseded",
    ),
]


@pytest.mark.parametrize(("op", "file", "expected"), CASES, ids=[case[0]["op"] for case in CASES])
def test_each_kind_is_applied_and_taken_back_to_the_byte(
    memory: Memory, block: str, op: dict[str, Any], file: str, expected: str
) -> None:
    memory("list_proposals")
    before = memory.read(file)
    op = {**op, "target": block} if op.get("target") == "@" else op
    receipt = applied(memory, op)
    assert expected in memory.read(file)
    memory.agree()
    memory("rollback_proposal", receipt_ts=receipt)
    assert memory.read(file) == before
    memory.agree()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"op": "teleport"}, "INVALID_INPUT"),
    ({"op": "update_field", "target": "PER-ada", "field": "Name"}, "INVALID_INPUT"),
    ({"op": "append_block", "file": "../../etc/passwd.md", "patch": NEW}, "INVALID_INPUT"),
    ({"op": "append_block", "file": "intelligence/applied/x.md", "patch": NEW}, "INVALID_INPUT"),
    ({"op": "append_block", "file": DECISIONS, "patch": "no header"}, "CONFLICT"),
    ({"op": "append_block", "file": DECISIONS, "patch": "[D-9]\nStatus: active"}, "CONFLICT"),
    ({"op": "append_block", "file": "entities/people.md", "patch": "[PER-ada]\nName: Other"}, "CONFLICT"),
    ({"op": "update_field", "target": "PER-nobody", "field": "Name", "value": "x"}, "CONFLICT"),
    ({"op": "update_field", "target": "PER-ada", "field": "Age", "value": "1"}, "CONFLICT"),
    ({"op": "append_list_item", "target": "PER-ada", "list": "Friends", "item": "x"}, "CONFLICT"),
    ({"op": "set_status", "target": "@", "status": "fantastic"}, "CONFLICT"),
    ({"op": "replace_range", "target": "PER-ada", "start": "Nope", "end": "History", "patch": "x"}, "CONFLICT"),
    (
        {"op": "replace_range", "target": "PER-ada", "start": "Name", "end": "History", "patch": "[D-2]\nX: y"},
        "CONFLICT",
    ),
]


@pytest.mark.parametrize(("op", "code"), REFUSED, ids=[f"{n}-{case[0]['op']}" for n, case in enumerate(REFUSED)])
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    memory: Memory, block: str, op: dict[str, Any], code: str
) -> None:
    memory("list_proposals")
    before = memory.files()
    op = {**op, "target": block} if op.get("target") == "@" else op
    answer = memory.answer(
        "propose_edit", ops=[{"op": "set_status", "target": block, "status": "revoked"}, op], rationale="x"
    )
    assert answer.envelope["error"]["code"] == code
    assert memory.files() == before
    run_suggestions(memory.clew, answer, memory.session)


def test_an_invariant_cannot_be_superseded(memory: Memory) -> None:
    memory.edit(
        DECISIONS,
        "[D-1]\nStatus: active\nStatement: Law\nConstraintSignatures:\n- id: CS-1\n  enforcement: invariant\n",
    )
    error = memory.error(
        "propose_edit", ops=[{"op": "supersede_decision", "target": "D-1", "patch": NEW}], rationale="New law"
    )
    assert error["code"] == "NOT_ALLOWED"


def test_the_fingerprint_covers_every_part(memory: Memory, block: str) -> None:
    ops = [{"op": "update_field", "target": block, "field": "Rationale", "value": "x"}]
    proposed = memory("propose_edit", ops=ops, rationale="Because")
    memory.edit(PROPOSED, memory.read(PROPOSED).replace("field: Rationale", "field: Statement"))
    error = memory.error("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    assert error["details"]["rule"] == "fingerprint"
    memory.edit(PROPOSED, memory.read(PROPOSED).replace(proposed["fingerprint"], error["details"]["expected"]))
    assert memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)["success"]
    assert "Statement: x" in memory.read(DECISIONS)


def test_the_same_edit_is_proposed_once(memory: Memory, block: str) -> None:
    ops = [{"op": "set_status", "target": block, "status": "revoked"}]
    first = memory("propose_edit", ops=ops, rationale="Because")
    answer = memory.answer("propose_edit", ops=ops, rationale="Again")
    again = answer.envelope["result"]
    assert (again["written"], again["duplicate_of"], again["proposal_id"]) == (0, *[first["proposal_id"]] * 2)
    run_suggestions(memory.clew, answer, memory.session)
    memory("defer_proposal", proposal_id=first["proposal_id"], reason="Later", days=3)
    refused = memory.answer("propose_edit", ops=ops, rationale="Again").envelope["error"]
    assert refused["details"]["rule"] == "cooldown"


def test_a_proposal_written_by_hand_can_be_applied(memory: Memory, block: str) -> None:
    text = "\n".join(
        [
            "[P-20300101-001]",
            "ProposalId: P-20300101-001",
            "Type: edit",
            f"TargetBlock: {block}",
            "Risk: low",
            "Evidence: seen",
            "Rollback: by receipt",
            "Status: staged",
            "Ops:",
            "- op: replace_range",
            f"  target: {block}",
            "  range:",
            "    start: 'Rationale:",
            "    end: Supersedes",
            "  patch: |",
            "    Rationale: by hand",
            "",
        ]
    )
    memory.edit(PROPOSED, text.replace("'Rationale:", "Rationale:"))
    assert memory("approve_apply", proposal_id="P-20300101-001", dry_run=False)["success"]
    assert "Rationale: by hand\nSupersedes: none" in memory.read(DECISIONS)


def test_a_person_can_reject_by_editing_the_file(memory: Memory) -> None:
    proposed = memory.propose("Use MongoDB")
    path = PROPOSED_DECISIONS
    memory.edit(path, memory.read(path).replace("Status: staged", "Status: rejected\nReason: no joins"))
    memory.edit("intelligence/SIGNALS.md", memory.read("intelligence/SIGNALS.md") + "\nprose of mine\n")
    memory("list_proposals")
    assert "Status: rejected" in memory.read("intelligence/SIGNALS.md")
    memory.agree()
    error = memory.error("propose_update", block_type="decision", statement="use mongodb")
    assert "no joins" in error["message"]
    assert error["details"]["proposal_id"] == proposed["proposal_id"]


def test_a_rejection_by_hand_is_nobody_elses(memory: Memory) -> None:
    """Neither the refusal nor the news credit it to the agent whose call happened to read the file in."""
    reader, other = connected(memory.clew, "reader", "r"), connected(memory.clew, "other", "o")
    proposed = memory.propose("Use MongoDB")
    other("tasks_create", title="Tools")
    other("tasks_create", title="Choose a store", parent="PLAN-001")
    memory.edit(PROPOSED_DECISIONS, memory.read(PROPOSED_DECISIONS).replace("Status: staged", "Status: rejected"))
    reader("list_proposals")
    said = other.error("propose_update", block_type="decision", statement="use mongodb")["message"]
    assert said.endswith("Z: its file says so") and "reader" not in said
    news = other.answer("resume").text
    assert f"since you were here: a person rejected {proposed['proposal_id']}" in news


def test_superseding_links_both_blocks(memory: Memory, block: str) -> None:
    proposed = memory.propose("Use SQLite", supersedes=block)
    memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    with memory.context().reading() as ctx:
        old, new = blocks.get(ctx, block), blocks.get(ctx, proposed["block_id"])
    assert (old.status, old.get("SupersededBy")) == ("superseded", new.id)
    assert new.get("Supersedes") == block
    assert (
        memory.error("propose_update", block_type="decision", statement="x", supersedes="D-404")["code"] == "UNKNOWN_ID"
    )
