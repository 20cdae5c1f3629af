"""Daily counts: how often recall was asked, how often it found nothing, how many characters agents were given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from clew.clock import rfc3339
from clew.errors import shorten
from clew.recall.tallies import Tallies, Tally
from clew.registry.context import Context
from clew.store.database import Row, Transaction

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
# Questions of one workspace beyond the KEPT_QUESTIONS newest are deleted, so that the table stays bounded.
_FORGET = (
    "DELETE FROM unanswered WHERE workspace = ? AND last_ms <"
    " (SELECT min(last_ms) FROM"
    " (SELECT last_ms FROM unanswered WHERE workspace = ? ORDER BY last_ms DESC LIMIT ?) AS kept)"
)


@dataclass
class Figures(Tally):
    """Counts that are not written yet."""

    times: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    amounts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    questions: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: dict[tuple[str, str], int] = field(default_factory=dict)

    def count(self, workspace: str, now_ms: int, name: str, amount: int = 0) -> None:
        key = (workspace, rfc3339(now_ms)[:10], name)
        self.times[key] += 1
        self.amounts[key] += amount

    def unanswered(self, workspace: str, now_ms: int, question: str) -> None:
        key = (workspace, shorten(" ".join(question.split()), LONGEST_QUESTION))
        self.questions[key] += 1
        self.last[key] = now_ms

    def write(self, tx: Transaction) -> None:
        for key, times in sorted(self.times.items()):
            tx.run(_COUNTED, *key, times, self.amounts[key])
        for (workspace, question), times in sorted(self.questions.items()):
            tx.run(_QUESTION, workspace, question, times, self.last[workspace, question])
        for workspace in sorted({workspace for workspace, _ in self.questions}):
            tx.run(_FORGET, workspace, workspace, KEPT_QUESTIONS)


def note_question(ctx: Context, question: str, answered: bool) -> None:
    now_ms = ctx.now_ms
    with ctx.database.companions.of(Tallies).of(Figures) as figures:
        figures.count(ctx.workspace, now_ms, ASKED)
        if not answered:
            figures.count(ctx.workspace, now_ms, SILENT)
            figures.unanswered(ctx.workspace, now_ms, question)


def note_told(ctx: Context, source: str, characters: int) -> None:
    """Count the characters that `resume` or the hooks put into a model's context."""
    if characters:
        with ctx.database.companions.of(Tallies).of(Figures) as figures:
            figures.count(ctx.workspace, ctx.clock(), f"told:{source}", characters)


def figures_since(ctx: Context, day: str) -> list[Row]:
    sql = "SELECT day, name, times, amount FROM figure WHERE workspace = ? AND day >= ? ORDER BY day, name"
    return ctx.tx.all(sql, ctx.workspace, day)


def newest_unanswered(ctx: Context, limit: int) -> list[Row]:
    sql = "SELECT question, times, last_ms FROM unanswered WHERE workspace = ? ORDER BY last_ms DESC, question LIMIT ?"
    return ctx.tx.all(sql, ctx.workspace, limit)
