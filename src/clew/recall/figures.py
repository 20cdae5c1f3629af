"""Daily counts: how often recall was asked, how often it found nothing, how many characters agents were given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from clew.clock import rfc3339
from clew.errors import shorten
from clew.recall.tallies import Tallies, Tally
from clew.registry.context import Context
from clew.secrets import screened
from clew.store.database import Row, Transaction

ASKED, SILENT = "asked", "silent"
LONGEST_QUESTION = 300
KEPT_QUESTIONS = 100
KEPT_MS = 30 * 86_400_000
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
# Questions are private: one is stored until it finds an answer, for KEPT_MS at most, and only the newest.
_FORGET = (
    "DELETE FROM unanswered WHERE workspace = ? AND (last_ms < ? OR last_ms <"
    " (SELECT min(last_ms) FROM"
    " (SELECT last_ms FROM unanswered WHERE workspace = ? ORDER BY last_ms DESC LIMIT ?) AS kept))"
)
_ANSWERED = "DELETE FROM unanswered WHERE workspace = ? AND question = ?"


@dataclass
class Figures(Tally):
    """Counts that are not yet written."""

    times: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    amounts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    questions: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: dict[tuple[str, str], int] = field(default_factory=dict)
    answered: set[tuple[str, str]] = field(default_factory=set)

    def count(self, workspace: str, now_ms: int, name: str, amount: int = 0) -> None:
        key = (workspace, rfc3339(now_ms)[:10], name)
        self.times[key] += 1
        self.amounts[key] += amount

    def question(self, workspace: str, now_ms: int, question: str, answered: bool) -> None:
        key = (workspace, shorten(screened(" ".join(question.split()))[0], LONGEST_QUESTION))
        if answered:
            self.answered.add(key)
            self.questions.pop(key, None)
        else:
            self.answered.discard(key)
            self.questions[key] += 1
            self.last[key] = now_ms

    def write(self, tx: Transaction) -> None:
        for key, times in sorted(self.times.items()):
            tx.run(_COUNTED, *key, times, self.amounts[key])
        for (workspace, question), times in sorted(self.questions.items()):
            tx.run(_QUESTION, workspace, question, times, self.last[workspace, question])
        for workspace, question in sorted(self.answered):
            tx.run(_ANSWERED, workspace, question)
        for workspace in sorted({workspace for workspace, _ in self.questions}):
            oldest = max(self.last.values()) - KEPT_MS
            tx.run(_FORGET, workspace, oldest, workspace, KEPT_QUESTIONS)


def note_question(ctx: Context, question: str, answered: bool) -> None:
    now_ms = ctx.now_ms
    with ctx.database.resources.of(Tallies).of(Figures) as figures:
        figures.count(ctx.workspace, now_ms, ASKED)
        if not answered:
            figures.count(ctx.workspace, now_ms, SILENT)
        figures.question(ctx.workspace, now_ms, question, answered)


def count_shown(ctx: Context, source: str, characters: int) -> None:
    """Count the characters that `resume` or the hooks put into a model's context."""
    if characters:
        with ctx.database.resources.of(Tallies).of(Figures) as figures:
            figures.count(ctx.workspace, ctx.clock(), f"told:{source}", characters)


def figures_since(ctx: Context, day: str) -> list[Row]:
    sql = "SELECT day, name, times, amount FROM figure WHERE workspace = ? AND day >= ? ORDER BY day, name"
    return ctx.tx.all(sql, ctx.workspace, day)


def newest_unanswered(ctx: Context, limit: int) -> list[Row]:
    sql = "SELECT question, times, last_ms FROM unanswered WHERE workspace = ? ORDER BY last_ms DESC, question LIMIT ?"
    return ctx.tx.all(sql, ctx.workspace, limit)
