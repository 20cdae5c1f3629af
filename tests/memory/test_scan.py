"""Scan: counts what is there, finds what a person should see, and a second run adds nothing."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"


def test_counts_are_the_seeds_and_true(memory: Memory) -> None:
    memory.decide("Use Redis")
    memory.decide("Deploy every Friday")
    waiting = memory.propose("Paint the shed", block_type="task")
    rejected = memory.propose("Paint the fence", block_type="task")
    memory("reject_proposal", proposal_id=rejected["proposal_id"], reason="No fence")
    done = memory("scan")
    assert done["workspace"] == str(memory.root)
    assert done["checks"]["decisions"] == {"total": 2, "active": 2}
    assert done["checks"]["pending_signals"] == 1
    assert waiting["signal_id"] in memory.read("intelligence/SIGNALS.md")
    health = orjson.loads(memory.clew.dispatcher.read_resource("mind-mem://health", memory.session).text)
    assert health["files"]["signals"] == {"total": 4, "active": 1}
    assert health["metrics"]["last_scan"]


def test_a_second_scan_adds_nothing(memory: Memory) -> None:
    memory.decide("Use Redis")
    first = memory("scan")
    before = memory.files()
    events = memory.clew.database
    with events.read() as tx:
        count = tx.value("SELECT count(*) FROM event")
    assert memory("scan") == first
    assert memory.files() == before
    with events.read() as tx:
        assert tx.value("SELECT count(*) FROM event") == count


def test_overdue_reviews_are_listed_with_their_place(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis", review_by="2023-01-31")
    memory.decide("Use Kafka", review_by="2099-01-31")
    found = [item for item in memory("scan")["findings"] if item["check"] == "review_overdue"]
    assert [(item["block_id"], item["file"]) for item in found] == [(block, DECISIONS)]
    assert memory.read(DECISIONS).split("\n")[found[0]["line"] - 1] == f"[{block}]"
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("\nStatus: active", "\nStatus: revoked", 1))
    assert memory("scan")["checks"]["overdue_reviews"] == 0


def test_a_rejected_value_written_by_hand_is_shown(memory: Memory) -> None:
    proposed = memory.propose("Use MongoDB")
    memory("reject_proposal", proposal_id=proposed["proposal_id"], reason="No")
    memory.edit(DECISIONS, "[D-hand]\nStatus: active\nStatement: use MongoDB!\n")
    found = [item for item in memory("scan")["findings"] if item["check"] == "rejected_value"]
    assert [item["block_id"] for item in found] == ["D-hand"]


def test_a_broken_state_file_fails_closed_and_says_so(memory: Memory) -> None:
    proposed = memory.propose("Use Redis")
    memory.edit("memory/intel-state.json", '{"governance_mode": "yolo"}')
    assert (
        "governance_mode"
        in memory.error("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)["message"]
    )
    assert "state" in {item["check"] for item in memory("scan")["findings"]}
    memory.edit("memory/intel-state.json", '{"governance_mode": "propose"}')
    assert memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)["success"]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_team_can_do_without_files(make_clew: Callable[..., Clew], engine: str) -> None:
    call = Caller(make_clew())
    proposed = call("propose_update", block_type="decision", statement="Use Redis")
    applied = call("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    text = call.clew.dispatcher.read_resource("mind-mem://decisions", call.session).text
    assert orjson.loads(text)[0]["_id"] == proposed["block_id"]
    assert "[SIG-" in call.clew.dispatcher.read_resource("mind-mem://signals", call.session).text
    assert call("scan")["workspace"] == "ws"
    call("rollback_proposal", receipt_ts=applied["receipt_ts"])
    assert orjson.loads(call.clew.dispatcher.read_resource("mind-mem://decisions", call.session).text) == []
    assert call("get_mind_kernel", name="recall")["path"] == "mind/recall.mind"
    assert not (call.clew.settings.home / "workspaces").exists()
