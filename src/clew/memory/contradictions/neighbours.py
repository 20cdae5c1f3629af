"""Nearest neighbours: the live records that share most words with a statement, weighted by rarity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from clew.index.terms import stem, terms
from clew.memory.marks import FILLER, NEGATIVE
from clew.registry.context import Context

CANDIDATES = 60
"""Candidates for one statement: limits the cost of a write."""
COMMON = 200
"""A word in more records than this is not distinctive."""
_IGNORED = frozenset(map(stem, FILLER | NEGATIVE | {"use"}))
"""Stop words: `use Redis` and `use Kafka` have nothing in common."""


class Wording(NamedTuple):
    """The index entries of a record."""

    id: str
    words: frozenset[str]
    keys: frozenset[str] = frozenset()
    """Keys that only records about the very same subject share, however many they are."""


def words_of(statement: str) -> frozenset[str]:
    """The content words of a statement."""
    return frozenset(terms(statement)) - _IGNORED


def learn(ctx: Context, ids: Sequence[str], subjects: Iterable[Wording]) -> None:
    """Index these records, replacing any entries for `ids`."""
    ctx.tx.many("DELETE FROM decision_word WHERE workspace = ? AND id = ?", [(ctx.workspace, id) for id in ids])
    rows = [(ctx.workspace, word, item.id) for item in subjects for word in sorted(item.words | item.keys)]
    if rows:
        ctx.tx.many("INSERT INTO decision_word (workspace, word, sharp, id) VALUES (?, ?, 0, ?)", rows)


def nearest(ctx: Context, subjects: Sequence[Wording]) -> dict[str, list[str]]:
    """For each statement, the ids of the most similar other records, nearest first."""
    asked = sorted(set(chain.from_iterable(item.words | item.keys for item in subjects)))
    found = ctx.tx.batch(_HOLDING, [(ctx.workspace, word, COMMON + 1) for word in asked])
    holders = {word: [row["id"] for row in rows] for word, rows in zip(asked, found, strict=True)}
    return {item.id: _nearest(item, holders) for item in subjects}


def _nearest(subject: Wording, holders: dict[str, list[str]]) -> list[str]:
    shared: dict[str, float] = {}
    for word in sorted(subject.words | subject.keys):
        ids = holders[word]
        if len(ids) <= COMMON or word in subject.keys:
            weight = math.log((COMMON + 2) / len(ids)) if ids else 0.0
            for id in ids:
                shared[id] = shared.get(id, 0.0) + weight
    shared.pop(subject.id, None)
    # Rounded: sums of the same numbers in another order differ in their last bit.
    return sorted(shared, key=lambda id: (-round(shared[id], 6), id))[:CANDIDATES]


def with_keys(ctx: Context, keys: Sequence[str]) -> list[str]:
    """The records that have one of these keys."""
    found = ctx.tx.batch(_HOLDING, [(ctx.workspace, key, COMMON) for key in keys]) if keys else []
    return [row["id"] for rows in found for row in rows]


def sharing_words(ctx: Context, statement: str) -> list[str]:
    """The records that share most words with a statement, however common the words are."""
    asked = [(ctx.workspace, word, COMMON + 1) for word in sorted(words_of(statement))]
    shared: Counter[str] = Counter(row["id"] for rows in ctx.tx.batch(_HOLDING, asked) for row in rows)
    return [id for id, _ in shared.most_common(CANDIDATES)]


_HOLDING = "SELECT id FROM decision_word WHERE workspace = ? AND word = ? ORDER BY sharp DESC, id DESC LIMIT ?"
