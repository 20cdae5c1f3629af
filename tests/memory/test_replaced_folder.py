"""Another folder in the place of the known one: a backup, a clone, a new one. Its files count; history stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"


def put_back(memory: Memory, backup: Path) -> None:
    shutil.rmtree(memory.root)
    shutil.copytree(backup, memory.root, ignore=shutil.ignore_patterns(".clew"))


def codes(memory: Memory) -> list[str]:
    return [item["code"] for item in memory.answer("list_proposals").envelope["warnings"]]


def status(memory: Memory, id: str) -> str:
    return str(memory("open", id=id)["block"]["fields"]["Status"])


def origins(memory: Memory, id: str) -> list[str]:
    return [version["origin"] for version in memory("block_history", block_id=id)["versions"]]


@pytest.fixture
def backup(memory: Memory, tmp_path: Path) -> Path:
    memory("remember", text="Herons are counted in May", kind="lesson")
    memory.decide("Herons fish at dawn")
    memory("governance", per_day=5)
    shutil.copytree(memory.root, tmp_path / "backup")
    return tmp_path / "backup"


def revoked(memory: Memory) -> str:
    ops = [{"op": "set_status", "target": "D-20231114-001", "status": "revoked"}]
    made = memory("propose_edit", ops=ops, rationale="no longer so")["proposal_id"]
    return str(memory("approve_apply", proposal_id=made, dry_run=False)["receipt_ts"])


def test_a_backup_that_is_put_back_counts(memory: Memory, backup: Path) -> None:
    ts = revoked(memory)
    late, _ = memory.decide("Otters sleep in rivers")
    memory("governance", per_day=9)
    put_back(memory, backup)
    before = memory.files()
    assert codes(memory) == ["FOLDER_REPLACED"]
    after = memory.files()
    assert {path: after[path] for path in before} == before, "a look changes nothing of it"
    assert status(memory, "D-20231114-001") == "active"
    assert memory("governance")["proposal_budget"]["per_day"] == 5
    assert origins(memory, "D-20231114-001") == ["edit", "apply", "apply"]
    assert origins(memory, late) == ["edit", "apply"], "what was acknowledged stays in history"
    assert memory.error("rollback_proposal", receipt_ts=ts)["details"]["rule"] == "later_change"
    assert codes(memory) == []
    again, _ = memory.decide("Otters sleep on land")
    assert again != late
    memory.agree()


def test_a_folder_that_only_lost_its_mark_goes_on(memory: Memory, backup: Path) -> None:
    shutil.rmtree(memory.root / ".clew")
    before = memory.files()
    assert codes(memory) == []
    assert memory.files() == before
    assert origins(memory, "D-20231114-001") == ["apply"]
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("at dawn", "at dusk"))
    assert origins(memory, "D-20231114-001") == ["edit", "apply"]


def test_what_is_missing_from_it_is_written_again(memory: Memory, backup: Path) -> None:
    (backup / "knowledge/LESSONS.md").unlink()
    put_back(memory, backup)
    assert codes(memory) == []
    assert "Herons are counted in May" in memory.read("knowledge/LESSONS.md")
    shutil.rmtree(memory.root)
    memory.root.mkdir()
    assert codes(memory) == []
    assert "Herons fish at dawn" in memory.read(DECISIONS)


@pytest.mark.parametrize("text", [b"", b"{", b"[]"])
def test_a_state_that_cannot_be_read_is_no_other_folder(memory: Memory, backup: Path, text: bytes) -> None:
    """A power cut may leave it so, with files that are behind the store."""
    behind = memory.read(DECISIONS)
    revoked(memory)
    memory.edit(DECISIONS, behind)
    (memory.root / ".clew/state.json").write_bytes(text)
    assert codes(memory) == []
    assert status(memory, "D-20231114-001") == "revoked"
    memory.agree()


def test_a_store_that_never_wrote_into_the_folder_is_not_undone_by_it(
    memory: Memory, backup: Path, make_clew: Callable[..., Clew]
) -> None:
    """Another machine's clone of the files: blocks that were left alone keep the newer text."""
    revoked(memory)
    shutil.rmtree(backup / ".clew")
    clone = Memory(make_clew(memory_dir=backup), backup)
    assert codes(clone) == []
    assert status(clone, "D-20231114-001") == "revoked"
    clone.agree()


def test_each_of_two_stores_follows_the_folder(
    memory: Memory, backup: Path, make_clew: Callable[..., Clew], tmp_path: Path
) -> None:
    flags: dict[str, Any] = {"home": tmp_path / "other", "database_url": ""}
    other = Memory(make_clew(**flags, memory_dir=memory.root), memory.root)
    assert status(other, "D-20231114-001") == "active"
    revoked(memory)
    assert status(other, "D-20231114-001") == "revoked"
    put_back(memory, backup)
    for store in (memory, other, memory, other):
        assert status(store, "D-20231114-001") == "active"
