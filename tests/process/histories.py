"""Histories of many processes on one store, and whether one order explains them all (linearizability).

Each process appends to lists and reads their ends, and tells when each operation began and how it ended.
A write answers with the position it took in the order of its object, so the order need not be searched for: it is told,
and is compared with real time, with what reads saw and with what is stored in the end. An operation whose end nobody
heard (a killed process, a lost answer) may have happened at any time after its beginning, or never.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from clew.app import open_database
from clew.errors import ClewError
from clew.settings import load_settings
from clew.store.database import Database, Transaction
from clew.store.workspaces import create_workspace, find_workspace

OBJECTS = 3


@dataclass
class Op:
    """`position` is the place of a write in the order of its object, or the last place that a read saw."""

    id: str
    kind: str
    object: str
    begun: float
    ended: float = inf
    outcome: str = "unknown"
    position: int = 0
    value: str = ""


def check(ops: Iterable[Op], stored: dict[str, list[str]]) -> list[str]:
    """What no single order can explain; `stored` are the ids of the writes of each object, in order, at the end."""
    by_object: dict[str, list[Op]] = defaultdict(list)
    for op in ops:
        by_object[op.object].append(op)
    found = [problem for name, some in by_object.items() for problem in _check_object(some, stored.get(name, []))]
    unknown = {op.id for some in by_object.values() for op in some}
    return found + [f"{id} is stored and nobody wrote it" for ids in stored.values() for id in ids if id not in unknown]


def _check_object(ops: list[Op], stored: list[str]) -> list[str]:
    place = {id: at for at, id in enumerate(stored, 1)}
    problems = [f"{id} is stored {count} times" for id, count in Counter(stored).items() if count > 1]
    for op in ops:
        at = place.get(op.id)
        if op.kind == "write" and op.outcome == "ok" and at != op.position:
            problems.append(f"{op.id} was acknowledged at {op.position} and stands at {at}")
        if op.kind == "write" and op.outcome == "failed" and at is not None:
            problems.append(f"{op.id} was refused and stands at {at}")
        if (
            op.kind == "read"
            and op.outcome == "ok"
            and op.position
            and stored[op.position - 1 : op.position] != [op.value]
        ):
            problems.append(
                f"{op.id} saw {op.value} at {op.position}, where {stored[op.position - 1 : op.position]} is"
            )
    return problems + _check_time(ops, place)


def _check_time(ops: list[Op], place: dict[str, int]) -> list[str]:
    """Whoever begins after another has ended sees, or takes, no earlier position."""
    timed = [(op, op.position if op.kind == "read" else place.get(op.id, 0)) for op in ops if op.outcome == "ok"]
    timed += [(op, place[op.id]) for op in ops if op.outcome == "unknown" and op.id in place]
    ends = sorted((op.ended, at, op.id) for op, at in timed)
    problems, highest, holder, done = [], 0, "", 0
    for op, at in sorted(timed, key=lambda pair: pair[0].begun):
        while done < len(ends) and ends[done][0] < op.begun:
            if ends[done][1] > highest:
                highest, holder = ends[done][1], ends[done][2]
            done += 1
        too_early = at < highest if op.kind == "read" else at <= highest
        if too_early and op.id != holder:
            problems.append(f"{op.id} stands at {at} and began after {holder} had ended at {highest}")
    return problems + _check_future(ops, timed, place)


def _check_future(ops: list[Op], timed: list[tuple[Op, int]], place: dict[str, int]) -> list[str]:
    """Nothing stands before, or was seen by, what had ended before it began."""
    begun = {op.id: op.begun for op in ops}
    latest = [0.0]
    for id in sorted(place, key=lambda id: place[id]):
        latest.append(max(latest[-1], begun.get(id, 0.0)))
    return [
        f"{op.id} ended, and something at or before {at} began only afterwards"
        for op, at in timed
        if latest[min(at, len(latest) - 1)] > op.ended
    ]


# What a process does: under the lock of the workspace row, as every operation of Clew.


def _length(tx: Transaction, name: str) -> int:
    return int(tx.value("SELECT value FROM meta WHERE key = ?", name) or 0)


def write(database: Database, op: Op) -> None:
    with database.write() as tx:
        find_workspace(tx, "ws")
        position = _length(tx, op.object) + 1
        tx.run(_SET, op.object, str(position))
        tx.run(_SET, f"{op.object}:{position:09d}", op.id)
    op.position = position


def read(database: Database, op: Op) -> None:
    with database.read() as tx:
        position = _length(tx, op.object)
        op.value = tx.value("SELECT value FROM meta WHERE key = ?", f"{op.object}:{position:09d}") or ""
    op.position = position


def stored(database: Database) -> dict[str, list[str]]:
    sql = "SELECT value FROM meta WHERE key LIKE ? ORDER BY key"
    with database.read() as tx:
        names = [f"o:{number}" for number in range(OBJECTS)]
        return {name: [row["value"] for row in tx.all(sql, f"{name}:%")] for name in names}


_SET = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


def perform(database: Database, op: Op) -> None:
    try:
        (write if op.kind == "write" else read)(database, op)
        op.outcome = "ok"
    except ClewError as problem:
        op.outcome = "unknown" if problem.details.get("outcome") == "unknown" else "failed"
    op.ended = time.monotonic() if op.outcome != "unknown" else inf


def prepare(database: Database) -> None:
    with database.write() as tx:
        if find_workspace(tx, "ws") is None:
            create_workspace(tx, "ws", 1)


def main() -> None:
    """A process of its own: tells each operation before it begins and after it ended."""
    home, url, count, seed = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), int(sys.argv[4])
    database = open_database(load_settings({"home": Path(home), "database_url": url}, {}))
    chance = random.Random(seed)
    for number in range(count):
        kind = "write" if chance.random() < 0.6 else "read"
        op = Op(f"{seed}-{os.getpid()}-{number}", kind, f"o:{chance.randrange(OBJECTS)}", time.monotonic())
        print(json.dumps(_told(op)), flush=True)
        perform(database, op)
        print(json.dumps(_told(op)), flush=True)
    database.close()


def _told(op: Op) -> dict[str, Any]:
    return {**asdict(op), "ended": None if op.ended == inf else op.ended}


def heard(lines: Iterable[str]) -> list[Op]:
    """The operations that a process told of; of one that was told only once, nobody knows the end."""
    found: dict[str, Op] = {}
    for line in lines:
        if line.endswith("\n"):
            told = json.loads(line)
            found[told["id"]] = Op(**{**told, "ended": inf if told["ended"] is None else told["ended"]})
    return list(found.values())


if __name__ == "__main__":
    main()
