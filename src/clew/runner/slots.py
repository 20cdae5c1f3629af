"""The runner: slots that claim jobs, and one job from its claim to its end (slices, failures, proof, giving back)."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from clew.app import Clew
from clew.kinds import statuses
from clew.runner.board import PASSING, Board, Claim, ClaimLost, Refused
from clew.runner.configuration import Configuration
from clew.runner.executors import Executor, Executors, JobSlice, SliceFailed, Stopped
from clew.runner.slice_protocol import KINDS, Event, SliceAnswer, assemble
from clew.store.events import Follower

log = logging.getLogger("clew.runner")


class Pulse:
    """Heartbeats while a process works. The claim is lost when one is refused, or the store is silent too long."""

    def __init__(self, board: Board, claim: Claim, every: float, lease: float) -> None:
        self._board, self._claim = board, claim
        self._every, self._lease = every, lease
        self._last = self._held = time.monotonic()

    def beat(self) -> bool:
        """Send a heartbeat if one is due; False if the job is no longer ours."""
        now = time.monotonic()
        if now - self._last < self._every:
            return True
        self._last = now
        try:
            self._board.report(self._claim, "heartbeat", "runner: working")
            self._board.beat(self._claim.id)
            self._held = time.monotonic()
        except ClaimLost:
            return False
        # A store that is locked or unreachable for a moment does not mean that the claim is lost.
        except Refused as refusal:
            log.warning("heartbeat for %s: %s", self._claim.id, refusal)
            if refusal.code not in PASSING:
                return False
        # After a whole lease without a successful heartbeat, another runner may have the job.
        return time.monotonic() - self._held < self._lease


@dataclass
class Delegation:
    """One job that this runner holds, from its claim to its end."""

    board: Board
    claim: Claim
    executor: Executor
    configuration: Configuration
    stop: threading.Event
    failures: int = 0
    slices: int = 0
    previous: str | None = None
    begun: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Work until the job has ended, was given back, or is no longer ours."""
        try:
            while not self._work_slice():
                pass
        except ClaimLost as lost:
            log.warning("%s is no longer ours: %s", self.claim.id, lost)

    def _work_slice(self) -> bool:
        """Work on one slice; True if nothing is left to do."""
        if self.stop.is_set():
            return self._give_back()
        limit = self._limit_reached()
        if limit is not None:
            return self._end("FAILED", limit)
        self._begin_slice()
        try:
            answer = self._work()
        except Stopped as stopped:
            if str(stopped) == "lost claim":
                raise ClaimLost("a heartbeat was refused") from None
            return self._give_back()
        except SliceFailed as failure:
            return self._report_failure("error", str(failure))
        # Bounded, because each event is a transaction.
        for event in answer.events[:50]:
            self._report(event)
        return self._conclude(answer)

    def _begin_slice(self) -> None:
        """Report the start of a slice. Only the first is a checkpoint, which clears errors of an earlier attempt; in a
        later slice it would hide errors of this one."""
        self.slices += 1
        first = self.slices == 1
        self.board.report(self.claim, "checkpoint" if first else "progress", f"runner: slice {self.slices} started")

    def _work(self) -> SliceAnswer:
        settings = self.configuration
        # The program is given only the time of the slice; the grace period lets it write its answer.
        seconds = min(settings.slice_s + settings.slice_grace_s, self._left())
        prompt = ""
        if self.executor.gated:
            order, meta = self.board.order(self.claim)
            prompt = assemble(self.board, settings, self.claim, order, meta, self.previous)
        slice = JobSlice(
            self.claim.id, self.board.workspace, prompt, max(seconds, 1), self.board, self.claim.job["task"]
        )
        pulse = Pulse(self.board, self.claim, settings.heartbeat_s, settings.lease_ms / 1000)

        def interrupted() -> str | None:
            if self.stop.is_set():
                return "stopped"
            return None if pulse.beat() else "lost claim"

        return self.executor.work(slice, interrupted)

    def _conclude(self, answer: SliceAnswer) -> bool:
        if answer.status == statuses.JOB_FAILED:
            return self._end("FAILED", answer.summary or "the job reported failure", answer.refs)
        if answer.status == statuses.WORK_DONE:
            try:
                return self._end("DONE", answer.summary, answer.refs, self.executor.gated)
            except Refused as refusal:
                if refusal.code != "PROOF_REQUIRED":
                    raise
                self.previous = answer.summary
                return self._report_failure(
                    "proof_gate", "DONE needs proof: a card, a note, CMD: or LINK: among the refs"
                )
        self.previous = answer.summary
        # Only failures in a row count, because a job that makes progress is not stuck.
        self.failures = 0
        self.stop.wait(self.configuration.retry_s)
        return False

    def _report_failure(self, kind: str, message: str) -> bool:
        """Report why a slice did not count; ends the job after too many failures in a row."""
        self.failures += 1
        text = f"slice {self.slices}: {message}"
        self.board.report(self.claim, kind, text[:400])
        if self.failures >= self.configuration.max_failures:
            return self._end("FAILED", f"given up after {self.failures} failures; the last one, {text}"[:800])
        self.stop.wait(min(self.configuration.retry_s * 2 ** (self.failures - 1), 60))
        return False

    def _end(self, status: str, summary: str, refs: list[str] | None = None, gated: bool = False) -> bool:
        self.board.complete(self.claim, status, summary[:800], refs or [], gated)
        log.info("%s ended as %s", self.claim.id, status)
        return True

    def _give_back(self) -> bool:
        self.board.release(self.claim, "runner: stopping, the job goes back into the queue")
        log.info("%s was given back", self.claim.id)
        return True

    def _limit_reached(self) -> str | None:
        if self._left() <= 0:
            return f"no end within {self.configuration.max_runtime_s:g} s"
        if self.slices >= self.configuration.max_slices:
            return f"no end within {self.configuration.max_slices} slices"
        return None

    def _left(self) -> float:
        return self.configuration.max_runtime_s - (time.monotonic() - self.begun)

    def _report(self, event: Event) -> None:
        kind = event.kind if event.kind in KINDS else "progress"
        more: dict[str, Any] = {"refs": event.refs}
        if event.percent is not None:
            more["percent"] = min(max(event.percent, 0), 100)
        if event.message.strip():
            self.board.report(self.claim, kind, event.message[:400], **more)


GOODBYE_MS = 1_000


class News:
    """Wakes waiting slots when anything was written to the store."""

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
            # Read before the claim: a job that is queued after this ends the wait below, so none is missed.
            seen = self._news.seen()
            claim = self._guarded(self._claim)
            if claim is not None:
                self._guarded(partial(self._work, claim))
            if self._once:
                break
            if claim is None:
                self._guarded(self._idle)
                self._news.wait(seen, self._configuration.poll_s)
        # A lease of one second instead of a separate operation: the runner counts as offline almost at once.
        self._guarded(lambda: self._board.beat(lease_ms=GOODBYE_MS))

    def _claim(self) -> Claim | None:
        return self._board.claim(self._executors.kinds)

    def _work(self, claim: Claim) -> None:
        self._beaten = float("-inf")
        self.worked += 1
        executor = self._executors.of(claim.job["kind"])
        Delegation(self._board, claim, executor, self._configuration, self._stop).run()

    def _idle(self) -> None:
        if time.monotonic() - self._beaten >= self._configuration.heartbeat_s:
            self._board.beat()
            self._beaten = time.monotonic()

    def _guarded(self, action: Callable[[], Claim | None]) -> Claim | None:
        """Run an action and log its errors: a store error or a defect in one job must not end the slot. The claim of
        such a job expires by itself."""
        try:
            return action()
        except (Refused, ClaimLost) as refusal:
            log.error("%s: %s", self._board.runner, refusal)
        except Exception:
            log.exception("%s", self._board.runner)
        self._stop.wait(self._configuration.poll_s)
        return None


QUIET_S = 0.25
"""Seconds between two wake-ups: if idle runners looked after every commit, they would slow down a busy store."""


def run(
    clew: Clew, configuration: Configuration, stop: threading.Event, *, once: bool = False, dry_run: bool = False
) -> int:
    """Work until `stop` is set, or with `once` one job for each slot; returns how many jobs were taken."""
    executors = Executors(configuration, dry_run)
    executors.check()
    for name, problem in executors.unusable.items():
        log.warning("executor %s is not used: %s", name, problem)
    news = News()
    slots = [
        Slot(Board(clew.dispatcher, name, configuration.lease_ms), executors, configuration, news, stop, once)
        for name in slot_names(configuration)
    ]
    threads = [threading.Thread(target=slot.run, name=f"slot-{number}") for number, slot in enumerate(slots)]
    if not once:
        # PostgreSQL notifies, and SQLite's file is watched; without either, a slot still looks every `poll_s`.
        Follower(
            lambda _: clew.database.changes(configuration.poll_s), lambda _: news.tell(), "clew-news", QUIET_S, stop
        )
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.5)  # not for ever in one go, so that signals are handled
    return sum(slot.worked for slot in slots)


def slot_names(configuration: Configuration) -> list[str]:
    """One name for each slot, so that each has its own lease and claims."""
    name = configuration.runner_id or f"{socket.gethostname()}:{os.getpid()}"
    if configuration.slots == 1:
        return [name]
    return [f"{name}:{number}" for number in range(1, configuration.slots + 1)]
