"""Two measures of a corpus that decide how far context counts: cohesion and habits.

Cohesion: turns of a conversation share words with the turn before them far more often than with turns from elsewhere.
Entries that merely follow one another do not, and then the neighbours of an item say nothing about it.

Habits: a remark is informative where it differs from what its speaker usually does. If one side always asks and
the other always explains, a question or an explanation only identifies the speaker.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clew.recall.corpus import Corpus
from clew.recall.query import FILLER

Floats = NDArray[np.float32]
Slots = NDArray[np.int64]

MOST_PAIRS = 128
PRIOR_PAIRS = 16
"""Weight of the assumption before measuring, in pairs: a group behaves like its source, and a source is cohesive."""
ANY = 2
"""Key of all items of a source, spoken or not."""
APART, TOGETHER = 1.1, 1.6
"""Thresholds for the ratio of the similarity of neighbours to that of unrelated items: cohesion is 0 up to the
first, 1 from the second on."""
STRANGERS = 4
CHANCE = 0.01
"""Added to both sides of the ratio, so that one shared word among texts that share almost none proves nothing."""

_SCATTER = np.uint64(0x9E3779B97F4A7C15)
"""Multiplying by it spreads consecutive numbers evenly over 64 bits (Knuth's multiplicative hash)."""
FEW = 20
"""Weight of the assumption, in items, that a speaker is like all others."""
LONG = 4.0
"""The logarithm of the length beyond which more words do not count: about fifty words."""


@dataclass
class Seen:
    """The cohesion of a corpus, and the state in which it was measured."""

    state: tuple[int, int] = (-1, -1)
    shares: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    samples: dict[tuple[int, int], tuple[bytes, float]] = field(default_factory=dict)


def cohesion(corpus: Corpus) -> Floats:
    """For each slot, from 0 to 1, how far its neighbours are about the same subject."""
    seen = corpus.companion(Seen)
    state = (corpus.change, len(corpus))
    if seen.state != state:
        seen.shares, seen.state = _shares(corpus, seen), state
    return seen.shares


def _shares(corpus: Corpus, seen: Seen) -> Floats:
    """One value for each group (spoken or not) of a source; a small group is pulled towards its source."""
    found = np.zeros(len(corpus), np.float32)
    followers = corpus.alive & (corpus.before >= 0)
    for source in np.flatnonzero(np.bincount(corpus.source[followers])).tolist():
        members = corpus.source == source
        whole = _measured(corpus, seen, (source, ANY), members & followers, 1.0)
        for kind in (False, True):
            group = members & (corpus.continues == kind)
            inside = group & followers
            some = inside.any() and bool((inside != (members & followers)).any())
            found[group] = _measured(corpus, seen, (source, int(kind)), inside, whole) if some else whole
    # An item without neighbours has no context, whatever its group is like.
    found[corpus.alive & (corpus.before < 0) & (corpus.after < 0)] = 0.0
    return found


def _measured(
    corpus: Corpus, seen: Seen, group: tuple[int, int], followers: NDArray[np.bool_], believed: float
) -> float:
    """The cohesion of a sample of the followers; measured again only when the sample has changed."""
    chosen = _sample(corpus, np.flatnonzero(followers))
    key = np.stack((chosen, corpus.before[chosen])).tobytes()
    if group not in seen.samples or seen.samples[group][0] != key:
        seen.samples[group] = (key, _evidence(corpus, chosen))
    return (PRIOR_PAIRS * believed + len(chosen) * seen.samples[group][1]) / (PRIOR_PAIRS + len(chosen))


def _sample(corpus: Corpus, followers: Slots) -> Slots:
    """A sample chosen by a hash of the seqs: equal on both engines, and seldom changed by one more item."""
    with np.errstate(over="ignore"):
        place = corpus.seq[followers].astype(np.uint64) * _SCATTER
    if len(followers) > MOST_PAIRS:
        first = place <= np.partition(place, MOST_PAIRS - 1)[MOST_PAIRS - 1]
        followers, place = followers[first], place[first]
    return followers[np.lexsort((corpus.ids[followers], place))][:MOST_PAIRS]


def _evidence(corpus: Corpus, chosen: Slots) -> float:
    """Compare the similarity to the item before with the similarity to others of the sample."""
    fillers = frozenset(number for number in map(corpus.term, FILLER) if number is not None)
    here = [_words(corpus, int(slot), fillers) for slot in chosen]
    before = [_words(corpus, int(slot), fillers) for slot in corpus.before[chosen]]
    beside = sum(map(_alike, here, before))
    others = [before[at:] + before[:at] for at in range(1, STRANGERS + 1)]
    apart = sum(sum(map(_alike, here, other)) for other in others) / STRANGERS
    chance = CHANCE * len(chosen)
    ratio = (beside + chance) / (apart + chance)
    return min(max((ratio - APART) / (TOGETHER - APART), 0.0), 1.0)


def _words(corpus: Corpus, slot: int, fillers: frozenset[int]) -> frozenset[int]:
    """The words of an item without fillers and without the speaker, which alternates in any conversation."""
    fields = corpus.lengths.shape[1]
    keys = corpus.reading(slot)
    return frozenset((keys[keys % fields != fields - 1] // fields).tolist()) - fillers


def _alike(left: frozenset[int], right: frozenset[int]) -> float:
    return float(len(left & right) / (len(left) * len(right)) ** 0.5) if left and right else 0.0


@dataclass(frozen=True)
class Habits:
    """How far each speaker differs from the mean of all, by the speaker's number, and the state in which that was
    measured."""

    state: tuple[int, int]
    asking: Floats
    answering: Floats
    length: Floats


@dataclass
class KeptHabits:
    """The habits of a corpus, kept until it changes."""

    habits: Habits | None = None


def habits(corpus: Corpus) -> Habits:
    state = (corpus.change, len(corpus))
    kept = corpus.companion(KeptHabits)
    if kept.habits is None or kept.habits.state != state:
        kept.habits = _habits_of(corpus, state)
    return kept.habits


def length_of(words: NDArray[np.floating]) -> Floats:
    """The length of items on a logarithmic scale from 0 to 1, which ends at about fifty words."""
    return np.asarray(np.minimum(np.log1p(words.sum(axis=1)), LONG) / LONG, np.float32)


def speakers_of(corpus: Corpus, slots: Slots) -> Slots:
    """The number of each item's speaker; the same name in two sources is two speakers."""
    names = np.int64(max(len(corpus.speakers), 1))
    return np.asarray(corpus.source[slots] * names + corpus.speaker[slots], np.int64)


def _habits_of(corpus: Corpus, state: tuple[int, int]) -> Habits:
    living = np.flatnonzero(corpus.alive)
    before, speaker = corpus.before[living], speakers_of(corpus, living)
    answers = corpus.question[before] & (before >= 0)
    shares = (corpus.question[living], answers, length_of(corpus.lengths[living]))
    return Habits(state, *(_beyond_usual(share.astype(np.float32), speaker) for share in shares))


def _beyond_usual(values: Floats, speaker: Slots) -> Floats:
    usual = float(values.mean()) if len(values) else 0.0
    total = np.bincount(speaker, weights=values - usual)
    return (total / (np.bincount(speaker) + FEW)).astype(np.float32)
