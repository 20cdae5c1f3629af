"""Ranking: candidates by words and by meaning, their features, one linear model, then links and replacements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from clew.recall.corpus import HOUR_MS, Corpus, best
from clew.recall.expansion import asked_terms, date_terms, feedback_terms
from clew.recall.features import Features, Scene, features_of, look_closely, outdated
from clew.recall.graph import Way
from clew.recall.kernel import Kernel
from clew.recall.lexical import Asked, Floats, Matches, Slots
from clew.recall.likeness import Likeness
from clew.recall.period import Period
from clew.recall.query import Query

FEEDBACK = frozenset({"rm3", "broad", "multi", "chain"})


@dataclass
class Ranked:
    """Candidates, best first, with the features and weights behind their scores."""

    slots: Slots
    scores: NDArray[np.float64]
    features: Features
    weights: dict[str, float]
    scene: Scene
    ways: dict[int, Way] = field(default_factory=dict)
    """The path to each linked item, by slot."""
    successors: dict[int, int] = field(default_factory=dict)
    """Slots that no longer hold, each with the slot that replaced it."""
    replaced: frozenset[int] = frozenset()
    """Slots whose successor is known, whether it may be shown or not."""

    @property
    def matches(self) -> Matches:
        return self.scene.matches

    @property
    def added_words(self) -> list[str]:
        return [term.word for term in self.matches.asked if term.added]

    def sorted(self) -> Ranked:
        """The same candidates, sorted again after their scores have changed."""
        return self.reordered(_order(self.scores, self.slots, self.scene.corpus))

    def reordered(self, order: NDArray[np.integer]) -> Ranked:
        kept = {name: values[order] for name, values in self.features.items()}
        return replace(self, slots=self.slots[order], scores=self.scores[order], features=kept)


def rank(
    corpus: Corpus, query: Query, kernel: Kernel, visible: NDArray[np.bool_], likeness: Likeness | None = None
) -> Ranked:
    """The visible items that may answer the question, best first.

    `likeness` returns the semantic similarity, if there is an embedding model.
    """
    asked = asked_terms(corpus, query, kernel)
    matches = Matches(corpus, visible, asked, kernel)
    period = _anchored(corpus, query, matches, visible, kernel)
    own = matches.own()
    near = _spread(matches, own)
    more = _expanded(matches, query, period, own, kernel)
    if more:
        matches = matches.with_added(more)
        near = _spread(matches, matches.own())
    scene = Scene(corpus, query, kernel, matches, visible, period)
    slots = _candidates(scene, near, likeness)
    features = features_of(scene, slots)
    if likeness is not None:
        features["dense"] = _dense(likeness.of(slots), features["window"])
    return _fused(scene, slots, features)


def _expanded(matches: Matches, query: Query, period: Period | None, own: Floats, kernel: Kernel) -> list[Asked]:
    """Words that the intent adds to the question: names of its time, or vocabulary of the best items."""
    corpus, asked = matches.corpus, matches.asked
    if query.intent.expansion == "date":
        return date_terms(corpus, period, asked, kernel)
    if query.intent.expansion not in FEEDBACK or kernel.number("expansion", "weight") <= 0:
        return []
    shown = best(own, own > 0, kernel.whole("expansion", "items"), corpus)
    return feedback_terms(corpus, shown, own[shown], asked, kernel)


def _fused(scene: Scene, slots: Slots, features: Features) -> Ranked:
    weights = scene.kernel.weights(scene.matches.pages, meaning="dense" in features)
    # Two passes: the cheap features choose which items are read word by word, then all features decide.
    first = _order(_sum(features, weights, len(slots)), slots, scene.corpus)
    look_closely(scene, slots, features, first)
    # Rounded, so that the last bits of the arithmetic cannot decide an order.
    scores = np.round(_sum(features, weights, len(slots)), 6)
    ranked = Ranked(slots, scores, features, weights, scene)
    return ranked.reordered(_order(scores, slots, scene.corpus))


def with_links(ranked: Ranked, ways: dict[int, Way], likeness: Likeness | None) -> Ranked:
    """Add linked items to the candidates; they gain from the height of the result they are linked to."""
    scene = ranked.scene
    ways = {slot: way for slot, way in ways.items() if scene.visible[slot]}
    if not ways:
        return ranked
    slots = np.unique(np.concatenate((ranked.slots, np.array(sorted(ways), np.int64))))
    features = features_of(scene, slots)
    if likeness is not None:
        features["dense"] = _dense(likeness.of(slots), features["window"])
    height = dict(zip(ranked.slots.tolist(), _height(ranked.scores).tolist(), strict=True))
    pulls = [ways[slot].share * height[ways[slot].start] if slot in ways else 0.0 for slot in slots.tolist()]
    features["graph"] = np.array(pulls, np.float32)
    return replace(_fused(scene, slots, features), ways=ways)


def with_successors(ranked: Ranked, heirs: dict[int, int], likeness: Likeness | None) -> Ranked:
    """Rank each replacement at least as high as the record it replaced, and outdated records last.

    A question in the words of an old record is then answered by the new one, which may share none of these words.
    """
    scene = ranked.scene
    missing = sorted(set(heirs.values()) - set(ranked.slots.tolist()))
    if missing:
        ranked = joined(ranked, np.array(missing, np.int64), likeness)
    place = {slot: at for at, slot in enumerate(ranked.slots.tolist())}
    lifted = np.zeros(len(ranked.slots), np.float64)
    # The score that each record would have if it still held.
    held = ranked.scores - ranked.weights.get("status", 0.0) * ranked.features["status"]
    for old, new in heirs.items():
        gap = held[place[old]] - ranked.scores[place[new]]
        lifted[place[new]] = max(lifted[place[new]], gap)
    features = {**ranked.features, "successor": lifted.astype(np.float32)}
    scores = np.round(ranked.scores + lifted, 6)
    found = replace(
        ranked, scores=scores, features=features, weights={**ranked.weights, "successor": 1.0}, successors=heirs
    )
    order = _order(scores, ranked.slots, scene.corpus)
    late = outdated(scene.corpus, found.slots[order])
    return found.reordered(np.concatenate((order[~late], order[late])))


def joined(ranked: Ranked, more: Slots, likeness: Likeness | None) -> Ranked:
    """The candidates with further items added, all scored alike."""
    scene, slots = ranked.scene, np.unique(np.concatenate((ranked.slots, more)))
    features = features_of(scene, slots)
    if likeness is not None:
        features["dense"] = _dense(likeness.of(slots), features["window"])
    if "graph" in ranked.features:
        pulls = dict(zip(ranked.slots.tolist(), ranked.features["graph"].tolist(), strict=True))
        features["graph"] = np.array([pulls.get(slot, 0.0) for slot in slots.tolist()], np.float32)
    return replace(_fused(scene, slots, features), ways=ranked.ways)


def _height(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores scaled to 0 for the last candidate and 1 for the first."""
    spread = float(np.ptp(scores)) if len(scores) else 0.0
    return (scores - scores.min()) / spread if spread else np.ones(len(scores))


def _sum(features: Features, weights: dict[str, float], size: int) -> NDArray[np.float64]:
    total = np.zeros(size)
    # In a fixed order: floating-point sums depend on it.
    for name in sorted(features):
        total += weights.get(name, 0.0) * features[name].astype(np.float64)
    return total


def _order(scores: NDArray[np.floating], slots: Slots, corpus: Corpus) -> NDArray[np.integer]:
    """Best first; equal scores by ref, so that the order does not depend on how the corpus was loaded."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) + 1 if len(order) else order
    starts = np.concatenate(([0], ends[:-1])) if len(order) else order
    alike = ends - starts > 1
    for start, end in zip(starts[alike].tolist(), ends[alike].tolist(), strict=True):
        order[start:end] = sorted(order[start:end].tolist(), key=lambda at: corpus.refs[slots[at]])
    return order


def _spread(matches: Matches, own: Floats) -> Floats:
    """Scores plus a part of the neighbours' scores: approximates `Matches.folded`, to choose candidates."""
    spread, hits = own.copy(), np.flatnonzero(own)
    for links in (matches.corpus.before, matches.corpus.after):
        beside, lent = links[hits], own[hits]
        for share in (0.5, 0.25):
            there = beside >= 0
            beside, lent = beside[there], lent[there]
            # No item is adjacent to two others on the same side, so none is added to twice.
            spread[beside] += share * matches.together[beside] * lent
            beside = links[beside]
    return spread


def _candidates(scene: Scene, near: Floats, likeness: Likeness | None) -> Slots:
    kernel, visible = scene.kernel, scene.visible
    most = kernel.whole("search", "candidates")
    chosen = [best(near, visible & (near > 0), most, scene.corpus)]
    if likeness is not None:
        chosen.append(likeness.nearest(visible, kernel.whole("vector", "candidates")))
    if scene.period is not None:
        close = scene.period.closeness(scene.corpus.when, kernel.number("dates", "near_days"))
        chosen.append(best(close, visible & (close > 0.5), most // 4, scene.corpus))
    return np.unique(np.concatenate(chosen))


def _dense(cosines: Floats, words: Floats) -> Floats:
    """Semantic similarity. Fallback for an item without a vector: the value of items whose words match equally well.

    A new record must be found by its words, neither lowered nor lifted by a vector that does not exist yet. Its value
    is read from a line through the candidates that have both: word score and similarity.
    """
    known = ~np.isnan(cosines)
    if known.all():
        return np.round(cosines, 5).astype(np.float32)
    guessed = _expected(words[known].astype(np.float64), cosines[known].astype(np.float64), words.astype(np.float64))
    return np.round(np.where(known, cosines, guessed), 5).astype(np.float32)


def _expected(words: NDArray[np.float64], likeness: NDArray[np.float64], asked: NDArray[np.float64]) -> Floats:
    """Values on the least-squares line, with a slope of at least 0 and within the range that was seen."""
    if not len(words):
        return np.zeros(len(asked), np.float32)
    spread = float(((words - words.mean()) ** 2).sum())
    slope = float(((words - words.mean()) * (likeness - likeness.mean())).sum()) / spread if spread > 0 else 0.0
    line = likeness.mean() + max(slope, 0.0) * (asked - words.mean())
    return np.asarray(np.clip(line, likeness.min(), likeness.max()), np.float32)


def _anchored(
    corpus: Corpus, query: Query, matches: Matches, visible: NDArray[np.bool_], kernel: Kernel
) -> Period | None:
    """Resolve `before the migration`: the time of the item that matches the migration's words best."""
    period = query.period
    if period is None or period.side is None:
        return period
    words = [replace_words for replace_words in matches.asked if replace_words.word in period.anchor]
    own = Matches(corpus, visible, words, kernel).own() if words else np.zeros(0, np.float32)
    named = best(own, visible & (own > 0), 1, corpus) if len(own) else np.zeros(0, np.int64)
    if not len(named):
        return None
    # Widened by one sitting: items written in one go with the event are neither clearly before nor after it.
    moment, sitting = int(corpus.when[named[0]]), int(corpus.pause_hours * HOUR_MS)
    low, high = (None, moment + sitting) if period.side == "before" else (moment - sitting, None)
    found = Period(low, high, spared=int(named[0]))
    # A period that contains every item does not distinguish any, so it is dropped.
    outside = found.closeness(corpus.when[visible], 0.0) <= 0
    return found if outside.any() else None
