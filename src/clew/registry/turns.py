"""Fair scheduling of calls: a queue per caller, and a limited number of seats that no caller or long call can exhaust.

A free seat goes to the caller whose calls used the least processor time lately. So an occasional caller
waits for the call that is running, and not for those that others have queued, on however many connections; and
callers that never pause get equal shares. Calls that are known to take long get few of the seats.

Python runs one thread at a time: more seats would not make anything faster, only every call slower.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

SEATS, LONG_SEATS = 4, 2
HALVED_AFTER = 100
"""Turns after which recorded usage is halved: a caller that was busy an hour ago is not penalized."""
MOST_OWED = 0.05
"""Maximum lag of a caller in seconds: after a call of a minute, the others do not go first for a minute."""
FORGOTTEN = 0.0005
"""Seconds that count as zero."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The scheduling requirements of a call."""

    caller: Hashable
    is_ordered: bool = False
    """Whether it has to run after all earlier ordered calls of its caller: a write."""
    is_long: bool = False


@dataclass(eq=False, slots=True)
class Turn:
    """One call from its request for a seat until it releases it."""

    ask: Ask
    granted: asyncio.Future[None]
    has_seat: bool = False


@dataclass
class Turns:
    """The seats of one event loop. All of it runs on the loop's own thread."""

    seats: int = SEATS
    long_seats: int = LONG_SEATS
    _free: int = field(init=False)
    _long: int = 0
    _waiting: dict[Hashable, deque[Turn]] = field(default_factory=dict)
    _ordered: Counter[Hashable] = field(default_factory=Counter)
    """How many ordered calls of a caller run: none or one."""
    _used: dict[Hashable, float] = field(default_factory=dict)
    """Seconds of processor time, halved periodically."""
    _granted: int = 0

    def __post_init__(self) -> None:
        self._free = self.seats

    async def take(self, ask: Ask) -> Turn:
        """Wait for a seat. A call that is cancelled meanwhile has none."""
        turn = Turn(ask, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(ask.caller, deque()).append(turn)
        self._grant()
        try:
            await turn.granted
        except asyncio.CancelledError:
            self._forget(turn)
            raise
        return turn

    def give_back(self, turn: Turn) -> None:
        """Release the seat when the call ends or begins to wait for something outside; idempotent."""
        if not turn.has_seat:
            return
        turn.has_seat = False
        self._free += 1
        self._long -= turn.ask.is_long
        if turn.ask.is_ordered:
            del self._ordered[turn.ask.caller]
        self._grant()

    def charge(self, caller: Hashable, seconds: float) -> None:
        """Record the processor time of a call, once it is known."""
        least = min((self._used.get(other, 0.0) for other in self._waiting if other != caller), default=0.0)
        # The first call of a process does the imports for all later ones, whichever caller makes it.
        self._used[caller] = min(self._used.get(caller, 0.0) + seconds, least + MOST_OWED)

    def _forget(self, turn: Turn) -> None:
        queue = self._waiting.get(turn.ask.caller)
        if queue is not None and turn in queue:
            queue.remove(turn)
            self._tidy(turn.ask.caller)
        self.give_back(turn)

    def _grant(self) -> None:
        while self._free and (turn := self._next()) is not None:
            caller = turn.ask.caller
            self._waiting[caller].remove(turn)
            self._tidy(caller)
            if turn.granted.cancelled():
                continue  # cancelled before its task ran again: there is nothing left for it to release
            turn.has_seat = True
            self._free -= 1
            self._long += turn.ask.is_long
            if turn.ask.is_ordered:
                self._ordered[caller] = 1
            self._count()
            turn.granted.set_result(None)

    def _next(self) -> Turn | None:
        """The first call that may run, of the caller that used the least; on a tie, the one that waited longest."""
        for caller in sorted(self._waiting, key=lambda caller: self._used.get(caller, 0.0)):
            turn = self._first_of(caller)
            if turn is not None:
                return turn
        return None

    def _first_of(self, caller: Hashable) -> Turn | None:
        is_blocked = caller in self._ordered
        for turn in self._waiting[caller]:
            may_run = not turn.ask.is_long or self._long < self.long_seats
            if turn.ask.is_ordered and (is_blocked or not may_run):
                is_blocked = True  # and so is any ordered call after it
            elif may_run:
                return turn
        return None

    def _count(self) -> None:
        self._granted += 1
        if self._granted % HALVED_AFTER == 0:
            halved = {caller: seconds / 2 for caller, seconds in self._used.items()}
            self._used = {caller: seconds for caller, seconds in halved.items() if seconds > FORGOTTEN}

    def _tidy(self, caller: Hashable) -> None:
        if not self._waiting[caller]:
            del self._waiting[caller]


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def shared_turns() -> Turns:
    """The seats of this event loop: shared by all servers and conversations of a process."""
    return _of_loops.setdefault(asyncio.get_running_loop(), Turns())
