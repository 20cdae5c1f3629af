"""Figures of use: how often memory was asked and stayed silent, and how much it put into agents' contexts.

They are statistics: written behind the answers with the uses of items, and lost with the process that dies before.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from clew.clock import rfc3339
from clew.errors import ClewError, shorten
from clew.registry.context import Context
from clew.store.companions import Companion
from clew.store.database import Database, Row, Transaction

DELAY = 0.5
ASKED, SILENT = "asked", "silent"
LONGEST_QUESTION = 300
KEPT_QUESTIONS = 500
_COUNTED = (
    "INSERT INTO figure (workspace, day, name, times, amount) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, day, name) DO UPDATE"
    " SET times = figure.times + excluded.times, amount = figure.amount + excluded.amount"
)
_QUESTION = (
    "INSERT INTO unanswered (workspace, question, times, last_ms) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (workspace, question) DO UPDATE"
    " SET times = unanswered.times + excluded.times, last_ms = excluded.last_ms"
)
_FORGET = (
    "DELETE FROM unanswered WHERE workspace = ? AND last_ms <"
    " (SELECT min(last_ms) FROM"
    " (SELECT last_ms FROM unanswered WHERE workspace = ? ORDER BY last_ms DESC LIMIT ?) AS kept)"
)


@dataclass
class Unwritten:
    times: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    amounts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    questions: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: dict[tuple[str, str], int] = field(default_factory=dict)


class Figures(Companion):
    """The figures of one database, written together after a short delay."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._unwritten = Unwritten()
        self._timer: threading.Timer | None = None

    def count(self, workspace: str, now_ms: int, name: str, amount: int = 0) -> None:
        with self._lock:
            key = (workspace, rfc3339(now_ms)[:10], name)
            self._unwritten.times[key] += 1
            self._unwritten.amounts[key] += amount
            self._soon()

    def unanswered(self, workspace: str, now_ms: int, question: str) -> None:
        with self._lock:
            key = (workspace, shorten(" ".join(question.split()), LONGEST_QUESTION))
            self._unwritten.questions[key] += 1
            self._unwritten.last[key] = now_ms
            self._soon()

    def _soon(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(DELAY, self._flush_quietly)
            self._timer.daemon = True
            self._timer.start()

    def flush(self) -> None:
        with self._flushing:
            with self._lock:
                unwritten, self._unwritten = self._unwritten, Unwritten()
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if unwritten.times or unwritten.questions:
                with self.database.write() as tx:
                    _write(tx, unwritten)

    def close(self, patience: float) -> None:
        self._flush_quietly()

    def _flush_quietly(self) -> None:
        try:
            self.flush()
        except ClewError:
            pass


def _write(tx: Transaction, unwritten: Unwritten) -> None:
    for key, times in sorted(unwritten.times.items()):
        tx.run(_COUNTED, *key, times, unwritten.amounts[key])
    for (workspace, question), times in sorted(unwritten.questions.items()):
        tx.run(_QUESTION, workspace, question, times, unwritten.last[workspace, question])
    for workspace in sorted({workspace for workspace, _ in unwritten.questions}):
        tx.run(_FORGET, workspace, workspace, KEPT_QUESTIONS)


def note_question(ctx: Context, question: str, answered: bool) -> None:
    figures = ctx.database.companions.of(Figures)
    figures.count(ctx.workspace, ctx.now_ms, ASKED)
    if not answered:
        figures.count(ctx.workspace, ctx.now_ms, SILENT)
        figures.unanswered(ctx.workspace, ctx.now_ms, question)


def note_told(ctx: Context, source: str, characters: int) -> None:
    """That so many characters were put before a model, by `resume` or by `hooks`."""
    if characters:
        ctx.database.companions.of(Figures).count(ctx.workspace, ctx.clock(), f"told:{source}", characters)


def figures_since(ctx: Context, day: str) -> list[Row]:
    sql = "SELECT day, name, times, amount FROM figure WHERE workspace = ? AND day >= ? ORDER BY day, name"
    return ctx.tx.all(sql, ctx.workspace, day)


def newest_unanswered(ctx: Context, limit: int) -> list[Row]:
    sql = "SELECT question, times, last_ms FROM unanswered WHERE workspace = ? ORDER BY last_ms DESC, question LIMIT ?"
    return ctx.tx.all(sql, ctx.workspace, limit)


def flush_figures(database: Database) -> None:
    """Write what waits; call it before reading figures."""
    database.companions.of(Figures).flush()
