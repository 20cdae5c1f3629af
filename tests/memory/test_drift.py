"""Drift: found once, listed once, resolved when it is gone; and code that left its decision, with the diff."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from clew.memory import drift as drift_module
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"
TASKS = "tasks/TASKS.md"
INCIDENTS = "entities/incidents.md"
DRIFT = "intelligence/DRIFT.md"


def found(done: dict[str, Any], signal: str) -> list[dict[str, Any]]:
    return [item for item in done["findings"] if item["check"] == "drift" and item["signal"] == signal]


def task(id: str, **fields: str) -> str:
    lines = {"Title": id, "Status": "todo", **fields}
    return f"[{id}]\n" + "".join(f"{name}: {value}\n" for name, value in lines.items()) + "\n"


def decision(id: str, statement: str, status: str = "active", priority: str = "P1") -> str:
    return f"[{id}]\nStatus: {status}\nStatement: {statement}\nPriority: {priority}\n\n"


def test_a_decision_that_no_task_names_is_open_until_one_does(memory: Memory) -> None:
    memory.edit(
        DECISIONS,
        decision("D-one", "Use Redis") + decision("D-low", "Prefer tabs", priority="P3") + "[D-inv]\nStatus: active\n"
        "Statement: Encrypt backups\nPriority: P0\nConstraintSignatures:\n- id: CS-1\n  enforcement: invariant\n",
    )
    first = memory("scan")
    assert [item["block_id"] for item in found(first, "dead_decisions")] == ["D-one"]
    assert first["checks"]["drift_items"] == 1
    entry = found(first, "dead_decisions")[0]
    assert memory.read(DRIFT).split("\n")[entry["line"] - 1] == f"[{entry['drift_id']}]"
    memory.edit(TASKS, task("T-one", AlignsWith="D-one"))
    second = memory("scan")
    assert found(second, "dead_decisions") == []
    assert second["checks"]["drift_items"] == 0
    assert memory.read(DRIFT).count("[DREF-2") == 1
    memory.edit(TASKS, task("T-one", AlignsWith="D-one", Status="done"))
    third = memory("scan")
    assert [item["drift_id"] for item in found(third, "dead_decisions")] == [entry["drift_id"]]
    memory.agree()


def test_a_second_scan_adds_nothing(memory: Memory) -> None:
    memory.edit(DECISIONS, decision("D-one", "Use Redis"))
    memory.edit(TASKS, task("T-one", Status="blocked") + task("T-two"))
    first = memory("scan")
    assert first["checks"]["drift_items"] == 4
    files = memory.files()
    assert memory("scan") == first
    assert memory.files() == files


def test_tasks_stall_and_lose_the_decision_they_follow(memory: Memory) -> None:
    memory.edit(DECISIONS, decision("D-old", "Use Memcached", "superseded") + decision("D-new", "Use Redis"))
    memory.edit(TASKS, task("T-a", Status="blocked", Context="See D-new.") + task("T-b", AlignsWith="D-old"))
    done = memory("scan")
    assert [item["block_id"] for item in found(done, "stalled_tasks")] == ["T-a"]
    unaligned = found(done, "tasks_not_aligned")
    assert [(item["block_id"], item["severity"]) for item in unaligned] == [("T-b", "low")]
    assert "D-old" in unaligned[0]["message"]
    assert found(done, "dead_decisions") == []


def test_a_missing_cause_is_not_a_shared_cause(memory: Memory) -> None:
    blocks = {"INC-a": "Disk full", "INC-b": "The disk was full.", "INC-c": "", "INC-d": "unknown", "INC-e": "unknown"}
    memory.edit(INCIDENTS, "".join(f"[{id}]\nTitle: {id}\nRootCause: {cause}\n\n" for id, cause in blocks.items()))
    repeated = found(memory("scan"), "repeated_incidents")
    assert len(repeated) == 1
    assert repeated[0]["severity"] == "high"
    assert "INC-a, INC-b" in repeated[0]["message"]


def test_a_deferred_entry_stays_deferred(memory: Memory) -> None:
    memory.edit(TASKS, task("T-a", Status="blocked"))
    memory("scan")
    memory.edit(DRIFT, memory.read(DRIFT).replace("Status: open", "Status: deferred"))
    done = memory("scan")
    assert done["checks"]["drift_items"] == 0 and found(done, "stalled_tasks") == []
    assert "Status: deferred" in memory.read(DRIFT)
    memory.edit(TASKS, task("T-a", Status="done"))
    memory("scan")
    assert memory.read(DRIFT).count("Status: resolved") == 1


def test_what_a_person_wrote_into_the_file_stays(memory: Memory) -> None:
    mine = "[DREF-mine]\nStatus: open\nSummary: The team forgot the retro\n"
    memory.edit(DRIFT, mine)
    assert memory("scan")["checks"]["drift_items"] == 1
    assert mine in memory.read(DRIFT)


def test_long_lists_are_bounded_and_say_so(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_module, "MOST", 3)
    memory.edit(TASKS, "".join(task(f"T-{n}", Status="blocked") for n in range(2, 7)))
    first = memory("scan")
    assert first["checks"]["drift"]["stalled_tasks"] == 5
    assert "2 more of stalled_tasks" in found(first, "stalled_tasks")[-1]["message"]
    memory.edit(TASKS, memory.read(TASKS) + "\n" + task("T-1", Status="blocked"))
    listed = [item.get("block_id") for item in found(memory("scan"), "stalled_tasks")][:3]
    assert listed == ["T-2", "T-3", "T-4"]


CODE = "def ttl():\n\n    return 60\n# - end\n"


def cite(lines: str, path: str = "src/cache.py", span: str = "L1-L4") -> str:
    return f"code:{path}#{span}@sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


@pytest.fixture
def source(memory: Memory, tmp_path: Path) -> Path:
    file = tmp_path / "src" / "cache.py"
    file.parent.mkdir()
    file.write_text(CODE + "more = 1\n", encoding="utf-8")
    return file


def follow(memory: Memory, evidence: str) -> None:
    memory.edit(DECISIONS, f"[D-ttl]\nStatus: active\nStatement: Cache for a minute\nEvidence: {evidence}\n")


def test_a_change_under_a_citation_is_reported_with_its_diff(memory: Memory, source: Path) -> None:
    follow(memory, cite(CODE))
    assert found(memory("scan"), "code_changed") == []
    source.write_text(CODE.replace("60", "3600") + "more = 1\n", encoding="utf-8")
    changed = memory("scan")
    (item,) = found(changed, "code_changed")
    assert item["block_id"] == "D-ttl" and item["severity"] == "high"
    assert "-    return 60\n+    return 3600" in item["diff"]
    assert "return 3600" in memory.read(DRIFT)
    files = memory.files()
    assert memory("scan") == changed
    assert memory.files() == files
    memory.agree()
    source.write_text(CODE, encoding="utf-8")
    assert memory("scan")["checks"]["drift_items"] == 0


def test_lines_that_only_moved_are_no_drift(memory: Memory, source: Path) -> None:
    follow(memory, cite(CODE.rstrip("\n")))
    memory("scan")
    source.write_bytes(("import os\n\n" + CODE).replace("\n", "\r\n").encode())
    done = memory("scan")
    assert done["checks"]["drift_items"] == 0
    (item,) = [item for item in done["findings"] if item["check"] == "code_moved"]
    assert "now stands at L3-L6" in item["message"]


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (cite("never so\n"), "never seen here"),
        (cite(CODE, "src/gone.py"), "the file is gone"),
        (cite(CODE, "../outside.py"), "outside of the project"),
        (cite(CODE, "src"), "the file is gone"),
        (cite(CODE, span="L4-L1"), "first to last"),
    ],
)
def test_what_cannot_be_compared_says_why(memory: Memory, source: Path, evidence: str, said: str) -> None:
    (source.parent.parent.parent / "outside.py").write_text(CODE, encoding="utf-8")
    follow(memory, evidence)
    (item,) = found(memory("scan"), "code_changed")
    assert said in item["message"] and "diff" not in item


def test_secrets_in_cited_code_are_masked(memory: Memory, source: Path) -> None:
    secret = 'API_KEY = "hunter2hunter2"\n'
    source.write_text(secret, encoding="utf-8")
    follow(memory, cite(secret, span="L1"))
    memory("scan")
    source.write_text('API_KEY = "other9other9"\nX = 2\n', encoding="utf-8")
    assert len(found(memory("scan"), "code_changed")) == 1
    whole = b"".join(memory.files().values())
    assert b"hunter2" not in whole and b"other9" not in whole


def test_code_of_another_project_is_not_looked_at(memory: Memory, source: Path) -> None:
    memory("propose_update", block_type="decision", statement=f"Cache {cite('x')}", workspace="other")
    assert found(memory("scan", workspace="other"), "code_changed") == []
