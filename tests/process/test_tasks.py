"""Several processes on one task: no change is lost or doubled, and of a race there is one winner."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, Caller

PROCESSES, NOTES = 4, 25
STEPS = [{"title": name, "success_criteria": ["it holds"]} for name in ("One", "Two")]


def worker(flags: dict[str, Any], agent: str) -> subprocess.Popen[str]:
    home, url = str(flags["home"]), flags.get("database_url") or ""
    command = [sys.executable, "-m", "tests.process.task_worker", home, url, agent, str(NOTES)]
    return subprocess.Popen(command, cwd=Path(ROOT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_share_a_task(call: Caller, database_flags: dict[str, Any]) -> None:
    call("tasks_bootstrap", plan_title="P", task_title="T", steps=STEPS)
    workers = [worker(database_flags, f"agent{number}") for number in range(PROCESSES)]
    for process in workers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outcomes = [json.loads(line) for process in workers for line in process.communicate(timeout=600)[0].splitlines()]

    count = Counter((outcome["name"], outcome["code"]) for outcome in outcomes)
    assert count["tasks_note", None] == PROCESSES * NOTES
    assert count["tasks_step_lease_claim", None] == 1
    assert count["tasks_step_lease_claim", "STEP_LEASE_HELD"] == PROCESSES - 1
    assert count["tasks_close_step", None] == 1
    assert count["tasks_close_step", "INVALID_INPUT"] == PROCESSES - 1

    revisions = [outcome["revision"] for outcome in outcomes if outcome["revision"] is not None]
    assert len(set(revisions)) == len(revisions)
    events = call("tasks_delta", limit=500)["events"]
    traced = call("show", target="TASK-001", limit=200)["entries"]
    assert [entry["event_id"] for entry in traced] == [e["event_id"] for e in events if e["task"] == "TASK-001"]
