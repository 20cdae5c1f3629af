"""The shared ledger: facts wait for review and spread only through it."""

from __future__ import annotations

from clew.index.item_reads import matching
from tests.memory.conftest import Memory

LEDGER = "shared/intelligence/LEDGER.md"


def ledger(memory: Memory) -> str:
    return memory.clew.dispatcher.read_resource("mind-mem://ledger", memory.session).text


def found(memory: Memory, word: str) -> list[str]:
    with memory.clew.database.read() as tx:
        return [row["ref"] for row in matching(tx, "ws", [word], 10, ("block",))]


def test_a_fact_waits_until_it_is_reviewed(memory: Memory) -> None:
    assert ledger(memory) == f"File not found: {LEDGER}"
    fact = memory("share_fact", text="The kestrel build needs Node 22")
    assert fact["status"] == "pending-review"
    assert "Status: pending-review" in memory.read(LEDGER)
    assert found(memory, "kestrel") == []
    memory("review_fact", fact_id=fact["fact_id"], verdict="accepted", reason="Seen in CI")
    assert found(memory, "kestrel") == [fact["fact_id"]]
    assert "Status: accepted" in ledger(memory)
    assert memory.error("review_fact", fact_id=fact["fact_id"], verdict="rejected")["code"] == "CONFLICT"
    memory.agree()


def test_facts_of_one_second_are_distinct_and_the_same_fact_is_one(memory: Memory) -> None:
    ids = {memory("share_fact", text=f"Fact number {number}")["fact_id"] for number in range(3)}
    assert len(ids) == 3
    again = memory("share_fact", text="fact NUMBER 1!")
    assert again["written"] == 0
    assert again["duplicate_of"] in ids
    assert memory("list_facts", limit=2)["total"] == 3
