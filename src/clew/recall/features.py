"""The named features of a candidate, each between about 0 and 1. `explain` shows them with their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clew.index.terms import stem
from clew.kinds.catalogue import kind_named, state_of_item
from clew.kinds.state import OVER
from clew.kinds.statuses import DISPROVED
from clew.recall.corpus import Corpus
from clew.recall.kernel import Kernel
from clew.recall.lexical import (
    Floats,
    Matches,
    Neighbours,
    Readings,
    Slots,
    around_shares,
    before_shares,
    neighbours,
    phrases,
    proximity,
    readings,
)
from clew.recall.measures import habits, length_of, speakers_of
from clew.recall.period import Period, asks_for_newest
from clew.recall.query import Query

# Candidates that are read word by word; reading all of them would cost more than the rest of the search.
CLOSE_LOOK = 64
_state_of = lru_cache(maxsize=2_000)(state_of_item)
GUESSED = 0.6
"""Weight of a time that had to be searched (`before the migration`): another event may be meant."""
Features = dict[str, Floats]


@dataclass(frozen=True)
class Scene:
    """The input of all features of one search."""

    corpus: Corpus
    query: Query
    kernel: Kernel
    matches: Matches
    visible: NDArray[np.bool_]
    period: Period | None


def features_of(scene: Scene, slots: Slots) -> Features:
    """The features of candidates that require neither an embedding model nor links."""
    near = neighbours(scene.corpus, slots, scene.visible)
    found = {
        **_word_features(scene, slots, near),
        **_shape_features(scene, slots, near),
        **_time_features(scene, slots),
    }
    found["speaker"] = _speaker(scene, slots)
    found["status"] = _no_longer_holds(scene, slots)
    found["kind"] = _kinds(scene, slots)
    return found


def look_closely(scene: Scene, slots: Slots, features: Features, order: NDArray[np.integer]) -> None:
    """Add the features that read items word by word, for the first CLOSE_LOOK candidates only."""
    features["proximity"] = np.zeros(len(slots), np.float32)
    features["phrase"] = np.zeros(len(slots), np.float32)
    features["cue"] = np.zeros(len(slots), np.float32)
    features["entity"] = np.zeros(len(slots), np.float32)
    first = order[:CLOSE_LOOK]
    chosen, matches = slots[first], scene.matches
    read = readings(scene.corpus, chosen)
    features["proximity"][first] = proximity(read, matches.asked, matches.rarity)
    if scene.query.intent.expansion == "exact":
        features["proximity"][first] *= scene.kernel.number("verify", "proximity_factor")
    wanted = [[scene.corpus.term(word) or -1 for word in phrase] for phrase in scene.query.phrases]
    if wanted:
        features["phrase"][first] = phrases(read, wanted)
    features["cue"][first] = _cues(scene, read)
    if scene.query.intent.rerank == "exact":
        features["entity"][first] = _names(matches, chosen)


def _word_features(scene: Scene, slots: Slots, near: Neighbours) -> Features:
    kernel, matches = scene.kernel, scene.matches
    around = around_shares(kernel.numbers("context", "around"))
    before = before_shares(kernel.numbers("context", "before"))
    return {
        "window": matches.folded(near, around),
        "lead": matches.folded(near, before),
        "document": matches.documents(slots),
        "coverage": matches.coverage(near, 1),
    }


def _shape_features(scene: Scene, slots: Slots, near: Neighbours) -> Features:
    """Question, answer and length of a remark, compared with its speaker's habits; 0 outside of conversations."""
    corpus, talk = scene.corpus, scene.matches.cohesion[slots]
    if not talk.any():
        # An item outside of a conversation gets full length: BM25 already accounts for lengths.
        nothing = np.zeros(len(slots), np.float32)
        return {"question": nothing, "answer": nothing, "length": nothing + 1}
    usual, speaker = habits(corpus), speakers_of(corpus, slots)
    answers = corpus.question[near.slots[:, 1]] & near.present[:, 1]
    length = length_of(corpus.lengths[slots]) - usual.length[speaker]
    return {
        "question": (talk * (corpus.question[slots] - usual.asking[speaker])).astype(np.float32),
        "answer": (talk * (answers - usual.answering[speaker])).astype(np.float32),
        "length": (1 - talk * (1 - length)).astype(np.float32),
    }


def _time_features(scene: Scene, slots: Slots) -> Features:
    found = {"date": _closeness(scene, slots), "recency": np.zeros(len(slots), np.float32)}
    if asks_for_newest(scene.query.text) and scene.visible.any():
        when = scene.corpus.when[scene.visible]
        oldest, newest = when.min(), when.max()
        found["recency"] = ((scene.corpus.when[slots] - oldest) / max(newest - oldest, 1)).astype(np.float32)
    return found


def _closeness(scene: Scene, slots: Slots) -> Floats:
    if scene.period is None:
        return np.zeros(len(slots), np.float32)
    found = scene.period.closeness(scene.corpus.when[slots], scene.kernel.number("dates", "near_days"))
    if scene.period.spared is None:
        return found
    return np.where(slots == scene.period.spared, np.float32(0), found * np.float32(GUESSED))


def _speaker(scene: Scene, slots: Slots) -> Floats:
    """1 for items of a speaker whom the question names; 0 if it names all speakers, or there is only one.

    Lower where few items have a speaker: text such as `list: ...` only looks like a line of a transcript.
    """
    corpus, asked = scene.corpus, {*scene.query.terms, *scene.query.persons}
    known = corpus.speaker_terms()
    named = {code for code, name in known.items() if name & asked}
    if not named:
        return np.zeros(len(slots), np.float32)
    heard = np.bincount(corpus.speaker[scene.visible], minlength=len(corpus.speakers))
    present = {code for code in known if heard[code]}
    if not named & present or named >= present:
        return np.zeros(len(slots), np.float32)
    spoken = float(heard[list(known)].sum() / heard.sum())
    return np.isin(corpus.speaker[slots], list(named)).astype(np.float32) * np.float32(min(2 * spoken, 1.0))


def _no_longer_holds(scene: Scene, slots: Slots) -> Floats:
    """1 for records that no longer hold (the weight is negative); 0 for all if the question asks about the past."""
    if scene.query.history:
        return np.zeros(len(slots), np.float32)
    return scene.corpus.are(slots, _is_over).astype(np.float32)


def outdated(corpus: Corpus, slots: Slots) -> NDArray[np.bool_]:
    """Which of these items are outdated, so that current ones are ranked before them.

    A disproved hypothesis is not outdated: that it was found false is an answer.
    """
    return corpus.are(slots, _is_outdated)


def _is_outdated(source: str, kind: str | None, status: str | None) -> bool:
    return _is_over(source, kind, status) and (status or "").lower() != DISPROVED


def _is_over(source: str, kind: str | None, status: str | None) -> bool:
    return _state_of(source, kind, status) in OVER


def _kinds(scene: Scene, slots: Slots) -> Floats:
    """1 for a kind that the question names; how binding it is if the question announces work."""
    asked = set(scene.query.terms)
    worth = [_kind_worth(kind or "", asked, scene.query.doing) for _, kind, _ in scene.corpus.shelves]
    if not any(worth):
        return np.zeros(len(slots), np.float32)
    return np.array(worth, np.float32)[scene.corpus.shelf[slots]]


def _kind_worth(kind: str, asked: set[str], doing: bool) -> float:
    named = bool(kind) and stem(kind.lower()) in asked
    return max(float(named), _binds(kind) if doing else 0.0)


def _binds(kind: str) -> float:
    known = kind_named(kind.lower())
    return known.binds if known is not None else 0.0


def _cues(scene: Scene, read: Readings) -> Floats:
    """1 for items that contain a word typical of such answers: `because`, `yesterday`, `first`."""
    known = (scene.corpus.term(stem(word)) for word in scene.kernel.cues(scene.query.intent.rerank))
    return read.holding([number for number in known if number is not None]).astype(np.float32)


def _names(matches: Matches, slots: Slots) -> Floats:
    named = [at for at, term in enumerate(matches.asked) if term.named]
    if not named:
        return np.zeros(len(slots), np.float32)
    return np.asarray((matches.counts[named][:, slots] > 0).mean(axis=0), np.float32)
