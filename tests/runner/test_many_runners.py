"""Sixteen runner processes and five hundred jobs: exactly once, and nothing lost when runners die."""

from __future__ import annotations

import os
import signal

import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.runner.fleet import Fleet, Replay, await_state, create_jobs, history, running_under, statuses

# A busy machine may take its time; await_state sees to it that something moves.
pytestmark = pytest.mark.timeout(900)
RUNNERS, JOBS = 16, 500
REHEARSAL = 'poll_s = 0.5\n[executors.rehearsal]\ntype = "dry"\n'


def all_done(clew: Clew) -> bool:
    return statuses(clew) == {"DONE": JOBS}


def test_every_job_is_executed_exactly_once(clew: Clew, fleet: Fleet) -> None:
    create_jobs(clew, JOBS)
    configuration = fleet.configure(REHEARSAL)
    for number in range(RUNNERS):
        fleet.start(f"r{number}", configuration)
    await_state(clew, lambda: all_done(clew))
    assert set(fleet.stop().values()) == {0}
    replay = Replay(history(clew), 180_000)
    assert replay.unfinished() == {}
    assert len(replay.claims) == JOBS and set(replay.claims.values()) == {1}


def test_jobs_of_killed_runners_are_done_by_others_exactly_once(clew: Clew, fleet: Fleet) -> None:
    create_jobs(clew, JOBS)
    configuration = fleet.configure(f"heartbeat_s = 1\n{REHEARSAL}seconds = 0.15\n")
    names = [f"r{number}" for number in range(RUNNERS)]
    for name in names:
        fleet.start(name, configuration)
    await_state(clew, lambda: statuses(clew).get("DONE", 0) >= RUNNERS)
    killed = {name: held for name in names if (held := kill_in_mid_job(clew, fleet, name))}
    assert len(killed) >= RUNNERS // 3
    await_state(clew, lambda: all_done(clew))
    codes = fleet.stop()
    assert {codes[name] for name in names if name not in killed} == {0}
    events = history(clew)
    replay = Replay(events, 3_000)
    assert replay.unfinished() == {}
    finished = {event.subject: event.payload["runner"] for event in events if event.type == "job_completed"}
    # What a runner sent just before it was halted a database server still carries out: that job it finished itself.
    taken_over = [job for name, held in killed.items() for job in held if finished[job] != name]
    assert 0 < len(taken_over) <= replay.reclaims


def kill_in_mid_job(clew: Clew, fleet: Fleet, name: str) -> list[str]:
    """Halt a runner, see which job it holds, and kill it then; one that holds none goes on."""
    dead = [runner for runner, process in fleet.processes.items() if process.poll() is not None]
    if len(dead) >= RUNNERS // 3 + 1:
        return []
    process = fleet.processes[name]
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    held = running_under(clew, name)
    if not held:
        process.send_signal(signal.SIGCONT)
        return []
    process.kill()
    process.wait()
    return held


def test_a_runner_that_slept_too_long_may_not_write(clew: Clew, call: Caller, fleet: Fleet) -> None:
    call("tasks_jobs_create", title="sleepy", prompt="do")
    slow = fleet.configure(f"heartbeat_s = 1\n{REHEARSAL}seconds = 600\n", "slow.toml")
    quick = fleet.configure(f"heartbeat_s = 1\n{REHEARSAL}", "quick.toml")
    sleeper = fleet.start("sleeper", slow)
    await_state(clew, lambda: any(event.type == "job_reported" for event in history(clew)))
    sleeper.send_signal(signal.SIGSTOP)
    fleet.start("other", quick)
    await_state(clew, lambda: statuses(clew) == {"DONE": 1})
    before = call("tasks_jobs_open", job="JOB-001", max_events=200)
    sleeper.send_signal(signal.SIGCONT)
    await_state(clew, lambda: "sleeper" in [lease["runner_id"] for lease in leases(call)])
    assert set(fleet.stop().values()) == {0}
    assert "no longer ours" in fleet.log("sleeper")
    assert call("tasks_jobs_open", job="JOB-001", max_events=200) == before
    assert Replay(history(clew), 3_000).unfinished() == {}


def leases(call: Caller) -> list[dict[str, object]]:
    """Idle runners, as the sleeper is once it has seen that its job is gone."""
    found: list[dict[str, object]] = call("tasks_jobs_radar", runners_status="idle")["runner_leases"]["runners"]
    return found
