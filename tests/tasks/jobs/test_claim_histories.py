"""Any sequence of calls, by runners that are late, doubled or confused, leaves a history that keeps the rules."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.app import Clew
from clew.registry.connection import Connection
from tests.conftest import TickingClock
from tests.runner.fleet import Replay, history

RUNNERS = st.sampled_from(["r1", "r2", "r3"])
JOBS = st.sampled_from(["JOB-001", "JOB-002"])
REVISIONS = st.integers(0, 8)
CLAIM = st.fixed_dictionaries({"runner_id": RUNNERS, "job": st.none() | JOBS, "allow_stale": st.booleans()})
HELD = st.fixed_dictionaries({"job": JOBS, "runner_id": RUNNERS, "claim_revision": st.just("held") | REVISIONS})
ENDS = st.sampled_from(["DONE", "FAILED", "CANCELED"])
KINDS = st.sampled_from(["progress", "heartbeat", "question", "error"])
CALLS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([1, 40_000, 181_000])),
    st.tuples(st.just("tasks_jobs_claim"), CLAIM),
    st.tuples(
        st.just("tasks_jobs_report"), st.builds(lambda held, kind: {**held, "message": "m", "kind": kind}, HELD, KINDS)
    ),
    st.tuples(st.just("tasks_jobs_complete"), st.builds(lambda held, status: {**held, "status": status}, HELD, ENDS)),
    st.tuples(st.just("tasks_jobs_requeue"), st.one_of(HELD, JOBS.map(lambda job: {"job": job}))),
    st.tuples(st.just("tasks_jobs_message"), JOBS.map(lambda job: {"job": job, "message": "go on"})),
)
numbers = itertools.count()


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(CALLS, max_size=40))
def test_every_history_keeps_the_rules_of_claims(clew: Clew, clock: TickingClock, calls: list[tuple[str, Any]]) -> None:
    workspace = f"w{next(numbers)}"
    for title in ("one", "two"):
        said(clew, workspace, "tasks_jobs_create", {"title": title, "prompt": "do"})
    for name, arguments in calls:
        if name == "wait":
            clock.now_ms += arguments
        else:
            said(clew, workspace, name, shown(clew, workspace, arguments))
    replay = Replay(history(clew, workspace), lease_ms=0)
    listed = said(clew, workspace, "tasks_jobs_list", {})["jobs"]
    assert {job["job_id"]: job["status"] for job in listed} == replay.statuses()


def shown(clew: Clew, workspace: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The call with the newest claim where the caller is to know it."""
    if arguments.get("claim_revision") != "held":
        return arguments
    job = said(clew, workspace, "tasks_jobs_open", {"job": arguments["job"]})["job"]
    return {**arguments, "runner_id": job["runner"] or "r1", "claim_revision": job["revision"]}


def said(clew: Clew, workspace: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result, or the refusal: with a code that a runner can act on, and never a defect of ours."""
    answer = clew.dispatcher.call(name, {**arguments, "workspace": workspace}, Connection(toolset="full"))
    if not answer.ok:
        assert answer.envelope["error"]["code"] in {"CONFLICT", "INVALID_INPUT"}
    result: dict[str, Any] = answer.envelope["result"] or {}
    return result
