"""The words of two sentences beside each other: which mean the same, and which exclude each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clew.memory.contradictions.nearness import nearness
from clew.memory.contradictions.sentences import Meaning, Sentence
from clew.memory.contradictions.word_groups import vocabulary

KIN = 0.4
"""Cosine from which two words are of one kind: English and German."""
Pairs = list[tuple[Meaning, Meaning]]


@dataclass(frozen=True, slots=True)
class Alignment:
    """For each word of a sentence how well the other has it, and the pairs of words that exclude each other."""

    first: tuple[float, ...]
    second: tuple[float, ...]
    opposites: Pairs
    rivals: Pairs
    apart: Pairs
    names: Pairs
    kin: list[tuple[Meaning, Meaning, float]]


def align(a: Sentence, b: Sentence) -> Alignment:
    best_a, best_b = [0.0] * len(a.tokens), [0.0] * len(b.tokens)
    have_a, have_b = a.contrast.words, b.contrast.words
    found = Alignment((), (), [], [], [], [], [])
    for i, x in enumerate(a.tokens):
        own = x.mean not in have_b
        for j, y in enumerate(b.tokens):
            if x.mean == y.mean:
                near = 1.0
            else:
                kind, cosine, near = _relation(x.mean, y.mean)
                if own and y.mean not in have_a:
                    near = _differ(found, x, y, kind, cosine, near)
            if near:
                best_a[i], best_b[j] = max(best_a[i], near), max(best_b[j], near)
    return Alignment(tuple(best_a), tuple(best_b), found.opposites, found.rivals, found.apart, found.names, found.kin)


@lru_cache(maxsize=60_000)
def _relation(one: str, other: str) -> tuple[str, float, float]:
    """How two meanings exclude each other, their cosine, and that as a share."""
    known, cosine = vocabulary(), nearness(one, other)
    kind = ""
    if known.opposed(one, other):
        kind = "opposite"
    elif known.rivals(one, other):
        kind = "rival"
    elif known.apart(one, other):
        kind = "apart"
    return kind, cosine, scaled(cosine)


def scaled(cosine: float) -> float:
    """A cosine as a share: below 0.3 words have nothing in common, from 0.8 on they mean the same."""
    return max(0.0, min(1.0, (cosine - 0.3) / 0.5))


def _differ(found: Alignment, x: Meaning, y: Meaning, kind: str, cosine: float, near: float) -> float:
    """Note how two words differ that only one sentence each has; returns how near they are."""
    if kind == "opposite":
        found.opposites.append((x, y))
    elif kind == "rival":
        found.rivals.append((x, y))
    elif kind == "apart":
        found.apart.append((x, y))
    elif x.name and y.name:
        found.names.append((x, y))
    else:
        if cosine >= KIN:
            found.kin.append((x, y, cosine))
        return near
    return 0.0
