"""A call that is repeated with its request id is answered as the first time, and does nothing again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from clew.app import Clew, open_clew
from clew.errors import ClewError
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.registry.repeats import once_in_parts
from clew.runner.board import Board
from clew.settings import load_settings
from clew.store.requests import KEPT_MS, StoredRequest
from tests.conftest import Caller, TickingClock
from tests.store.proxy import Proxy


def rows(clew: Clew, table: str) -> int:
    with clew.database.read() as tx:
        return int(tx.value(f"SELECT count(*) FROM {table}"))


def test_a_repeated_write_gets_the_first_answer(clew: Clew, call: Caller) -> None:
    first = call.answer("notes_commit", content="once", request_id="r-1").envelope
    again = call.answer("notes_commit", content="once", request_id="r-1").envelope
    assert again["result"] == first["result"]
    assert again["warnings"] == first["warnings"]
    assert rows(clew, "entry") == 1
    call("notes_commit", content="once", request_id="r-2")
    assert rows(clew, "entry") == 2


def test_an_id_belongs_to_one_call_with_its_arguments(clew: Clew, call: Caller) -> None:
    call("notes_commit", content="one", request_id="r-1")
    assert call.error("notes_commit", content="two", request_id="r-1")["code"] == "CONFLICT"
    assert rows(clew, "entry") == 1
    call("notes_commit", content="two", request_id="r-1", workspace="elsewhere")
    assert rows(clew, "entry") == 2


def test_a_refused_call_may_be_made_again_under_its_id(call: Caller) -> None:
    assert call.error("tasks_note", task="TASK-001", path="s:0", note="x", request_id="r-1")["code"] == "UNKNOWN_ID"
    call("tasks_macro_start", task_title="A task")
    call("tasks_note", task="TASK-001", path="s:0", note="x", request_id="r-1")


def test_an_id_beside_the_name_of_an_operation_is_meant_for_it(clew: Clew, call: Caller) -> None:
    first = call("op_call", name="notes_commit", arguments={"content": "x"}, request_id="r-1")
    assert call("op_call", name="notes_commit", arguments={"content": "x"}, request_id="r-1") == first
    assert call("notes_commit", content="x", request_id="r-1") == first
    assert rows(clew, "entry") == 1


def test_an_operation_of_several_transactions_runs_once(clew: Clew) -> None:
    ctx, runs = Context(clew.dispatcher, Connection(), "ws", None), []

    def run() -> dict[str, int]:
        runs.append(1)
        if len(runs) == 1:
            raise ClewError("INVALID_INPUT", "refused, and so to be repeated")
        if len(runs) == 3:
            raise RuntimeError("killed on the way")
        return {"run": len(runs)}

    request, other = StoredRequest("ws", "r-1", "some", "d"), StoredRequest("ws", "r-2", "some", "d")
    with pytest.raises(ClewError):
        once_in_parts(ctx, request, run)
    assert [once_in_parts(ctx, request, run) for _ in range(2)] == [{"run": 2}] * 2
    with pytest.raises(RuntimeError):
        once_in_parts(ctx, other, run)
    with pytest.raises(ClewError) as unfinished:
        once_in_parts(ctx, other, run)
    assert unfinished.value.details == {"outcome": "unknown"}
    assert len(runs) == 3


def test_old_answers_are_forgotten(clew: Clew, call: Caller, clock: TickingClock) -> None:
    call("notes_commit", content="one", request_id="r-1")
    clock.now_ms += KEPT_MS + 1000
    call("notes_commit", content="two", request_id="r-2")
    assert rows(clew, "request") == 1


def test_what_changes_nothing_is_not_kept(clew: Clew, call: Caller) -> None:
    call("tasks_jobs_claim", runner_id="host:1", request_id="r-1")
    call("status", request_id="r-2")
    assert rows(clew, "request") == 0


@pytest.mark.parametrize("bad", ["", "x" * 129, 5, "a\nb"])
def test_an_id_is_a_short_text(call: Caller, bad: object) -> None:
    assert call.error("notes_commit", content="x", request_id=bad)["code"] == "INVALID_INPUT"


@pytest.fixture
def far(proxy: Proxy, tmp_path: object) -> Iterator[Clew]:
    settings = load_settings(
        {"home": tmp_path, "database_url": proxy.proxied_url, "workspace": "ws", "embedding_model": "none"}, {}
    )
    clew = open_clew(settings)
    yield clew
    clew.close()


def losing_one_commit() -> Callable[[bool, int, bytes], str]:
    """Cut the connection once, at the answer to the first COMMIT of a write that sent a request."""
    lost: list[bytes] = []
    wrote: list[bytes] = []

    def rule(to_client: bool, _: int, message: bytes) -> str:
        if not to_client and b"INTO request" in message:
            wrote.append(message)
        if to_client and wrote and not lost and message.startswith(b"C") and b"COMMIT" in message:
            lost.append(message)
            return "cut"
        return "pass"

    return rule


def test_a_runner_whose_answer_was_lost_takes_one_job_and_reports_once(far: Clew, proxy: Proxy) -> None:
    call = Caller(far)
    for title in ("first", "second"):
        call("tasks_jobs_create", title=title, prompt="do it")
    board = Board(far.dispatcher, "host:1", 60_000)
    proxy.start(losing_one_commit())
    claim = board.claim(None)
    assert claim is not None
    assert claim.id == "JOB-001"
    proxy.start(losing_one_commit())
    board.report(claim, "progress", "half of it")
    proxy.start(lambda *_: "pass")
    states = {job["job_id"]: job["status"] for job in call("tasks_jobs_list")["jobs"]}
    assert states == {"JOB-001": "RUNNING", "JOB-002": "QUEUED"}
    events = call("tasks_jobs_open", job="JOB-001", max_events=50)["events"]
    assert [event["message"] for event in events].count("half of it") == 1
