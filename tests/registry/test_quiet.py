"""Background work waits for calls, and calls never wait for it for long."""

from __future__ import annotations

import threading

import pytest

from clew.registry import quiet as module
from clew.registry.quiet import Quiet, quiet
from tests.conftest import Caller

PATIENCE = 20.0


def test_a_portion_waits_until_the_last_of_the_running_calls_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 3 * PATIENCE)
    process = Quiet()
    portion = threading.Thread(target=process.pause, daemon=True)
    with process.call():
        with process.call():
            portion.start()
        portion.join(5 * module.SETTLING)
        assert portion.is_alive(), "one call ended, the other one still runs"
    portion.join(PATIENCE)
    assert not portion.is_alive()


def test_where_calls_never_stop_the_rest_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 0.01)
    process = Quiet()
    with process.call():
        process.pause()  # returns: it would hang here otherwise


def test_what_a_call_itself_waits_for_does_not_wait_for_that_call(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`scan` compares what is queued before it lists contradictions."""
    paused = []
    monkeypatch.setattr(type(quiet), "pause", lambda _: paused.append(threading.current_thread().name))
    for text in ("We use PostgreSQL 15 for the ledger.", "We never use PostgreSQL for the ledger."):
        call("remember", text=text, kind="fact")
    call("scan")
    assert threading.current_thread().name not in paused
