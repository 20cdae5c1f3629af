"""Histories of many processes on one store, and whether one order explains them all (linearizability).

Every object has an order of its own: a list by the numbers of its entries, a register and a claim by their revisions. A
write is answered with the position that it took and a read with the last position that it saw, so the order need not be
searched for: it is told, and compared with real time and with what is stored in the end. An operation whose end nobody
heard (its process was killed) may have happened at any time after its beginning, or never: an open interval.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

WRITES = {"append", "put", "claim", "release"}
LEASE_SECONDS = 1.0
TICK = 0.005
"""Leases are counted in whole milliseconds of the wall clock, histories by the monotonic one."""


@dataclass
class Op:
    """One operation of one process.

    `position` is the place that a write took, or the last place that a read saw; `value` is the write that a read saw
    there, empty where it does not tell. `code` is the error of a refused one.
    """

    id: str
    kind: str
    object: str
    begun: float
    ended: float = inf
    outcome: str = "unknown"
    position: int = 0
    value: str = ""
    code: str = ""


@dataclass
class Stored:
    """What an object holds at the end: the write at each position, all of them or (a register) the last alone."""

    places: list[tuple[int, str]] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True)
class Problem:
    """What no order explains. `kind` is lost, doubled or different (somebody was told what is not so)."""

    kind: str
    text: str


def check(ops: Iterable[Op], stored: dict[str, Stored]) -> list[Problem]:
    by_object: dict[str, list[Op]] = defaultdict(list)
    for op in ops:
        by_object[op.object].append(op)
    for name in stored:
        by_object.setdefault(name, [])
    return [
        problem
        for name, some in by_object.items()
        for problem in ObjectHistory(some, stored.get(name, Stored())).check()
    ]


class ObjectHistory:
    def __init__(self, ops: list[Op], stored: Stored) -> None:
        self.ops = ops
        self.stored = stored
        self.writes = {op.id: op for op in ops if op.kind in WRITES}
        self.problems: list[Problem] = []
        self.at: dict[int, str] = {}
        """The write at each position, by whoever told it: the store, an acknowledgement, a read."""
        self.place: dict[str, int] = {}

    def check(self) -> list[Problem]:
        self._place()
        self._check_outcomes()
        self._check_gaps()
        timed = [(op, self._position(op)) for op in self.ops if op.outcome == "ok" and op.kind != "find"]
        timed += [(op, self.place[op.id]) for op in self.ops if op.outcome == "unknown" and op.id in self.place]
        self._check_past(timed)
        self._check_future(timed)
        if any(op.kind == "claim" for op in self.ops):
            self._check_holders()
        return self.problems

    def _tell(self, kind: str, text: str) -> None:
        self.problems.append(Problem(kind, text))

    def _position(self, op: Op) -> int:
        return self.place.get(op.id, op.position) if op.kind in WRITES else op.position

    def _place(self) -> None:
        for id, count in Counter(id for _, id in self.stored.places).items():
            if count > 1:
                self._tell("doubled", f"{id} is stored {count} times")
        for position, id in self.stored.places:
            self._put(position, id, "the store")
        for op in self.ops:
            if op.outcome == "ok" and op.kind in WRITES:
                self._put(op.position, op.id, f"the answer to {op.id}")
            elif op.outcome == "ok" and op.kind == "read" and op.position and op.value:
                self._put(op.position, op.value, f"read {op.id}")

    def _put(self, position: int, id: str, teller: str) -> None:
        there, elsewhere = self.at.setdefault(position, id), self.place.setdefault(id, position)
        if there != id:
            self._tell("different", f"{teller} says {id} stands at {position}, where {there} is")
        elif elsewhere != position:
            self._tell("doubled", f"{teller} says {id} stands at {position}, and it stands at {elsewhere}")
        if id not in self.writes:
            self._tell("different", f"{teller} says {id} stands at {position}, which nobody wrote")

    def _check_outcomes(self) -> None:
        kept, last = {id for _, id in self.stored.places}, max((at for at, _ in self.stored.places), default=0)
        for op in self.ops:
            if op.kind == "find" and op.outcome == "ok" and not op.value:
                self._tell("different", f"{op.id} did not find what had been acknowledged before")
            if op.kind not in WRITES:
                if op.outcome == "ok" and op.position > last:
                    self._tell("lost", f"{op.id} saw position {op.position}, and the last is {last}")
                continue
            if op.outcome == "ok" and (op.id not in kept if self.stored.complete else op.position > last):
                self._tell("lost", f"{op.id} was acknowledged at {op.position} and is not stored")
            if op.outcome == "failed" and op.id in self.place:
                self._tell("different", f"{op.id} was refused ({op.code}) and stands at {self.place[op.id]}")

    def _check_gaps(self) -> None:
        """Of a register only the last value is kept: revisions that nobody told were taken by those nobody heard of."""
        if self.stored.complete:
            return
        last = max((at for at, _ in self.stored.places), default=0)
        missing = last - sum(1 <= position <= last for position in self.at)
        unheard = sum(op.outcome == "unknown" and op.id not in self.place for op in self.writes.values())
        if missing > unheard:
            self._tell("different", f"{missing} revisions that nobody wrote, and {unheard} writes of unknown outcome")

    def _check_past(self, timed: list[tuple[Op, int]]) -> None:
        """Whoever begins after another has ended sees, or takes, no earlier position."""
        ends = sorted((op.ended, at, op.id) for op, at in timed)
        highest, holder, done = 0, "", 0
        for op, at in sorted(timed, key=lambda pair: pair[0].begun):
            while done < len(ends) and ends[done][0] < op.begun:
                if ends[done][1] > highest:
                    highest, holder = ends[done][1], ends[done][2]
                done += 1
            too_early = at < highest if op.kind == "read" else at <= highest
            if too_early and op.id != holder:
                self._tell("different", f"{op.id} stands at {at} and began after {holder} had ended at {highest}")

    def _check_future(self, timed: list[tuple[Op, int]]) -> None:
        """Nothing stands before, or was seen by, what had ended before it began."""
        positions = sorted(self.at)
        latest = [0.0]
        for position in positions:
            write = self.writes.get(self.at[position])
            latest.append(max(latest[-1], write.begun if write else 0.0))
        for op, at in timed:
            if latest[bisect_right(positions, at)] > op.ended:
                self._tell("different", f"{op.id} ended, and something at or before {at} began only afterwards")

    def _check_holders(self) -> None:
        """At most one holds at any time: a claim follows a release, or the end of the lease before it."""
        order = [self.writes[self.at[position]] for position in sorted(self.at) if self.at[position] in self.writes]
        for before, after in pairwise(order):
            if after.kind == "release" and after.id != released(before.id):
                self._tell("different", f"{after.id} gave back what {before.id} holds")
            taken_early = after.ended + TICK < before.begun + LEASE_SECONDS
            if after.kind == before.kind == "claim" and taken_early:
                self._tell("different", f"{after.id} took what {before.id} still held")
        self._check_refusals(order)

    def _check_refusals(self, order: list[Op]) -> None:
        """A claim is refused only while somebody may hold."""
        ends = [after.ended for after in order[1:]] + [inf]
        holds = [(op.begun, end) for op, end in zip(order, ends, strict=True) if op.kind == "claim"]
        for op in self.ops:
            refused = op.kind == "claim" and op.outcome == "failed" and op.code == "CONFLICT"
            if refused and not any(begun <= op.ended and op.begun <= end for begun, end in holds):
                self._tell("different", f"{op.id} was refused although nobody held")


def released(claim: str) -> str:
    """The id of the operation that gives a claim back."""
    return f"{claim}r"
