"""Memory in one file: out of one workspace, into another, nothing lost and nothing rejected brought back."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.memory.conftest import Memory


@pytest.fixture
def packed(memory: Memory) -> Path:
    memory.session.local = memory.person.local = True
    return memory.root.parent / "memory.tar.gz"


def elsewhere(memory: Memory, name: str) -> Memory:
    """The same Clew, looking at another workspace."""
    other = Memory(memory.clew, memory.root)
    other.session.local = other.person.local = True
    other.session.workspace_override = other.person.workspace_override = name
    return other


def test_a_copy_says_the_same_and_twice_adds_nothing(memory: Memory, packed: Path) -> None:
    block, _ = memory.decide("Use Redis\nfor sessions", tags="cache")
    task = memory("propose_update", block_type="task", statement="Rotate the keys")
    refused = memory.propose("Use Mongo")
    memory("reject_proposal", proposal_id=refused["proposal_id"], reason="Too loose")
    memory("export_memory", path=str(packed))
    first = packed.read_bytes()
    memory("export_memory", path=str(packed))
    assert packed.read_bytes() == first, "the same memory gives the same bytes"
    other = elsewhere(memory, "other")
    assert other("import_memory", path=str(packed), dry_run=True)["added"] > 0
    assert other("recall", query="redis")["results"] == []
    done = other("import_memory", path=str(packed))
    assert (done["conflicts"], done["rejected"]) == (0, 0)
    assert other("recall", query="redis")["results"][0]["_id"] == block
    assert other("approve_apply", proposal_id=task["proposal_id"], dry_run=False)["success"]
    error = other.error("propose_update", block_type="decision", statement="use mongo")
    assert error["details"]["rule"] == "rejected_value"
    assert other("import_memory", path=str(packed))["added"] == 0


def test_what_is_there_stays_unless_forced_and_what_was_rejected_stays_away(memory: Memory, packed: Path) -> None:
    block, _ = memory.decide("Use Redis")
    memory.decide("Use Mongo")
    memory("export_memory", path=str(packed))
    other = elsewhere(memory, "other")
    mine = other.propose("Use Mongo")
    other("reject_proposal", proposal_id=mine["proposal_id"], reason="No")
    done = other("import_memory", path=str(packed))
    assert "rejected" in {item["why"] for item in done["skipped"]}
    memory.edit("decisions/DECISIONS.md", memory.read("decisions/DECISIONS.md").replace("Use Redis", "Use Valkey"))
    assert block in {item["block_id"] for item in memory("import_memory", path=str(packed))["skipped"]}
    assert memory("open", id=block)["summary"] == "Use Valkey"
    for force in (False, True):
        refused_call = memory.clew.dispatcher.call(
            "import_memory", {"path": str(packed), "force": force}, memory.session
        )
        assert refused_call.envelope["error"]["details"]["rule"] == "person"
    memory("import_memory", path=str(packed), force=True)
    assert memory("open", id=block)["summary"] == "Use Redis"
    memory.agree()


@pytest.mark.parametrize("name", ["../decisions/x.md", "/etc/x.md", "decisions/link.md"])
def test_archives_that_reach_out_are_refused(memory: Memory, packed: Path, name: str) -> None:
    with tarfile.open(packed, "w:gz") as tar:
        entry = tarfile.TarInfo(name)
        if "link" in name:
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(entry, io.BytesIO())
    assert memory.error("import_memory", path=str(packed))["code"] == "INVALID_INPUT"
    packed.write_bytes(b"no archive")
    assert memory.error("import_memory", path=str(packed))["code"] == "IO_ERROR"


def test_an_agent_reaches_only_the_exports_of_the_data_directory(memory: Memory) -> None:
    memory.decide("Use Redis")
    assert memory("export_memory", path="copy.tar.gz")["path"].endswith("exports/ws/copy.tar.gz")
    assert not memory.answer("export_memory", path="/tmp/copy.tar.gz").ok
    assert not memory.answer("export_memory", path="../copy.tar.gz").ok
