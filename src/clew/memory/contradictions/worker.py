"""Compares records with their neighbours after the write that changed them, in a background thread.

The model runs outside of any transaction. A contradiction that it finds becomes an entry, and the
author of the record is notified with the next response.
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
"""Records per batch: a process that exits waits for one batch, about a second."""
FEW, MANY = 10, 500
"""With more records queued, each is compared with its two nearest; with very many, with the nearest only."""
PORTION = 4
"""Pairs per run of the model, some 40 ms: it shares the processors with calls for that long."""
MOST_AWAITED = 320
"""Records that a call compares itself before it lists contradictions."""
PATIENCE = 10.0

log = logging.getLogger("clew.contradictions")


class Work(NamedTuple):
    """Queued records, the known verdicts on the live ones, and how many neighbours to compare each with."""

    waiting: list[Waiting]
    changed: list[Assertion]
    comparison: Comparison
    most: int


class _Compared(NamedTuple):
    ids: list[str]
    odds: Odds
    """The model's new results for pairs."""


def compare_some(ctx: Context, pause: Pause) -> _Compared:
    """Compare the records that were queued first; `pause` is called before each batch of the model."""
    with ctx.reading() as bound:
        work = _next_work(bound)
    if not work.waiting:
        return _Compared([], {})
    odds = _read_in_portions(work.comparison.missing, pause)
    if _is_quiet(ctx, work, odds):
        with ctx.writing() as bound:
            _settle(bound, work, odds)
    else:
        with exclusive(ctx), ctx.writing() as bound:  # entries are blocks, which are rendered into files
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
    """Store the verdicts, and update the entries of the records as they are now."""
    verdicts.keep(ctx, odds)
    ids = [item.id for item in work.waiting]
    entries.settle(ctx, set(ids))
    entries.enter(ctx, compare(ctx, list(live(ctx, ids).values()), odds, work.most).found)
    queue.remove(ctx, work.waiting)


def catch_up(ctx: Context) -> None:
    """Compare queued records before contradictions are listed, within limits; the rest is done in the background."""
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
        """A lock held while records are compared: two threads at once would do the same work twice."""
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
        """Start comparing the queued records of a workspace; the connection of the call is notified
        about these records."""
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
                # Queued records stay queued; the next write starts the thread again.
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
    """Leave a note for the connection that wrote a record about what was found after its response."""
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
