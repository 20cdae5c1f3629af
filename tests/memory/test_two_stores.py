"""One folder in the hands of two stores: what one of them did, the other goes on from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.app import Clew
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"


@pytest.fixture
def other(make_clew: Callable[..., Clew], memory: Memory, tmp_path: Path) -> Memory:
    """Another data directory that opens the same folder."""
    return Memory(make_clew(home=tmp_path / "other", database_url="", memory_dir=memory.root), memory.root)


def test_what_another_store_rolled_back_stays_rolled_back(memory: Memory, other: Memory) -> None:
    id, added = memory.decide("Otters sleep in rivers")
    kept, _ = memory.decide("Herons fish at dawn")
    ops = [{"op": "set_status", "target": kept, "status": "revoked"}]
    made = memory("propose_edit", ops=ops, rationale="no longer so")["proposal_id"]
    changed = memory("approve_apply", proposal_id=made, dry_run=False)["receipt_ts"]
    for ts in (changed, added):
        assert other("rollback_proposal", receipt_ts=ts)["status"] == "rolled_back"
    text = other.read(DECISIONS)
    for store in (memory, other, memory):
        assert id not in str(store("list_blocks", kind="decision"))
        assert store("open", id=kept)["block"]["fields"]["Status"] == "active"
        assert store.read(DECISIONS) == text
    assert memory.error("rollback_proposal", receipt_ts=added)["code"] == "CONFLICT"
    assert {item["status"] for item in memory("list_proposals")["proposals"]} == {"applied", "rolled_back"}
    assert [version["origin"] for version in memory("block_history", block_id=id)["versions"]] == ["edit", "apply"]


def test_a_record_that_another_store_rolled_back_goes_back_to_where_it_waited(memory: Memory, other: Memory) -> None:
    memory("remember", text="Nightly builds are signed", kind="decision")
    opposed = memory("remember", text="Nightly builds are not signed", kind="decision")
    assert opposed["state"] == "proposed"
    done = memory("approve_apply", proposal_id=opposed["proposal"], dry_run=False)
    assert other("rollback_proposal", receipt_ts=done["receipt_ts"])["status"] == "rolled_back"
    before = other.files()
    for store in (memory, other):
        assert store("open", id=opposed["id"])["block"]["fields"]["Status"] == "proposed"
    assert {path: other.read(path) for path in before if path.startswith(("decisions", "knowledge"))} == {
        path: data.decode() for path, data in before.items() if path.startswith(("decisions", "knowledge"))
    }
