"""What each speaker does more or less than the others: ask, follow a question, say much.

A remark tells something by how it differs from the usual. Where one side always asks and the other always explains,
that an item asks or explains says only who speaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from clew.recall.corpus import Corpus

Floats = NDArray[np.float32]

FEW = 20
"""With fewer items than this, a speaker is taken to be much like all others."""
LONG = 4.0
"""Where more words no longer count, in logarithms: at about fifty."""


@dataclass(frozen=True)
class Habits:
    """For each slot how far its speaker is from the mean of all, and the state of the corpus that it was seen in."""

    state: tuple[int, int]
    asking: Floats
    answering: Floats
    length: Floats


_known: WeakKeyDictionary[Corpus, Habits] = WeakKeyDictionary()


def habits(corpus: Corpus) -> Habits:
    state = (corpus.change, len(corpus))
    found = _known.get(corpus)
    if found is None or found.state != state:
        found = _known[corpus] = _seen(corpus, state)
    return found


def length_of(words: NDArray[np.floating]) -> Floats:
    """The length of items between 0 and 1: twice as much is one step, up to where more no longer counts."""
    return np.asarray(np.minimum(np.log1p(words.sum(axis=1)), LONG) / LONG, np.float32)


def _seen(corpus: Corpus, state: tuple[int, int]) -> Habits:
    speaker = corpus.source * np.int64(max(len(corpus.speakers), 1)) + corpus.speaker
    answers = corpus.question[corpus.before] & (corpus.before >= 0)
    shares = (corpus.question, answers, length_of(corpus.lengths))
    return Habits(state, *(_beyond_usual(share.astype(np.float32), speaker, corpus.alive) for share in shares))


def _beyond_usual(values: Floats, speaker: NDArray[np.int64], alive: NDArray[np.bool_]) -> Floats:
    if not alive.any():
        return np.zeros(len(values), np.float32)
    usual = float(values[alive].mean())
    groups = int(speaker.max()) + 1
    total = np.bincount(speaker[alive], weights=values[alive] - usual, minlength=groups)
    count = np.bincount(speaker[alive], minlength=groups)
    return (total / (count + FEW)).astype(np.float32)[speaker]
