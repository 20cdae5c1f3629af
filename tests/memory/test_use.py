"""Use: what was shown counts, evolution and similarity rest on it, prefetch ranks all signals together."""

from __future__ import annotations

import pytest

from tests.conftest import TickingClock
from tests.memory.conftest import Memory

DAY_MS = 86_400_000


def test_importance_follows_the_formula(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis for sessions")
    assert memory("memory_evolution", block_id=block)["importance"] == 0.87
    memory("recall", query="Redis")
    assert memory("memory_evolution", block_id=block)["importance"] == 1.037
    memory("recall", query="Redis")
    used = memory("memory_evolution", block_id=block, action="update")
    assert used["action"] == "updated" and used["accesses"] == 2 and used["importance"] == 1.0938


def test_importance_fades_with_time(memory: Memory, clock: TickingClock) -> None:
    block, _ = memory.decide("Use Redis for sessions")
    memory("recall", query="Redis")
    memory("memory_evolution", block_id=block)
    clock.now_ms += 60 * DAY_MS
    assert memory("memory_evolution", block_id=block)["importance"] == pytest.approx(0.916, abs=0.002)


def test_co_occurrence_is_ordered_by_frequency(memory: Memory) -> None:
    cache, _ = memory.decide("Redis caches sessions")
    often, _ = memory.decide("Redis caches pages of the shop")
    once, _ = memory.decide("Redis needs a password rotation")
    memory("recall", query="Redis")
    for _ in range(2):
        memory("recall", query="caches", limit=2)
    found = memory("memory_evolution", block_id=cache)
    assert found["co_occurring_blocks"] == [often, once]
    assert found["co_occurrences"] == {often: 3, once: 1}
    similar = memory("find_similar", block_id=cache)
    assert similar["similar"][0] == often and "co-occurrence" in similar["method"]


def test_an_unknown_block_is_an_error(memory: Memory) -> None:
    error = memory.error("memory_evolution", block_id="D-20990101-001")
    assert error["code"] == "UNKNOWN_ID" and error["details"]["block_id"] == "D-20990101-001"
    assert memory.error("memory_evolution", block_id="D-20990101-001", action="grow")["code"] == "INVALID_INPUT"
    error = memory.error("find_similar", block_id="D-20990101-001")
    assert error["code"] == "UNKNOWN_ID" and error["details"]["block_id"] == "D-20990101-001"


def test_a_hand_written_block_is_known_at_once(memory: Memory) -> None:
    memory.edit("decisions/DECISIONS.md", "[D-hand]\nStatus: active\nStatement: Use Redis\n")
    assert memory("memory_evolution", block_id="D-hand")["co_occurring_blocks"] == []
    memory.edit("decisions/DECISIONS.md", "[D-other]\nStatus: active\nStatement: Use Valkey\n")
    assert memory("find_similar", block_id="D-other")["source"] == "D-other"


def test_prefetch_ranks_all_signals_together(memory: Memory) -> None:
    for n in range(6):
        memory.decide(f"Redis note number {n} about eviction")
    both, _ = memory.decide("Invoices are cached in Redis")
    invoices, _ = memory.decide("Invoices are sent on Mondays")
    found = memory("prefetch", signals="Redis, invoices", limit=3)["results"]
    ids = [hit["_id"] for hit in found]
    assert ids[0] == both and invoices in ids
    assert found[0]["signals"] == ["Redis", "invoices"]
    assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)
    again = memory("prefetch", signals=["invoices", "Redis", " "], limit=3)["results"]
    assert [hit["_id"] for hit in again] == ids


def test_prefetch_counts_as_use(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis for sessions")
    memory("prefetch", signals="Redis, sessions")
    assert memory("memory_evolution", block_id=block)["accesses"] == 1


def test_prefetch_bounds(memory: Memory) -> None:
    for n in range(25):
        memory.decide(f"Redis rule {n} says {'abcdefghijklmnopqrstuvwxyz'[n] * 4}")
    assert len(memory("prefetch", signals="Redis", limit=99)["results"]) <= 20
    assert len(memory("prefetch", signals="Redis", limit=-1)["results"]) == 1
    assert (
        memory.error("prefetch", signals=" , ")["message"] == "No signals provided. Pass comma-separated keywords."
    ), "as the seed has it"
    assert memory("prefetch", signals="zebra")["results"] == []
    late = ", ".join([*(f"word{n}" for n in range(20)), "Redis"])
    assert memory("prefetch", signals=late)["results"], "the twenty-first signal counts too"
    answer = memory.answer("prefetch", signals=",".join(f"word{n}" for n in range(130)))
    assert [warning["code"] for warning in answer.envelope["warnings"]] == ["SIGNALS_LEFT_OUT"]


def test_the_recall_resource_and_its_completions(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis/Valkey for 100% of sessions")
    memory.decide("Paint the shed")
    dispatcher = memory.clew.dispatcher
    for uri in ("mind-mem://recall/redis/valkey", "mind-mem://recall/redis%2Fvalkey"):
        assert block in dispatcher.read_resource(uri, memory.session).text

    def complete(value: str) -> list[str]:
        return dispatcher.complete("resource", "mind-mem://recall/{query}", "query", value, memory.session)

    assert complete("use r") == ["Use Redis/Valkey for 100% of sessions"]
    assert block in complete(block[:6])
    assert complete("%") == []
