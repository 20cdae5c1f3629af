"""One thread follows the store's event feed for all sockets; nothing runs while nobody listens.

What a listener gets is decided in the thread, where the store may be read; handing it over is all that the event loop
does. A listener that does not keep up is told so and starts over from a snapshot: nothing is dropped in silence.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError
from clew.faces.web.thoughts import EVENTS, written

if TYPE_CHECKING:
    from clew.app import Clew
    from clew.store.events import EventRow

logger = logging.getLogger(__name__)

PATIENCE = 0.5
Message = dict[str, Any]
Listener = Callable[[str, list[Message]], None]


class Live:
    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._listeners: dict[int, tuple[asyncio.AbstractEventLoop, Listener]] = {}
        self._next = 0
        self._stop: threading.Event | None = None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """`listener(workspace, messages)` is called in the running loop; the returned call ends it."""
        self._next += 1
        number = self._next
        self._listeners[number] = (asyncio.get_running_loop(), listener)
        self._start()
        return lambda: self._end(number)

    def _end(self, number: int) -> None:
        self._listeners.pop(number, None)
        if not self._listeners and self._stop is not None:
            self._stop.set()
            self._stop = None

    def _start(self) -> None:
        if self._stop is None:
            self._stop = threading.Event()
            ready = threading.Event()
            threading.Thread(target=self._run, args=(self._stop, ready), name="clew-live", daemon=True).start()
            # Whoever listens from now on must not miss an event: wait until the feed knows where it starts.
            ready.wait(5)

    def _run(self, stop: threading.Event, ready: threading.Event) -> None:
        from clew.store.events import follow

        seen: dict[str, int] | None = None
        while not stop.is_set():
            try:
                seen = seen if seen is not None else self._positions()
                ready.set()
                for events in follow(self._clew.database, dict(seen), stop, PATIENCE):
                    for event in events:
                        seen[event.workspace] = event.seq
                    if events:
                        self._tell(events)
            except Exception:
                logger.exception("the event feed broke off; trying again")
                stop.wait(PATIENCE)

    def _positions(self) -> dict[str, int]:
        from clew.store.events import positions

        with self._clew.database.read() as tx:
            return positions(tx)

    def _tell(self, events: list[EventRow]) -> None:
        for workspace in dict.fromkeys(event.workspace for event in events):
            mine = [event for event in events if event.workspace == workspace]
            messages = [*raw_messages(mine), *self._ledger_messages(workspace, mine)]
            for loop, listener in list(self._listeners.values()):
                if not loop.is_closed():
                    loop.call_soon_threadsafe(listener, workspace, messages)

    def _ledger_messages(self, workspace: str, events: list[EventRow]) -> list[Message]:
        ledger = [event for event in events if event.topic == "ledger" and event.subject]
        thoughts = self._thoughts(workspace, [event for event in ledger if event.type in EVENTS])
        return [message for event in ledger for message in seed_messages(event, thoughts)]

    def _thoughts(self, workspace: str, events: list[EventRow]) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for session in dict.fromkeys(event.subject for event in events):
            seqs = [event.payload["seq"] for event in events if event.subject == session]
            try:
                found |= written(self._clew, workspace, str(session), seqs)
            except ClewError:
                logger.info("session %s was deleted before its thoughts could be shown", session)
        return found


def raw_messages(events: Iterable[EventRow]) -> list[Message]:
    """Every event, for the pages of cards, work, jobs and memory."""
    return [
        {
            "channel": "events",
            "event": event.type,
            "data": {
                "id": event.id,
                "seq": event.seq,
                "ts_ms": event.ts_ms,
                "topic": event.topic,
                "type": event.type,
                "subject": event.subject,
                "path": event.path,
                "agent": event.agent,
                "payload": event.payload,
            },
        }
        for event in events
    ]


def seed_messages(event: EventRow, thoughts: dict[int, dict[str, Any]]) -> list[Message]:
    """The event in the words of the seed's protocol, on the channels where it belongs."""
    session = event.subject
    if event.type in EVENTS:
        thought = thoughts.get(event.payload["seq"])
        return _thought_messages(event, thought) if thought else []
    names = {"session_started": "session:started", "session_completed": "session:ended"}
    name = names.get(event.type, "session:changed")
    data = {"sessionId": session, "title": event.payload.get("title"), "event": event.type, **event.payload}
    return [{"channel": channel, "event": name, "data": data} for channel in ("sessions", "reasoning")]


def _thought_messages(event: EventRow, thought: dict[str, Any]) -> list[Message]:
    payload = event.payload
    data = {
        "sessionId": event.subject,
        "thought": thought,
        "nodeId": thought["id"],
        "newNodeId": thought["id"],
        "parentId": payload.get("parent"),
        "eventSeq": event.seq,
    }
    if event.type == "thought_revised":
        data |= {"revisedNodeId": payload.get("revises"), "originalThoughtNumber": thought.get("revisesThought")}
    if event.type == "thought_branched":
        data |= {
            "branchId": thought.get("branchId"),
            "originNodeId": payload.get("origin"),
            "fromThoughtNumber": thought.get("branchFromThought"),
        }
    name = EVENTS[event.type]
    short = {"sessionId": event.subject, "nodeId": thought["id"], "thoughtNumber": thought["thoughtNumber"]}
    return [
        {"channel": "reasoning", "event": name, "data": data},
        {"channel": "sessions", "event": name, "data": short},
    ]
