"""Whether the best candidates answer the question, and which of the others are worth showing.

A question that the store cannot answer may still consist of its words. What stays below the bar is shown as weak, and
never withheld: refusing cost more good answers than it spared bad ones. Weighted signs are summed and compared with a
bar, which `benchmarks/silence.py` fits for talk and `benchmarks/left_out.py` for pages. In conversations of few items
the signs mean little, so no bar is applied; among pages the bar grows with the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.index.postings import FIELD_COUNT
from clew.index.terms import stem, terms
from clew.memory.kernel_defaults import SIGNS
from clew.recall.kernel import Kernel
from clew.recall.lexical import Floats, around_shares, neighbours
from clew.recall.query import Query
from clew.recall.ranking import Ranked

LOOKED_AT = 10
_ASKS = re.compile(
    r"\?\s*$|^\s*(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|can|could|has|have|may"
    r"|should|will|would)\b",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|often|old|big|large|small|fast|high|deep|far|wide|soon|late)\b"
    r"|\b(?:what|which) (?:\w+ ){0,2}(?:version|port|day|year|month|number|rate|size|limit|share|price|cost|fee|budget"
    r"|threshold|throughput|width|height|length)\b|\b(?:maximum|minimum|largest|smallest)\b|\bp\d\d\b",
    re.IGNORECASE,
)
_ASKS_PRICE = re.compile(
    r"^\s*(?:how|what|which)\b.*\b(?:costs?|price|pays?|charged?|fee|rent|budget|discount|margin)\b", re.IGNORECASE
)
_ASKS_VERSION = re.compile(r"^\s*(?:what|which)\b.*\bversions?\b", re.IGNORECASE)
_PREFERRED_TO = re.compile(
    r"\b(?:why|choose|chose|chosen|prefer|preferred)\b.*\b(?:over|than|instead of|rather than)\s+([\w.-]+)",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"\d\.\d")
_NUMBERS = """
two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred thousand
million
twice daily weekly monthly hourly nightly
monday tuesday wednesday thursday friday saturday sunday
"""
NUMBERS = frozenset(stem(word) for word in _NUMBERS.split())
"""Words that can answer a question for a number, beside digits."""
MONEY = frozenset(stem(word) for word in ("euro", "eur", "cent", "dollar", "usd", "credit", "cost", "price", "pay"))
VERSION = stem("version")
CLOSEST = 3
"""How many of the best items may hold the number or price that is asked for: the first need not be the answer."""
UNKNOWN = 0.5
"""Weight of a word that no item holds, as a share of the rarest word's: items may use a synonym of it."""

_ASKING = """
many much kind type sort mention describe say tell name according refer regard example item thing opinion particular
specific certain previous
"""
ASKING = frozenset(stem(word) for word in _ASKING.split())
"""Words that say what sort of answer is wanted; answers themselves seldom contain them."""
CLOSE = 0.7
LEAST_COVERED, LEAST_ALIKE = 0.05, 0.25
"""An item that shares less with the question than this part of what the best one shares is left out. On the sets of
`docs/recall.md` no wanted item falls below."""
SPEAKER = FIELD_COUNT - 1
LEAST_WORDS = 2
"""A part of a question with fewer telling words could be answered by any item."""
LINKED = 0.05
HALF = 0.5
FULL_SIZE = 100
FEW_ITEMS = 5
"""A store of fewer items shows the best it has: the bar was fitted on stores of five items and more."""
GROWS = 0.8
"""The share of the bar that grows with the store: how a question is put does not depend on how much is kept."""
AT_THE_BAR = -1.05
"""The log-odds of an answer exactly at the bar of pages, fitted on as many answerable questions as others; the same by
words and with a model."""
PLAIN = 0.95
"""The probability shown where no bar was needed."""
HIGH, MIDDLE = 0.75, 0.5


@dataclass(frozen=True)
class Evidence:
    """The telling words of a question, and which of the best candidates hold them."""

    ranked: Ranked

    @cached_property
    def places(self) -> list[int]:
        """Rows of the question's telling words, without speakers (they are in every item) and without `ASKING`."""
        asked = self.ranked.matches.asked
        spoken = frozenset().union(*self.ranked.scene.corpus.speaker_terms().values())
        own = [at for at, term in enumerate(asked) if not term.added and term.word not in spoken]
        return [at for at in own if asked[at].word not in ASKING] or own

    @cached_property
    def unheld(self) -> NDArray[np.bool_]:
        return np.asarray(self.ranked.matches.held[self.places] == 0, bool)

    @cached_property
    def strange(self) -> NDArray[np.bool_]:
        """Names that no item holds; names have no synonyms. If most words are capitalised, the question is a title."""
        named = np.array([self.ranked.matches.asked[at].named for at in self.places], bool)
        return named & self.unheld & bool(2 * named.sum() <= len(named))

    @cached_property
    def rarest(self) -> float:
        """The weight of a word that only one item holds, in nats."""
        return float(np.log1p(self.ranked.matches.size))

    @cached_property
    def tells(self) -> NDArray[np.float64]:
        """The weight of each word: how unlikely it is that an item holds it by chance, in nats."""
        held = self.ranked.matches.held[self.places]
        known = -np.log(np.minimum(np.maximum(held, 1) / self.ranked.matches.size, 1.0))
        return np.where(self.unheld, np.where(self.strange, 1.0, UNKNOWN) * self.rarest, known)

    @cached_property
    def found(self) -> Floats:
        """For each word and each of the best candidates: 1 if the item holds it, less if only a neighbour does."""
        matches, slots = self.ranked.matches, self.ranked.slots[:LOOKED_AT]
        near = neighbours(matches.corpus, slots, matches.visible)
        shares = np.tile(around_shares(self.ranked.scene.kernel.numbers("context", "around")), (len(slots), 1))
        shares[:, 1:] *= matches.together[slots][:, None]
        there = matches.counts[np.array(self.places, np.int64)[:, None, None], near.slots] > 0
        return np.asarray((there * (near.present * shares)).max(axis=2), np.float32)

    def held(self) -> float:
        """The largest share of the question's weight that one candidate holds.

        If the question asks for several things, the best part counts: answering one of them is an answer.
        """
        return max([self._best(self.found) / self._total, *map(self._held_of, self.ranked.scene.query.parts)])

    def _held_of(self, part: frozenset[str]) -> float:
        rows = [row for row, at in enumerate(self.places) if self.ranked.matches.asked[at].word in part]
        if len(rows) < LEAST_WORDS:
            return 0.0
        tells = self.tells[rows]
        return float((tells @ self.found[rows]).max(initial=0.0)) / (float(tells.sum()) or 1.0)

    def held_alone(self) -> float:
        """The same without the words of neighbours."""
        return self._best(self.found >= 1) / self._total

    def amount(self) -> float:
        """The weight that one candidate holds, in units of the rarest word."""
        return self._best(self.found) / self.rarest

    def chance(self) -> float:
        """The share that an average place would hold: frequent words meet somewhere, whatever is asked."""
        matches = self.ranked.matches
        wide = 1 + 2 * float(matches.together[self.ranked.slots[0]])
        usual = 1 - (1 - np.minimum(matches.held[self.places] / matches.size, 1.0)) ** wide
        return float(self.tells @ usual) / self._total

    def unknown(self) -> float:
        """The share of words that no item holds: it lowers `held` for good and bad questions alike."""
        return float((self.unheld & ~self.strange).mean()) if self.places else 0.0

    def words(self) -> float:
        """The logarithm of the number of telling words: a question of few words is met by many items."""
        return float(np.log1p(len(self.places)))

    def long(self) -> float:
        """The logarithm of the question's length in words: people describe what they know was written. Scripts without
        spaces count by their terms."""
        return float(np.log1p(max(len(self.ranked.scene.query.text.split()), len(self.places))))

    def asks(self) -> float:
        """1 for a question. Key words and plans accept whatever is near; only a question can be without an answer."""
        return float(bool(_ASKS.search(self.ranked.scene.query.text)))

    def lacks(self) -> float:
        """1 when a number, a version, a price or the other of two is asked for, and none of the closest holds one."""
        query = self.ranked.scene.query
        # A question for several things may be answered in the others.
        tests = [] if query.parts else _sorts_of_answer(query.text)
        if not tests:
            return 0.0
        found = [self._words_of(int(slot)) for slot in self.ranked.slots[:CLOSEST]]
        return float(not all(any(map(test, found)) for test in tests))

    def _words_of(self, slot: int) -> set[str]:
        """The words of an item, apart from those in its id and in the name of its speaker."""
        corpus = self.ranked.scene.corpus
        keys, known = corpus.reading(slot), corpus.words()
        words = {known[number] for number in (keys[keys % FIELD_COUNT != SPEAKER] // FIELD_COUNT).tolist()}
        return words - set(terms(corpus.refs[slot]))

    def ahead(self) -> float:
        """How far the best score exceeds the mean of the next nine: an answer stands out."""
        best, others = self.ranked.scores[0], self.ranked.scores[1:LOOKED_AT]
        return float(best - others.mean()) if len(others) else 0.0

    def alone(self) -> float:
        """How independent the best item is of its neighbours: in a conversation they repeat the answer's words."""
        return 1 - float(self.ranked.matches.cohesion[self.ranked.slots[0]])

    @property
    def _total(self) -> float:
        return float(self.tells.sum()) or 1.0

    def _best(self, found: NDArray[Any]) -> float:
        return float((self.tells @ found).max(initial=0.0))


def _sorts_of_answer(text: str) -> list[Callable[[set[str]], bool]]:
    """What the words of an answer must show, by what the question asks for."""
    asked: list[tuple[re.Pattern[str], Callable[[set[str]], bool]]] = [
        (_ASKS_NUMBER, _counts),
        (_ASKS_PRICE, lambda words: bool(words & MONEY)),
        (_ASKS_VERSION, lambda words: VERSION in words or any(map(_DOTTED.search, words))),
    ]
    found = [test for pattern, test in asked if pattern.search(text)]
    other = _PREFERRED_TO.search(text)
    return [*found, set(terms(other.group(1))).issubset] if other else found


def _counts(words: set[str]) -> bool:
    return any(word in NUMBERS or any(map(str.isdigit, word)) for word in words)


def signs(evidence: Evidence) -> dict[str, float]:
    """The signs for and against an answer; the weights of the bar are fitted on them."""
    features = evidence.ranked.features
    if not len(evidence.ranked.slots):
        return dict.fromkeys(SIGNS, 0.0)
    found = {
        "held": evidence.held(),
        "amount": evidence.amount(),
        "chance": evidence.chance(),
        "proximity": float(features["proximity"][:LOOKED_AT].max()),
        "unknown": evidence.unknown(),
        "alone": evidence.alone(),
        "dense": _alike(evidence.ranked),
        "words": evidence.words(),
        "long": evidence.long(),
        "asks": evidence.asks(),
        "lacks": evidence.lacks(),
        "ahead": evidence.ahead(),
    }
    return {name: round(value, 4) for name, value in found.items()}


@dataclass(frozen=True)
class Relevance:
    value: float
    needed: float
    worth_showing: NDArray[np.bool_]
    signs: dict[str, float] = field(default_factory=dict)
    """The signs that the value was summed from; empty where no bar was needed."""
    anyway: bool = False
    """Whether an item is so similar in meaning, or the store so small, that the best is shown, however unlikely it is
    the answer."""
    few: bool = False
    """Whether the store is that small."""
    scattered: bool = False
    """Whether two key words are asked for that no item holds together."""

    @property
    def reaches_bar(self) -> bool:
        return bool(self.worth_showing.any()) and (self.anyway or self.value >= self.needed)

    @property
    def probability(self) -> float:
        """How likely the store holds an answer. The bars were fitted to stand where it is one in four."""
        if not self.worth_showing.any():
            return 0.0
        if not self.signs:
            return PLAIN
        return round(float(1 / (1 + np.exp(-(self.value - self.needed + AT_THE_BAR)))), 3)

    @property
    def doubtful(self) -> bool:
        """Whether candidates are shown that hardly answer. In a store of a few items the signs mean too little."""
        return self.confidence == "low" and not self.few

    @property
    def confidence(self) -> str:
        if not self.worth_showing.any():
            return "none"
        if self.scattered or self.probability < MIDDLE:
            return "low"
        return "high" if self.probability >= HIGH else "middle"


def judge(ranked: Ranked, kernel: Kernel, query: Query) -> Relevance:
    worth, evidence = worth_showing(ranked), Evidence(ranked)
    if not len(ranked.slots) or _plain(evidence, kernel, query):
        return Relevance(0.0, 0.0, worth)
    section = "floor_meaning" if "dense" in ranked.features else "floor_words"
    growth, anyway, few, scattered = 1.0, False, ranked.matches.size < FEW_ITEMS, False
    if _among_pages(ranked):
        section, growth = f"{section}_pages", asked_of(ranked.matches.size)
        alike = _alike(ranked) >= kernel.number("floor", "alike")
        scattered = _few_key_words(evidence) and not evidence.unheld.any() and not alike
        anyway = few or alike or scattered
    needed = kernel.number(section, "needed") * growth
    found = signs(evidence)
    value = sum(kernel.number(section, name) * sign for name, sign in found.items())
    return Relevance(round(value, 4), round(needed, 4), worth, found, anyway, few, scattered)


def _among_pages(ranked: Ranked) -> bool:
    return ranked.matches.pages >= HALF


def asked_of(items: int) -> float:
    """How much of the bar is asked of a store of this size."""
    return 1 - GROWS + GROWS * grown(items)


def grown(items: int) -> float:
    """How good the best item is by chance alone, as a share of that in a store of full size.

    By chance alone the best of many unrelated items is better than the best of a few: the largest of n draws grows
    with the square root of log n.
    """
    return min(float(np.sqrt(np.log1p(items) / np.log1p(FULL_SIZE))), 1.0)


def _plain(evidence: Evidence, kernel: Kernel, query: Query) -> bool:
    """Whether no bar is needed: the question quotes a record, the store is small, the question is two known key words,
    names a date, a phrase or an identifier that is there, or one place holds nearly all of its words."""
    ranked, pages = evidence.ranked, _among_pages(evidence.ranked)
    if "wording" in ranked.features:
        return True
    if not evidence.places or (not pages and ranked.matches.size < kernel.number("floor", "least_items")):
        return True
    if _known_key_words(evidence, pages) or not evidence.tells.any():
        return True
    # `before the migration` names no time by itself; whether the migration is known shows in the signs.
    if query.period is not None and query.period.side is None:
        return True
    if bool(ranked.features["phrase"].any()) or _identified(ranked, query):
        return True
    if evidence.held_alone() >= kernel.number("floor", "sure"):
        return True
    # Not among pages: a long question finds many of its words in a page on its subject, answered or not.
    return not pages and evidence.amount() >= kernel.number("floor", "plenty")


def _alike(ranked: Ranked) -> float:
    """The similarity in meaning of the most similar candidate; 0 without a model."""
    return float(ranked.features["dense"].max()) if "dense" in ranked.features else 0.0


def _known_key_words(evidence: Evidence, pages: bool) -> bool:
    """One or two known key words, or words that every item holds, give no sign that the answer is missing. Two that
    no page holds together are shown all the same, with the probability that their signs give."""
    together = not pages or evidence.held_alone() >= 1
    return _few_key_words(evidence) and not evidence.unheld.any() and together


def _few_key_words(evidence: Evidence) -> bool:
    """Whether one telling word is asked for, or two words that are no question, such as `deploy freeze`."""
    return len(evidence.places) == 1 or (not evidence.asks() and len(evidence.ranked.scene.query.text.split()) <= 2)


def _identified(ranked: Ranked, query: Query) -> bool:
    """Whether one of the best items holds an identifier of the question, or one that begins with it."""
    codes = {*query.codes, *(f"{code}*" for code in query.codes)}
    rows = [at for at, term in enumerate(ranked.matches.asked) if term.word in codes]
    return bool(rows) and bool((ranked.matches.counts[rows][:, ranked.slots[:LOOKED_AT]] > 0).any())


def beside_the_best(ranked: Ranked) -> NDArray[np.bool_]:
    """Items nearly as similar in meaning as the most similar one: if that is an answer, these may belong to it."""
    dense = ranked.features.get("dense")
    if dense is None or not len(dense):
        return np.zeros(len(ranked.slots), bool)
    return np.asarray((dense >= CLOSE * dense.max()) & (dense > 0), bool)


def near_the_best(ranked: Ranked) -> NDArray[np.bool_]:
    """Items that are plausible beside the best one, by score and by what they share with the question.

    The weights were fitted as a softmax, so an item that is `tail` below the best is `exp(-tail)` times as likely the
    answer. Items that hold the question word for word are on top by rule, so the others are compared among themselves.
    """
    features = ranked.features
    others = features["wording"] <= 0 if "wording" in features else np.ones(len(ranked.slots), bool)
    near = ranked.scores >= _most(ranked.scores, others) - ranked.scene.kernel.number("search", "tail")
    shares = _beside(features["coverage"], others, LEAST_COVERED) | (features["date"] > HALF)
    # In a conversation an item may be relevant through turns further away, which coverage does not count.
    shares |= ranked.matches.together[ranked.slots] > 0
    if "dense" in features:
        shares |= _beside(features["dense"], others, LEAST_ALIKE)
    if "graph" in features:
        shares |= features["graph"] > LINKED
    shares |= np.isin(ranked.slots, sorted(ranked.successors.values()))
    return np.asarray((near & shares) | ~others, bool)


BEHIND, FAR_BEHIND = 2.0, 4.5
"""Of hits more than `BEHIND` below the first one in score one in ten is wanted, of those within it one in five; more
than `FAR_BEHIND` below none of 500 was (agentmem, the first five of each question, by words and with the model)."""
CLEAR, WEAK, FAR = "clear", "weak", "far"


def strengths(ranked: Ranked, order: list[int], doubtful: bool) -> list[str]:
    """How strong each chosen hit is beside the first one. In talk, where neighbours share a score, all count as clear.

    An item that holds the question word for word is clear, and those behind it are at best weak. Where nothing clearly
    answers, all are at best weak.
    """
    if not _among_pages(ranked) or not order:
        return [WEAK if doubtful else CLEAR] * len(order)
    exact = ranked.features["wording"] > 0 if "wording" in ranked.features else np.zeros(len(ranked.slots), bool)
    others = [at for at in order if not exact[at]]
    first = float(ranked.scores[others[0]]) if others else 0.0
    quoted = doubtful or bool(exact[order[0]])
    return [CLEAR if exact[at] else _strength(first - float(ranked.scores[at]), quoted) for at in order]


def _strength(behind: float, quoted: bool) -> str:
    if behind > FAR_BEHIND:
        return FAR
    return WEAK if quoted or behind > BEHIND else CLEAR


def _beside(values: Floats, others: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    most = _most(values, others)
    return np.asarray((values >= share * most) & (most > 0), bool)


def _most(values: NDArray[np.floating], others: NDArray[np.bool_]) -> float:
    return float(values[others].max()) if others.any() else 0.0


def above_nought(ranked: Ranked) -> NDArray[np.bool_]:
    """Items with a score above 0. Below it more speaks against a page than for it; in talk neighbours share a score."""
    return np.asarray((ranked.scores > 0) | (not _among_pages(ranked)), bool)


def worth_showing(ranked: Ranked) -> NDArray[np.bool_]:
    """Items with a reason to be shown: a word of the question, a similar meaning, its time, or a link to a match.

    In a conversation the word may be in a neighbouring turn; elsewhere it must be in the item itself.
    """
    features, corpus = ranked.features, ranked.scene.corpus
    near = (features["coverage"] > 0) & corpus.continues[ranked.slots]
    found: NDArray[np.bool_] = (ranked.matches.held_by(ranked.slots) > 0) | near | (features["date"] > 0.5)
    if "wording" in features:
        found |= features["wording"] > 0
    if "graph" in features:
        found |= features["graph"] > LINKED
    if "dense" in features:
        least = ranked.scene.kernel.number("vector", "min_similarity") * grown(ranked.matches.size)
        found |= features["dense"] > least
    heirs = {ranked.successors[slot] for slot in ranked.slots[found].tolist() if slot in ranked.successors}
    return found | np.isin(ranked.slots, sorted(heirs)) if heirs else found
