"""What a collection is like, measured on what it says.

Cohesion: turns of a conversation share words with the turn before them far more often than with turns from elsewhere.
Entries that were merely put one after the other do not, and then the neighbours of an item say nothing about it.

Habits: a remark tells something by how it differs from what its speaker usually does. Where one side always asks and
the other always explains, asking or explaining says only who speaks.
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
"""As long as fewer pairs than this were seen, neighbours are believed to belong together as much as those of the source
do, and those of a source fully."""
ANY = 2
"""Spoken or not: all items of a source."""
APART, TOGETHER = 1.1, 1.6
"""How much more alike neighbours are than strangers: up to the first not together at all, from the second on fully."""
STRANGERS = 4
CHANCE = 0.01
"""Likeness that is added on both sides, so that one word shared among texts that share hardly any proves nothing."""

_SCATTER = np.uint64(0x9E3779B97F4A7C15)
"""Multiplying by it scatters consecutive numbers evenly over 64 bits (Knuth's multiplicative hash)."""
FEW = 20
"""With fewer items than this, a speaker is taken to be much like all others."""
LONG = 4.0
"""Where more words no longer count, in logarithms: at about fifty."""


@dataclass
class Seen:
    """What was measured on a corpus, and the state it was measured in."""

    state: tuple[int, int] = (-1, -1)
    shares: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    samples: dict[tuple[int, int], tuple[bytes, float]] = field(default_factory=dict)


def cohesion(corpus: Corpus) -> Floats:
    """For each slot, from 0 to 1, how far what stands around it is about the same."""
    seen = corpus.companion(Seen)
    state = (corpus.change, len(corpus))
    if seen.state != state:
        seen.shares, seen.state = _shares(corpus, seen), state
    return seen.shares


def _shares(corpus: Corpus, seen: Seen) -> Floats:
    """One number for each group of items that are written alike; a small group is like the rest of its source."""
    found = np.zeros(len(corpus), np.float32)
    followers = corpus.alive & (corpus.before >= 0)
    for source in np.unique(corpus.source[followers]).tolist():
        members = corpus.source == source
        whole = _measured(corpus, seen, (source, ANY), members & followers, 1.0)
        for kind in (False, True):
            group = members & (corpus.continues == kind)
            inside = group & followers
            some = inside.any() and bool((inside != (members & followers)).any())
            found[group] = _measured(corpus, seen, (source, int(kind)), inside, whole) if some else whole
    # Who has no neighbours stands for itself, however the others stand.
    found[corpus.alive & (corpus.before < 0) & (corpus.after < 0)] = 0.0
    return found


def _measured(
    corpus: Corpus, seen: Seen, group: tuple[int, int], followers: NDArray[np.bool_], believed: float
) -> float:
    """The evidence of some of the followers; measured again only when those that are chosen have changed."""
    chosen = _sample(corpus, np.flatnonzero(followers))
    key = np.stack((chosen, corpus.before[chosen])).tobytes()
    if group not in seen.samples or seen.samples[group][0] != key:
        seen.samples[group] = (key, _evidence(corpus, chosen))
    return (PRIOR_PAIRS * believed + len(chosen) * seen.samples[group][1]) / (PRIOR_PAIRS + len(chosen))


def _sample(corpus: Corpus, followers: Slots) -> Slots:
    """Some of them, chosen by their seqs: the same on both engines, and one more item seldom changes the choice."""
    with np.errstate(over="ignore"):
        place = corpus.seq[followers].astype(np.uint64) * _SCATTER
    if len(followers) > MOST_PAIRS:
        first = place <= np.partition(place, MOST_PAIRS - 1)[MOST_PAIRS - 1]
        followers, place = followers[first], place[first]
    return followers[np.lexsort((corpus.ids[followers], place))][:MOST_PAIRS]


def _evidence(corpus: Corpus, chosen: Slots) -> float:
    """Likeness to the item before against likeness to some other one."""
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
    """Without the last field, the speaker: neighbours share or change it by the way people talk."""
    fields = corpus.lengths.shape[1]
    keys = corpus.reading(slot)
    return frozenset((keys[keys % fields != fields - 1] // fields).tolist()) - fillers


def _alike(left: frozenset[int], right: frozenset[int]) -> float:
    return float(len(left & right) / (len(left) * len(right)) ** 0.5) if left and right else 0.0


@dataclass(frozen=True)
class Habits:
    """For each slot how far its speaker is from the mean of all, and the state of the corpus that it was seen in."""

    state: tuple[int, int]
    asking: Floats
    answering: Floats
    length: Floats


@dataclass
class KeptHabits:
    """The habits of a corpus, as long as it does not change."""

    habits: Habits | None = None


def habits(corpus: Corpus) -> Habits:
    state = (corpus.change, len(corpus))
    kept = corpus.companion(KeptHabits)
    if kept.habits is None or kept.habits.state != state:
        kept.habits = _habits_of(corpus, state)
    return kept.habits


def length_of(words: NDArray[np.floating]) -> Floats:
    """The length of items between 0 and 1: twice as much is one step, up to where more no longer counts."""
    return np.asarray(np.minimum(np.log1p(words.sum(axis=1)), LONG) / LONG, np.float32)


def _habits_of(corpus: Corpus, state: tuple[int, int]) -> Habits:
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
