"""`open` on ids of governed memory: the block as it stands in its file now, and every version behind it."""

from __future__ import annotations

from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"


def test_a_decision_opens_with_its_place_and_its_history(memory: Memory) -> None:
    block, ts = memory.decide("Use Redis for sessions", rationale="It is fast", tags="cache")
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("Use Redis", "Use Valkey"))
    opened = memory("open", id=block)
    assert (opened["kind"], opened["id"], opened["status"]) == ("block", block, "active")
    assert opened["summary"] == "Use Valkey for sessions", "a hand edit is read in before it is shown"
    assert opened["block"]["fields"]["Rationale"] == "It is fast"
    assert memory.read(DECISIONS).split("\n")[opened["block"]["line"] - 1] == f"[{block}]"
    assert [version["origin"] for version in opened["history"]] == ["edit", "apply"]
    assert "+Statement: Use Valkey for sessions" in opened["history"][0]["diff"]
    proposal = memory("open", id=opened["history"][1]["cause"])
    assert (proposal["block"]["type"], proposal["receipt_ts"]) == ("proposal", ts)
    assert memory("open", id=f"AR-{ts}")["block"]["type"] == "receipt"
    assert memory("open", id=f"ws:{block}", verbosity="compact")["summary"] == "Use Valkey for sessions"


def test_a_removed_block_still_shows_what_it_was(memory: Memory) -> None:
    block, ts = memory.decide("Use Redis")
    memory("rollback_proposal", receipt_ts=ts)
    opened = memory("open", id=block)
    assert (opened["status"], opened["block"]["line"]) == ("removed", None)
    assert "Use Redis" in opened["block"]["text"]
    assert [version["status"] for version in opened["history"]] == ["removed", "active"]


def test_long_histories_are_bounded_and_say_so(memory: Memory) -> None:
    block, _ = memory.decide("Use component 0")
    for number in range(4):
        memory.edit(DECISIONS, memory.read(DECISIONS).replace(f"component {number}", f"component {number + 1}"))
        memory("list_proposals")
    opened = memory("open", id=block, limit=2)
    assert (opened["versions"], len(opened["history"]), opened["truncated"]) == (5, 2, True)
    assert opened["history"][-1]["diff"], "the oldest one shown says what it changed too"
    assert memory("open", id=block, max_chars=600)["budget"]["truncated"]


def test_an_id_that_no_block_has_is_unknown(memory: Memory) -> None:
    assert memory.answer("open", id="D-20200101-999").envelope["error"]["code"] == "UNKNOWN_ID"
