"""Live messages for the page's sockets: one thread follows the store's events while at least one socket is open.

The thread reads and serialises each message once for all listeners; the event loop only forwards it. Without a
subscriber nothing is read.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from clew.clock import iso_millis
from clew.errors import ClewError
from clew.faces.web.wire_shapes import EVENTS, written
from clew.kinds import statuses
from clew.secrets import redact

if TYPE_CHECKING:
    from clew.app import Clew
    from clew.store.events import EventRow

logger = logging.getLogger(__name__)

# Seconds. PATIENCE is the timeout of one wait for events, so that the thread notices a stop. START is the timeout of a
# new socket for the first read of the store.
PATIENCE = 0.5
BREATH = 0.03
"""Seconds between two reads in a burst: events in quick succession are sent in one batch."""
START = 10.0
LIGHT = {"outline": "reasoning", "overview": "sessions"}
"""Feeds with less than the seed's protocol sends on a channel: beginnings of texts, or none."""


@dataclass(frozen=True, slots=True)
class Message:
    """One event of a feed, serialised and ready for every socket that follows the feed."""

    feed: str
    session: str | None
    text: str


class Listener(Protocol):
    def feeds(self, workspace: str) -> set[str]:
        """The subscribed feeds. Called from the feed's thread."""
        ...

    def hear(self, workspace: str, messages: list[Message]) -> None:
        """Called in the listener's own event loop."""
        ...


class Feed:
    """The store's events from now on. Its thread runs from the first listener to the last one."""

    def __init__(self, clew: Clew, tell: Callable[[asyncio.AbstractEventLoop, list[EventRow]], None]) -> None:
        from clew.store.events import Follower

        self._clew = clew
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._seen: dict[str, int] | None = None
        self.ready = asyncio.Event()
        self.follower = Follower(self._events, self._hear, "clew-live", BREATH)

    def _events(self, stop: threading.Event) -> Iterator[list[EventRow]]:
        from clew.store.events import follow, positions

        if self._loop.is_closed():  # the server has ended
            stop.set()
            return iter(())
        if self._seen is None:
            with self._clew.database.read() as tx:
                self._seen = positions(tx)
        self._loop.call_soon_threadsafe(self.ready.set)
        return (events for events in follow(self._clew.database, self._seen, stop, PATIENCE) if events)

    def _hear(self, events: list[EventRow]) -> None:
        # Recorded before it is sent: otherwise an event that raises would be read and raise again, forever.
        self._seen = (self._seen or {}) | {event.workspace: event.seq for event in events}
        self._tell(self._loop, events)


class Live:
    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._listeners: dict[int, Listener] = {}
        self._next = 0
        self._feed: Feed | None = None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; returns a function that removes it."""
        self._next += 1
        number = self._next
        self._listeners[number] = listener
        if self._feed is None:
            self._feed = Feed(self._clew, self._tell)
        return lambda: self._end(number)

    async def ready(self) -> None:
        """Wait until the start position of the feed is known. A read of the store after this misses no later event."""
        feed = self._feed
        assert feed is not None, "nobody listens"
        try:
            await asyncio.wait_for(feed.ready.wait(), START)
        except TimeoutError:
            raise ClewError("STORE_UNAVAILABLE", "the event feed cannot be read; try again") from None

    def _end(self, number: int) -> None:
        self._listeners.pop(number, None)
        if not self._listeners and self._feed is not None:
            self._feed.follower.stop()
            self._feed = None

    def _tell(self, loop: asyncio.AbstractEventLoop, events: list[EventRow]) -> None:
        for workspace in dict.fromkeys(event.workspace for event in events):
            listeners = [(listener, listener.feeds(workspace)) for listener in list(self._listeners.values())]
            wanted: set[str] = set().union(*(feeds for _, feeds in listeners))
            messages = self._messages(workspace, [event for event in events if event.workspace == workspace], wanted)
            for listener, feeds in listeners:
                if feeds and messages:
                    loop.call_soon_threadsafe(listener.hear, workspace, messages)

    def _messages(self, workspace: str, events: list[EventRow], wanted: set[str]) -> list[Message]:
        ledger = [event for event in events if event.topic == "ledger" and event.subject]
        messages = raw_messages(events) if "events" in wanted else []
        if "overview" in wanted:
            messages += [message("overview", event.subject, *short_event(event)) for event in ledger]
        # Whole texts and their beginnings are separate reads: texts may be large, and most pages need the outline.
        for feeds, whole in ((("reasoning", "sessions"), True), (("outline",), False)):
            followed = [feed for feed in feeds if feed in wanted]
            thoughts = self._thoughts(workspace, ledger, whole) if followed else {}
            messages += [told for feed in followed for event in ledger for told in full_messages(feed, event, thoughts)]
        return messages

    def _thoughts(self, workspace: str, ledger: list[EventRow], whole: bool) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        events = [event for event in ledger if event.type in EVENTS]
        for session in dict.fromkeys(event.subject for event in events):
            seqs = [event.payload["seq"] for event in events if event.subject == session]
            try:
                found |= written(self._clew, workspace, str(session), seqs, whole)
            except ClewError:
                # Its events are still in the log, but it no longer exists.
                logger.info("session %s was deleted before its thoughts could be shown", session)
        return found


def message(feed: str, session: str | None, event: str, data: dict[str, Any]) -> Message:
    """Serialise one event. It comes from the log, not from a response, so secrets are redacted here."""
    whole = {"channel": LIGHT.get(feed, feed), "event": event, "data": data}
    text = orjson.dumps(whole).decode()
    public = redact(whole, text)
    return Message(feed, session, text if public is whole else orjson.dumps(public).decode())


def raw_messages(events: Iterable[EventRow]) -> list[Message]:
    """Every event, for the pages of cards, work, jobs and memory."""
    return [message("events", None, event.type, event.shown()) for event in events]


def short_event(event: EventRow) -> tuple[str, dict[str, Any]]:
    """An event for a list of sessions: ids and numbers, without the thought's text."""
    if event.type not in EVENTS:
        return session_event(event)
    payload = event.payload
    data = {"sessionId": event.subject, "nodeId": payload["node"], "thoughtNumber": payload["thoughtNumber"]}
    return EVENTS[event.type], data


SESSION_EVENTS = {"session_started": "session:started", "session_completed": "session:ended"}
"""The events of the seed's protocol; for any other, `session:changed`, the data contain the type."""


def session_event(event: EventRow) -> tuple[str, dict[str, Any]]:
    data = {"sessionId": event.subject, **event.payload, "event": SESSION_EVENTS.get(event.type, event.type)}
    if event.type == "session_started":
        data["session"] = {
            "id": event.subject,
            "title": event.payload.get("title"),
            "tags": event.payload.get("tags", []),
            "createdAt": iso_millis(event.ts_ms),
            "status": statuses.ACTIVE,
        }
    if event.type == "session_completed":
        data["finalThoughtCount"] = event.payload.get("thoughts")
    return SESSION_EVENTS.get(event.type, "session:changed"), data


def full_messages(feed: str, event: EventRow, thoughts: dict[int, dict[str, Any]]) -> list[Message]:
    """The event in the shape of the seed's protocol; none if its thought is gone."""
    if event.type not in EVENTS:
        return [message(feed, event.subject, *session_event(event))]
    thought = thoughts.get(event.payload["seq"])
    return [message(feed, event.subject, EVENTS[event.type], thought_event(event, thought))] if thought else []


def thought_event(event: EventRow, thought: dict[str, Any]) -> dict[str, Any]:
    payload = event.payload
    data = {
        "event": EVENTS[event.type],
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
    return data
