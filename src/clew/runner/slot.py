"""A slot: one thread that takes one job after the other. Each slot is a runner of its own to the store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from clew.runner.board import Board, Claim, ClaimLost, Refused
from clew.runner.configuration import Configuration
from clew.runner.executors import Executors
from clew.runner.work import Work

log = logging.getLogger("clew.runner")
GOODBYE_MS = 1_000


class News:
    """Wakes slots that wait for work when anything was written to the store."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    def tell(self) -> None:
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def seen(self) -> int:
        with self._condition:
            return self._count

    def wait(self, seen: int, seconds: float) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._count != seen, seconds)


class Slot:
    def __init__(
        self,
        board: Board,
        executors: Executors,
        configuration: Configuration,
        news: News,
        stop: threading.Event,
        once: bool = False,
    ) -> None:
        self._board = board
        self._executors = executors
        self._configuration = configuration
        self._news = news
        self._stop = stop
        self._once = once
        self._beaten = float("-inf")
        self.worked = 0

    def run(self) -> None:
        while not self._stop.is_set():
            seen = self._news.seen()
            claim = self._guarded(self._claim)
            if claim is not None:
                self._guarded(partial(self._work, claim))
            if self._once:
                break
            if claim is None:
                self._guarded(self._idle)
                self._news.wait(seen, self._configuration.poll_s)
        self._guarded(lambda: self._board.beat(lease_ms=GOODBYE_MS))

    def _claim(self) -> Claim | None:
        return self._board.claim(self._executors.kinds)

    def _work(self, claim: Claim) -> None:
        self._beaten = float("-inf")
        self.worked += 1
        executor = self._executors.of(claim.job["kind"])
        Work(self._board, claim, executor, self._configuration, self._stop).run()

    def _idle(self) -> None:
        if time.monotonic() - self._beaten >= self._configuration.heartbeat_s:
            self._board.beat()
            self._beaten = time.monotonic()

    def _guarded(self, action: Callable[[], Claim | None]) -> Claim | None:
        """A store in trouble, or a defect in one job, must not end the slot. The claim of such a job expires."""
        try:
            return action()
        except (Refused, ClaimLost) as refusal:
            log.error("%s: %s", self._board.runner, refusal)
        except Exception:
            log.exception("%s", self._board.runner)
        self._stop.wait(self._configuration.poll_s)
        return None
