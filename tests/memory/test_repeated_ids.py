"""Many blocks with one id: the work grows with the size of the file, and nobody else waits for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import orjson

from clew.memory.files.hand_edits import PORTION
from tests.memory.conftest import Memory

LONG = "decisions/LONG.md"


def repeats(count: int) -> str:
    """A block, and others with its id that differ."""
    return "".join(f"[D-1]\nStatus: active\nStatement: s{number}\n\n" for number in range(count))


def calls_during(work: Callable[[], object]) -> int:
    """How many functions Python calls: a count of work that no other process disturbs."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_the_work_grows_with_the_number_of_repeats(memory: Memory) -> None:
    memory("remember", text="Herons are counted in May", kind="lesson")
    counts = []
    for number, size in enumerate((400, 1600)):
        memory.edit(f"decisions/LONG{number}.md", repeats(size).replace("D-1", f"D-{number + 1}"))
        counts.append(calls_during(lambda: memory("list_proposals")))
    assert counts[1] < 6 * counts[0], "four times as many repeats"


def test_six_thousand_repeats_are_kept_as_text_and_named(memory: Memory) -> None:
    memory.edit(LONG, repeats(6_000))
    assert memory("index_stats", check_files=True)["file_disagreements"] == []
    assert memory("scan")["checks"]["duplicate_ids"] == 5_999
    assert memory.read(LONG) == repeats(6_000)
    memory.agree()
    memory.edit(LONG, memory.read(LONG).replace("[D-1]", "[D-2]", 1))
    memory("list_proposals")
    assert memory("block_history", block_id="D-2")["versions_total"] == 1
    assert "s1" in memory("open", id="D-1")["block"]["text"], "the next one is the block"
    memory.agree()


def portions(memory: Memory, path: str) -> list[int]:
    """How many blocks each transaction read in."""
    sql = "SELECT payload FROM event WHERE workspace = 'ws' AND type = 'memory_edited' AND subject = ? ORDER BY seq"
    with memory.context().reading() as ctx:
        return [orjson.loads(row["payload"])["count"] for row in ctx.tx.all(sql, path)]


def test_a_file_pasted_twice_is_read_in_portions(memory: Memory) -> None:
    """Also into a file that the store has already."""
    memory.decide("Use Redis")
    ids = [f"TOOL-{number:04d}" for number in range(2 * PORTION + 10)]
    text = "".join(f"[{id}]\nName: Tool {id}\n\n" for id in ids)
    path = "entities/tools.md"
    memory.edit(path, "[TOOL-first]\nName: First\n")
    memory("list_proposals")
    memory.edit(path, memory.read(path) + "\n" + text + text)
    memory("list_proposals")
    assert portions(memory, path) == [1, PORTION, PORTION, 10]
    assert memory("scan")["checks"]["duplicate_ids"] == len(ids)
    memory.agree()


def test_blocks_that_move_to_another_file_are_one_change(memory: Memory) -> None:
    memory.decide("Use Redis")
    count = PORTION + 10
    text = "".join(f"[TOOL-{number}]\nName: Tool {number}\n\n" for number in range(count))
    tools, others = "entities/tools.md", "entities/others.md"
    empty = "# Tools\n\n"
    memory.edit(tools, empty + text)
    memory("list_proposals")
    memory.edit(others, text)
    memory.edit(tools, empty)
    memory("list_proposals")
    assert portions(memory, others) == [count]
    assert memory("block_history", block_id="TOOL-0")["versions_total"] == 2
    memory.agree()
