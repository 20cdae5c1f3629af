"""The live feed shows what other processes do, in order, each event once."""

from __future__ import annotations

import threading
from typing import Any

from clew.app import Clew
from clew.store.events import EventRow, follow
from tests.conftest import Caller
from tests.process.test_many_writers import fire, start_writer
from tests.waiting import PATIENCE


def collect(clew: Clew, after: dict[str, int] | None, count: int, ready: threading.Event) -> list[EventRow]:
    """Follow until `count` events have come."""
    found: list[EventRow] = []
    stop = threading.Event()
    for page in follow(clew.database, after, stop, wait=0.5):
        ready.set()
        found += page
        if len(found) >= count:
            return found
    return found


def followed(clew: Clew, after: dict[str, int] | None, count: int, act: Any) -> list[EventRow]:
    ready, result = threading.Event(), list[EventRow]()
    thread = threading.Thread(target=lambda: result.extend(collect(clew, after, count, ready)))
    thread.start()
    assert ready.wait(PATIENCE)
    act()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return result


def test_a_follower_sees_what_another_process_writes(clew: Clew, database_flags: dict[str, Any]) -> None:
    Caller(clew)("notes_commit", content="before the follower looks")
    writer = start_writer(database_flags["home"], database_flags.get("database_url", ""), 50, "other")
    seen = followed(clew, None, 50, lambda: fire(writer))
    writer.communicate(timeout=60)
    assert [event.seq for event in seen] == list(range(seen[0].seq, seen[0].seq + 50))
    assert {event.type for event in seen} == {"note_committed"}


def test_a_follower_can_start_from_the_beginning(clew: Clew) -> None:
    call = Caller(clew)
    call("notes_commit", content="one")
    call("notes_commit", content="two", workspace="other")
    seen = followed(clew, {}, 4, lambda: None)
    assert [(event.workspace, event.type) for event in seen] == [
        ("other", "workspace_created"),
        ("other", "note_committed"),
        ("ws", "workspace_created"),
        ("ws", "note_committed"),
    ]


def test_a_failed_operation_leaves_no_event(clew: Clew) -> None:
    call = Caller(clew)
    call("notes_commit", content="one")
    call.error("checkout", ref="nowhere")
    with clew.database.read() as tx:
        assert tx.value("SELECT count(*) FROM event WHERE workspace = 'ws'") == 2
