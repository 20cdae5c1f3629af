"""Places and files: exact lines after many changes, and saves in the moment of rendering."""

from __future__ import annotations

import random
from pathlib import Path

from clew.memory import blocks
from clew.memory.files import places
from clew.memory.files.directory import Directory
from clew.memory.files.file_state import known
from clew.memory.files.markdown import parse_file, print_block, set_field
from clew.memory.files.sync import publish
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"


def check(memory: Memory) -> None:
    memory.agree()
    lines = memory.read(DECISIONS).split("\n")
    with memory.context().reading() as ctx:
        for id, (_, line) in blocks.locate(ctx, [block.id for block in blocks.current(ctx, prefix="D")]).items():
            assert lines[line - 1] == f"[{id}]"


def test_hundreds_of_changes_in_the_middle_keep_every_line_exact(memory: Memory) -> None:
    chance = random.Random(1)
    memory.propose("The tree is laid out")
    ids = [f"D-20260101-{number:03d}" for number in range(40)]
    with memory.context().writing() as ctx:
        for id in ids:
            blocks.write(ctx, id, print_block(id, {"Status": "active", "Statement": id}), origin="test")
    publish(memory.context())
    check(memory)
    for _ in range(3):
        with memory.context().writing() as ctx:
            for _ in range(150):
                block = blocks.get(ctx, chance.choice(ids))
                said = "\n".join(["é"] * chance.randint(1, 4))
                blocks.write(ctx, block.id, set_field(block.text, "Statement", said), origin="test")
        publish(memory.context())
        check(memory)


def test_blocks_behind_one_block_are_in_order(memory: Memory) -> None:
    memory.propose("The tree is laid out")
    with memory.context().writing() as ctx:
        for id in ("D-1", "D-2"):
            blocks.write(ctx, id, print_block(id, {"Statement": id}), origin="test")
        for number in range(40):  # each behind the first one
            id = f"D-in-{number}"
            blocks.write(ctx, id, print_block(id, {"Statement": id}), origin="test", after="D-1")
        order = [place.id for place in places.in_file(ctx, DECISIONS)]
    assert order == ["D-1", *(f"D-in-{number}" for number in reversed(range(40))), "D-2"]
    publish(memory.context())
    check(memory)


def test_removing_a_block_keeps_the_prose_behind_it(memory: Memory) -> None:
    memory.edit(
        DECISIONS,
        "# T\n\n[D-1]\nStatement: a\n\n---\n\nprose to keep\n\n[D-2]\nStatement: b\n\n---\n\n[D-3]\nStatement: c\n",
    )
    memory("list_proposals")
    with memory.context().writing() as ctx:
        blocks.remove(ctx, "D-1", origin="test")
        blocks.remove(ctx, "D-2", origin="test")
    publish(memory.context())
    assert memory.read(DECISIONS) == "# T\n\n\n\n---\n\nprose to keep\n\n[D-3]\nStatement: c\n"
    check(memory)


def test_a_save_in_the_moment_of_rendering_is_handed_back(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    with directory.locked():
        before = known(directory.write("decisions/D.md", b"one", None).stamp, 0, b"one")
        (tmp_path / "decisions/D.md").write_bytes(b"one, edited")
        (late,) = directory.write("decisions/D.md", b"two", before).late
    assert (late.data, late.base) == (b"one, edited", before)
    assert (tmp_path / "decisions/D.md").read_bytes() == b"two"


def test_a_store_that_disagrees_with_itself_is_mended_by_a_scan(memory: Memory) -> None:
    """As the first version could leave it: a wrong line, a block without a place, a place without a block."""
    first, _ = memory.decide("Use Redis")
    second, _ = memory.decide("Use Kafka")
    third, _ = memory.decide("Use NATS")
    with memory.context().writing() as ctx:
        ctx.tx.run("UPDATE place SET at_line = at_line + 86 WHERE workspace = 'ws' AND id = ?", first)
        ctx.tx.run("DELETE FROM place WHERE workspace = 'ws' AND id = ?", second)
        ctx.tx.run("UPDATE place SET id = 'D-stray' WHERE workspace = 'ws' AND id = ?", third)
    found = [item for item in memory("scan")["findings"] if item["check"] == "mended"]
    assert {item["file"] for item in found} == {DECISIONS}
    check(memory)
    assert [part.id for part in parse_file(memory.read(DECISIONS)).parts] == [first, second, third]
    assert not [item for item in memory("scan")["findings"] if item["check"] == "mended"]
    memory.decide("Use Pulsar")
    check(memory)
