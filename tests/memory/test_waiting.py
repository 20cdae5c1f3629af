"""Reads of memory while somebody else writes: answered from the store, and said so."""

from __future__ import annotations

import threading
from collections.abc import Callable

from clew.locks import FileLock
from tests.memory.conftest import Memory
from tests.waiting import PATIENCE

DECISIONS = "decisions/DECISIONS.md"


def while_another_writes(other: Memory, look: Callable[[], None]) -> None:
    """Look while another process, here a store of its own, holds the lock of writers."""
    held, done = threading.Event(), threading.Event()

    def write() -> None:
        with other.context().writing():
            held.set()
            assert done.wait(PATIENCE)

    writer = threading.Thread(target=write)
    writer.start()
    assert held.wait(PATIENCE)
    try:
        look()
    finally:
        done.set()
        writer.join()


def test_a_read_does_not_wait_for_a_hand_edit_to_be_taken_in(memory: Memory, make_memory: Callable[[], Memory]) -> None:
    block, _ = memory.decide("Use Redis")
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("Use Redis", "Use Valkey"))

    def look() -> None:
        for name, arguments in (("recall", {"query": "Redis"}), ("resume", {}), ("list_blocks", {})):
            answer = memory.answer(name, **arguments)
            assert answer.ok, answer.envelope
            assert [item["code"] for item in answer.envelope["warnings"]] == ["FILES_BEHIND"]
        assert memory("open", id=block)["block"]["fields"]["Statement"] == "Use Redis"

    while_another_writes(make_memory(), look)
    assert memory("open", id=block)["block"]["fields"]["Statement"] == "Use Valkey"
    memory.agree()


def test_a_read_does_not_wait_for_the_lock_of_the_folder(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis")
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("Use Redis", "Use Valkey"))
    lock = FileLock(memory.root / ".clew/lock")
    assert lock.take(PATIENCE)
    try:
        answer = memory.answer("open", id=block)
    finally:
        lock.release()
    assert answer.envelope["result"]["block"]["fields"]["Statement"] == "Use Redis"
    assert [item["code"] for item in answer.envelope["warnings"]] == ["FILES_BEHIND"]
    assert memory("open", id=block)["block"]["fields"]["Statement"] == "Use Valkey"
