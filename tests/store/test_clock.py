"""A clock that was wrong and is mended: time goes on, leases end, order stays."""

from __future__ import annotations

import pytest

from clew.app import Clew
from clew.store.workspaces import SLACK_MS
from tests.conftest import Caller, TickingClock

YEAR = 365 * 86_400_000


def last_write(clew: Clew) -> int:
    with clew.database.read() as tx:
        return int(tx.value("SELECT updated_at_ms FROM workspace WHERE id = 'ws'"))


def test_one_look_at_a_wrong_clock_does_not_stop_time(clew: Clew, call: Caller, clock: TickingClock) -> None:
    right = clock.now_ms
    clock.now_ms = right + 10 * YEAR
    call("notes_commit", content="in another year")
    clock.now_ms = right + 60_000
    answer = call.answer("notes_commit", content="today again").envelope
    assert [warning["code"] for warning in answer["warnings"]] == ["CLOCK_WENT_BACK"]
    assert right < last_write(clew) < right + 120_000
    assert call.answer("notes_commit", content="and on").envelope["warnings"] == []
    with clew.database.read() as tx:
        found = tx.all("SELECT content FROM entry WHERE workspace = 'ws' ORDER BY seq")
    assert [row["content"] for row in found] == ["in another year", "today again", "and on"]


def test_a_clock_that_is_a_little_behind_does_not_turn_time_back(clew: Clew, call: Caller, clock: TickingClock) -> None:
    call("notes_commit", content="one")
    before = last_write(clew)
    clock.now_ms = before - SLACK_MS + 5_000
    assert call.answer("notes_commit", content="two").envelope["warnings"] == []
    assert last_write(clew) == before


@pytest.mark.parametrize("wrong", [10 * YEAR, 3_600_000])
def test_a_lease_ends_by_the_clock(call: Caller, clock: TickingClock, wrong: int) -> None:
    call("tasks_jobs_create", title="first", prompt="do it")
    call("tasks_jobs_create", title="second", prompt="do it")
    right = clock.now_ms
    clock.now_ms = right + wrong
    call("tasks_jobs_claim", job="JOB-001", runner_id="host:1", lease_ttl_ms=1000)
    clock.now_ms = right + 1000
    call("tasks_jobs_claim", job="JOB-002", runner_id="host:1", lease_ttl_ms=1000)
    assert call.error("tasks_jobs_claim", job="JOB-002", runner_id="host:2", allow_stale=True)["code"] == "CONFLICT"
    clock.now_ms += 2000
    for job in ("JOB-001", "JOB-002"):
        taken = call("tasks_jobs_claim", job=job, runner_id="host:2", allow_stale=True)["job"]
        assert taken["status"] == "RUNNING"
