"""One job from its claim to its end: slices, failures, the proof gate, and giving it back when the runner stops."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from clew.runner.answer import KINDS, Answer, Event
from clew.runner.board import PASSING, Board, Claim, ClaimLost, Refused
from clew.runner.configuration import Configuration
from clew.runner.executors import Executor, Slice, SliceFailed, Stopped
from clew.runner.prompt import assemble

log = logging.getLogger("clew.runner")


class Pulse:
    """Heartbeats while a process works. Knows when the claim is lost, by refusal or because the store fell silent."""

    def __init__(self, board: Board, claim: Claim, every: float, lease: float) -> None:
        self._board, self._claim = board, claim
        self._every, self._lease = every, lease
        self._last = self._held = time.monotonic()

    def beat(self) -> bool:
        """Send one when it is due; False when the job is no longer ours."""
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
        except Refused as refusal:
            log.warning("heartbeat for %s: %s", self._claim.id, refusal)
            if refusal.code not in PASSING:
                return False
        # Without a word to the store for a whole lease, another runner may have the job by now.
        return time.monotonic() - self._held < self._lease


@dataclass
class Work:
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
        """Work until the job has ended, was given back or is no longer ours."""
        try:
            while not self._ended():
                pass
        except ClaimLost as lost:
            log.warning("%s is no longer ours: %s", self.claim.id, lost)

    def _ended(self) -> bool:
        """One slice; True when there is nothing more to do."""
        if self.stop.is_set():
            return self._give_back()
        limit = self._exhausted()
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
            return self._failed("error", str(failure))
        for event in answer.events[:50]:
            self._tell(event)
        return self._conclude(answer)

    def _begin_slice(self) -> None:
        """A checkpoint settles errors of an earlier attempt; later slices of this one must not hide its own."""
        self.slices += 1
        first = self.slices == 1
        self.board.report(self.claim, "checkpoint" if first else "progress", f"runner: slice {self.slices} started")

    def _work(self) -> Answer:
        settings = self.configuration
        seconds = min(settings.slice_s + settings.slice_grace_s, self._left())
        prompt = ""
        if self.executor.gated:
            order, meta = self.board.order(self.claim)
            prompt = assemble(self.board, settings, self.claim, order, meta, self.previous)
        slice = Slice(self.claim.id, self.board.workspace, prompt, max(seconds, 1))
        pulse = Pulse(self.board, self.claim, settings.heartbeat_s, settings.lease_ms / 1000)

        def interrupted() -> str | None:
            if self.stop.is_set():
                return "stopped"
            return None if pulse.beat() else "lost claim"

        return self.executor.work(slice, interrupted)

    def _conclude(self, answer: Answer) -> bool:
        if answer.status == "FAILED":
            return self._end("FAILED", answer.summary or "the job reported failure", answer.refs)
        if answer.status == "DONE":
            try:
                return self._end("DONE", answer.summary, answer.refs, self.executor.gated)
            except Refused as refusal:
                if refusal.code != "PROOF_REQUIRED":
                    raise
                self.previous = answer.summary
                return self._failed("proof_gate", "DONE needs proof: a card, a note, CMD: or LINK: among the refs")
        self.previous = answer.summary
        self.failures = 0
        self.stop.wait(self.configuration.retry_s)
        return False

    def _failed(self, kind: str, message: str) -> bool:
        """Say why a slice did not count, and try again unless that happened too often in a row."""
        self.failures += 1
        told = f"slice {self.slices}: {message}"
        self.board.report(self.claim, kind, told[:400])
        if self.failures >= self.configuration.max_failures:
            return self._end("FAILED", f"given up after {self.failures} failures; the last one, {told}"[:800])
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

    def _exhausted(self) -> str | None:
        if self._left() <= 0:
            return f"no end within {self.configuration.max_runtime_s:g} s"
        if self.slices >= self.configuration.max_slices:
            return f"no end within {self.configuration.max_slices} slices"
        return None

    def _left(self) -> float:
        return self.configuration.max_runtime_s - (time.monotonic() - self.begun)

    def _tell(self, event: Event) -> None:
        kind = event.kind if event.kind in KINDS else "progress"
        more: dict[str, Any] = {"refs": event.refs}
        if event.percent is not None:
            more["percent"] = min(max(event.percent, 0), 100)
        if event.message.strip():
            self.board.report(self.claim, kind, event.message[:400], **more)
