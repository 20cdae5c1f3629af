"""Compares records with their neighbours after the write that changed them, in a thread behind the calls.

The model reads outside of any transaction. What it finds to be a contradiction becomes an entry, and whoever wrote the
record hears of it with the next answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

from clew.errors import ClewError, shorten
from clew.memory.contradictions import entries, queue, verdicts
from clew.memory.contradictions.assertions import Assertion, assertion_of, live
from clew.memory.contradictions.detection import (
    NEAREST,
    NOT_READ,
    Clashing,
    Comparison,
    NewStatement,
    clashing,
    compare,
)
from clew.memory.contradictions.judgement import Pair, ordered
from clew.memory.contradictions.queue import Waiting, queued
from clew.memory.contradictions.verdicts import Odds
from clew.memory.files.sync import exclusive
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.registry.quiet import Pause, at_once, quiet
from clew.store.database import Database, DatabaseResource

BATCH = 16
"""Records that are compared together: what a process that ends waits for, about a second."""
FEW, MANY = 10, 500
"""With more records waiting, each is read beside its two nearest; with very many, beside the nearest only."""
PORTION = 4
"""Pairs that the model reads at once, some 40 ms: so long does a call share the processors with it."""
MOST_AWAITED = 320
"""Records that a call compares itself before it lists contradictions."""
PATIENCE = 10.0

log = logging.getLogger("clew.contradictions")


class Work(NamedTuple):
    """Records that wait, what is known of those that are live, and how many neighbours each is read beside."""

    waiting: list[Waiting]
    changed: list[Assertion]
    comparison: Comparison
    most: int


class _Compared(NamedTuple):
    ids: list[str]
    odds: Odds
    """What the model has said of their pairs just now."""


def compare_some(ctx: Context, pause: Pause) -> _Compared:
    """Compare the records that have waited longest; `pause` comes before each portion that the model reads."""
    with ctx.reading() as bound:
        work = _next_work(bound)
    if not work.waiting:
        return _Compared([], {})
    odds = _read_in_portions(work.comparison.missing, pause)
    if _is_quiet(ctx, work, odds):
        with ctx.writing() as bound:
            _settle(bound, work, odds)
    else:
        with exclusive(ctx), ctx.writing() as bound:  # entries are blocks, which files show
            _settle(bound, work, odds)
    return _Compared([item.id for item in work.waiting], odds)


def _read_in_portions(pairs: Sequence[Pair], pause: Pause) -> Odds:
    found: dict[Pair, float | None] = {}
    for start in range(0, len(pairs), PORTION):
        pause()
        found.update(verdicts.read(pairs[start : start + PORTION]))
    return found


def _next_work(ctx: Context) -> Work:
    waiting = queue.oldest(ctx, BATCH)
    behind = queue.count(ctx) if len(waiting) == BATCH else len(waiting)
    most = NEAREST if behind <= FEW else 2 if behind <= MANY else 1
    changed = list(live(ctx, [item.id for item in waiting]).values()) if waiting else []
    return Work(waiting, changed, compare(ctx, changed, NOT_READ, most), most)


def _is_quiet(ctx: Context, work: Work, odds: Odds) -> bool:
    """Whether no entry has to be written."""
    with ctx.reading() as bound:
        about = entries.open_about(bound, {item.id for item in work.waiting})
        return not about and not compare(bound, work.changed, odds, work.most).found


def _settle(ctx: Context, work: Work, odds: Odds) -> None:
    """Store what was read, and what follows from it for the records as they are now."""
    verdicts.keep(ctx, odds)
    ids = [item.id for item in work.waiting]
    entries.settle(ctx, set(ids))
    entries.enter(ctx, compare(ctx, list(live(ctx, ids).values()), odds, work.most).found)
    queue.remove(ctx, work.waiting)


def catch_up(ctx: Context) -> None:
    """Compare what waits before contradictions are listed, within limits; the rest is done behind the calls."""
    comparer = ctx.database.resources.of(Comparer)
    done = 0
    with comparer.working:
        while done < MOST_AWAITED:
            try:
                found = compare_some(ctx, at_once)
            except ClewError as problem:
                log.info("records were not compared: %s", problem.message)
                return
            if not found.ids:
                return
            done += len(found.ids)
    comparer.wake(ctx)


@queued()
def compare_later(ctx: Context, ids: Sequence[str]) -> None:
    ctx.database.resources.of(Comparer).wake(ctx, ids)


class Comparer(DatabaseResource):
    """Compares queued records, in one thread for each database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.working = threading.Lock()
        """Held while records are compared: of two that do it at once, one would do it in vain."""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._waiting: list[Context] = []
        self._authors: WeakValueDictionary[tuple[str, str], Connection] = WeakValueDictionary()

    def close(self, patience: float) -> None:
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(max(patience, PATIENCE))

    def wake(self, ctx: Context, ids: Sequence[str] = ()) -> None:
        """Compare what waits in a workspace; about these records the connection of the call is told."""
        for id in ids:
            self._authors[ctx.workspace, id] = ctx.connection
        # The caller's transaction ends before the thread does, so the thread gets a context without one.
        unbound = Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.agent)
        with self._lock:
            if all(known.workspace != ctx.workspace for known in self._waiting):
                self._waiting.append(unbound)
            if not self._stop.is_set() and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="clew-comparer", daemon=True)
                self._thread.start()

    def _next(self) -> Context | None:
        with self._lock:
            if not self._waiting or self._stop.is_set():
                self._thread = None
                return None
            return self._waiting.pop(0)

    def _run(self) -> None:
        while (ctx := self._next()) is not None:
            try:
                self._compare(ctx)
            except ClewError as problem:
                # What is queued stays queued; the next write wakes the thread again.
                log.warning("records could not be compared: %s", problem.message)

    def _compare(self, ctx: Context) -> None:
        while not self._stop.is_set():
            quiet.pause()
            with self.working:
                done = compare_some(ctx, quiet.pause)
            if not done.ids:
                return
            for id in done.ids:
                author = self._authors.pop((ctx.workspace, id), None)
                if author is not None:
                    _tell(ctx, author, id, done.odds)


def _tell(ctx: Context, author: Connection, id: str, odds: Odds) -> None:
    """Leave a note for the connection that wrote a record about what came out after it was answered."""
    with ctx.reading() as bound:
        assertion = live(bound, [id]).get(id)
        if assertion is None or assertion.block.origin == "edit":
            return
        statement = NewStatement(assertion.block.kind.prefix, assertion.block.get("Statement"))
        found = clashing(bound, id, statement, (*assertion.block.replaces, *assertion.block.beside))
    for item in found:
        if ordered((assertion.statement, assertion_of(item.block).statement)) in odds:
            author.note("CONTRADICTION", *_note(id, item))


def _note(id: str, item: Clashing) -> tuple[str, str]:
    said = shorten(item.block.headline, 100)
    if item.sure:
        other = item.block.id
        way = f"Say it again with replaces=[{other}] or coexists_with=[{other}], or leave it to the Inbox."
        return f"{id} contradicts {item.block.id}: {said}. {item.reason}", way
    way = f"If both hold: coexists_with=[{item.block.id}]."
    return f"{id} may contradict {item.block.id}: {said}. {item.reason}", way
