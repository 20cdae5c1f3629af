"""The checks of an audit. Each yields findings and knows nothing of the others."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clew.audit.statements import AuditedStatement
from clew.errors import shorten
from clew.index.terms import terms
from clew.kinds.state import State
from clew.memory import blocks
from clew.memory.contradictions.judgement import judge
from clew.memory.guards.check import path_matches
from clew.memory.marks import normal_words
from clew.registry.context import Context
from clew.secrets import masked
from clew.tasks.plans import open_tasks
from clew.tasks.proofs import unproven_since

Severity = Literal["high", "medium", "low"]
SAME_WORDS = 0.8
"""Share of common words from which two statements say the same."""
NEIGHBOURS = 3
COMMON = 50
"""A word in more statements than this is not used to find neighbours."""
QUIET_MS = 30 * 86_400_000
MOST_TASKS = 1_000
TEXT = 160


@dataclass(frozen=True)
class AuditFinding:
    check: str
    severity: Severity
    place: str
    text: str
    note: str
    other: str | None = None
    """The place of the other statement, where two are concerned."""


def duplicates(statements: Sequence[AuditedStatement]) -> Iterator[AuditFinding]:
    for one, other in _pairs([item for item in statements if item.holds]):
        if _share(one, other) >= SAME_WORDS and _differs_in_no_number(one, other):
            yield _found("duplicate", "low", one, f"says the same as {other.place}", other)


def contradictions(statements: Sequence[AuditedStatement]) -> Iterator[AuditFinding]:
    pairs = [
        (one, other) for one, other in _pairs([item for item in statements if item.holds]) if _share(one, other) < 1
    ]
    for (one, other), clash in zip(pairs, judge([(one.text, other.text) for one, other in pairs]), strict=True):
        if clash is not None and clash.sure:
            yield _found("contradiction", "high", one, f"contradicts {other.place}: {clash.reason}", other)


def still_stated(statements: Sequence[AuditedStatement]) -> Iterator[AuditFinding]:
    """What was replaced or withdrawn in one place, and is stated as valid in another."""
    for one, other in _pairs(statements):
        if one.is_over is not other.is_over and _share(one, other) >= SAME_WORDS:
            old, stated = (one, other) if one.is_over else (other, one)
            if stated.holds:
                word = "replaced" if old.state is State.REPLACED else "withdrawn"
                yield _found("outdated", "high", stated, f"{old.place} says the same and was {word}", old)


def secrets(statements: Sequence[AuditedStatement]) -> Iterator[AuditFinding]:
    for item in statements:
        _, count = masked(item.whole)
        if count:
            yield _found("secret", "high", item, f"holds {count} secret(s)")


def unsupported(statements: Sequence[AuditedStatement]) -> Iterator[AuditFinding]:
    for item in statements:
        if item.holds and item.kind in ("decision", "fact", "lesson") and not item.has_reason:
            yield _found("unsupported", "low", item, "gives neither a reason nor a source")


def matching_no_file(statements: Sequence[AuditedStatement], paths: Sequence[str]) -> Iterator[AuditFinding]:
    for item in statements:
        patterns = [name for name in item.about if "/" in name or "." in name or "*" in name]
        if item.holds and patterns and not any(path_matches(one, path) for one in patterns for path in paths):
            yield _found("no file", "medium", item, f"no file matches {', '.join(patterns)}")


def overdue(ctx: Context) -> Iterator[AuditFinding]:
    due = blocks.overdue(ctx)
    for block in blocks.current(ctx, ids=due) if due else []:
        note = f"was to be reviewed by {due[block.id]}"
        yield AuditFinding("expired", "medium", block.id, shorten(block.headline, TEXT), note)


def unproven(ctx: Context) -> Iterator[AuditFinding]:
    for step, proof in unproven_since(ctx):
        place = f"{step.task} {step.path}"
        yield AuditFinding("unproven", "medium", place, shorten(step.title, TEXT), f"closed, {proof.state}")


def orphans(ctx: Context) -> Iterator[AuditFinding]:
    for task in open_tasks(ctx, MOST_TASKS):
        quiet_days = (ctx.now_ms - task.updated_at_ms) // 86_400_000
        if ctx.now_ms - task.updated_at_ms > QUIET_MS:
            yield AuditFinding("orphan", "low", task.id, shorten(task.title, TEXT), f"untouched for {quiet_days} days")


def _found(
    check: str, severity: Severity, item: AuditedStatement, note: str, other: AuditedStatement | None = None
) -> AuditFinding:
    shown = shorten(str(masked(item.text)[0]), TEXT)
    return AuditFinding(check, severity, item.place, shown, note, other.place if other else None)


def _pairs(statements: Sequence[AuditedStatement]) -> list[tuple[AuditedStatement, AuditedStatement]]:
    """Each statement with those that share most of its rarer words, each pair once."""
    words = [frozenset(terms(item.text)) for item in statements]
    holders: dict[str, list[int]] = defaultdict(list)
    for number, found in enumerate(words):
        for word in sorted(found):
            holders[word].append(number)
    pairs = {
        (min(number, other), max(number, other))
        for number in range(len(words))
        for other in _near(number, words, holders)
    }
    return [(statements[one], statements[other]) for one, other in sorted(pairs)]


def _near(number: int, words: Sequence[frozenset[str]], holders: dict[str, list[int]]) -> list[int]:
    shared: dict[int, float] = defaultdict(float)
    for word in sorted(words[number]):
        others = holders[word]
        if len(others) <= COMMON:
            for other in others:
                shared[other] += math.log(1 + len(words) / len(others))
    shared.pop(number, None)
    return sorted(shared, key=lambda other: (-shared[other], other))[:NEIGHBOURS]


def _share(one: AuditedStatement, other: AuditedStatement) -> float:
    first, second = set(normal_words(one.text)), set(normal_words(other.text))
    return len(first & second) / len(first | second) if first and second else 0.0


def _differs_in_no_number(one: AuditedStatement, other: AuditedStatement) -> bool:
    """`5 times` and `10 times` share nearly all words, and do not say the same."""
    first, second = ({word for word in terms(item.text) if word.isdigit()} for item in (one, other))
    return first == second
