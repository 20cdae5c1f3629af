"""What a power cut leaves: files that were not flushed come back as NULs. No save is lost, and files are repaired."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.memory.governance.policy import STATE_FILE
from tests.memory.conftest import Memory
from tests.memory.test_saves import DECISIONS, add, hold


def own_files(memory: Memory) -> list[Path]:
    """Files of `.clew` that are not flushed when they are written."""
    return [path for path in (memory.root / ".clew").rglob("*") if path.is_file() and path.name != "lock"]


def fill_with_nuls(path: Path, start: int = 0, end: int | None = None) -> None:
    data = path.read_bytes()
    end = len(data) if end is None else end
    path.write_bytes(data[:start] + b"\x00" * (end - start) + data[end:])


def warnings(memory: Memory) -> list[dict[str, str]]:
    return list(memory.answer("list_proposals").envelope["warnings"])


def test_no_unflushed_file_of_ours_reaches_a_memory_file(memory: Memory) -> None:
    memory.decide("Use Redis")
    for path in own_files(memory):
        fill_with_nuls(path)
    id, _ = memory.decide("Use Kafka")
    assert id in memory.read(DECISIONS)
    assert "\x00" not in memory.read(DECISIONS)
    hold(memory)


def test_copies_that_an_earlier_version_kept_are_removed(memory: Memory) -> None:
    memory.decide("Use Redis")
    copies = memory.root / ".clew/base/decisions"
    copies.mkdir(parents=True)
    (copies / "DECISIONS.md").write_bytes(b"\x00" * 4000)
    memory.decide("Use Kafka")
    assert not copies.parent.exists()
    hold(memory)


@pytest.mark.parametrize("where", ["start", "middle", "end", "all"])
@pytest.mark.parametrize("state", ["kept", "damaged"])
def test_a_damaged_file_is_repaired_and_what_was_saved_into_it_is_kept(memory: Memory, where: str, state: str) -> None:
    ids = [memory.decide(statement)[0] for statement in ("Use Redis", "Use Kafka", "Use NATS")]
    path = memory.root / DECISIONS
    whole = path.read_text()
    cuts = {
        "start": (0, whole.index("Use Redis")),
        "middle": (whole.index("Use Redis"), whole.index("Use NATS") - 200),
        "end": (whole.index("Use NATS"), len(whole)),
        "all": (0, len(whole)),
    }
    fill_with_nuls(path, *cuts[where])
    path.write_text(add(path.read_text(), "D-20270101-001", "Saved since"))
    damaged = path.read_bytes()
    if state == "damaged":
        fill_with_nuls(memory.root / ".clew/state.json")
    (warning,) = warnings(memory)
    assert warning["code"] == "FILE_REPAIRED"
    assert Path(warning["message"].rpartition(" in ")[2]).read_bytes() == damaged
    assert memory.read(DECISIONS).startswith(whole.rstrip())
    assert "Saved since" in memory.read(DECISIONS)
    hold(memory)
    listed = {block["block_id"] for block in memory("list_blocks", kind="decision")["blocks"]}
    assert listed == {*ids, "D-20270101-001"}
    assert warnings(memory) == []


def test_an_edit_beside_the_damage_counts(memory: Memory) -> None:
    memory.decide("Use Redis")
    memory.decide("Use Kafka")
    path = memory.root / DECISIONS
    path.write_text(path.read_text().replace("Use Redis", "Use Valkey"))
    text = path.read_text()
    fill_with_nuls(path, text.index("Use Kafka"), len(text))
    memory("list_proposals")
    assert "Use Valkey" in memory.read(DECISIONS)
    assert "Use Kafka" in memory.read(DECISIONS)
    hold(memory)


def test_a_damaged_settings_file_is_written_again(memory: Memory) -> None:
    memory("governance", per_day=9)
    before = memory.read(STATE_FILE)
    fill_with_nuls(memory.root / STATE_FILE)
    assert [item["code"] for item in warnings(memory)] == ["FILE_REPAIRED"]
    assert memory.read(STATE_FILE) == before


def test_scan_names_what_was_kept_until_it_is_removed(memory: Memory) -> None:
    memory.decide("Use Redis")
    fill_with_nuls(memory.root / DECISIONS, 10, 60)
    memory("list_proposals")
    (found,) = [item for item in memory("scan")["findings"] if item["check"] == "kept_copy"]
    place = memory.root / found["file"]
    assert b"\x00" in place.read_bytes()
    place.unlink()
    assert not [item for item in memory("scan")["findings"] if item["check"] == "kept_copy"]
