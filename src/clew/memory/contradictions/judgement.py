"""Whether two plain sentences contradict each other: what is seen of the pair, weighed by numbers that were learned.

The rules (`statements.py`) and the comparison of meanings (`observations.py`) only observe; how much an observation
counts was fitted on labelled pairs of many domains (`python -m benchmarks fit_contradictions`) and stands in
`weights.json`.
Nothing here needs a model, and two sentences give the same answer on every machine, in either order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import orjson

from clew.memory.contradictions.clauses import other_doers
from clew.memory.contradictions.differences import conflicting, opposed, replaced, telling
from clew.memory.contradictions.meanings import Alignment, align, refuses_a_rival
from clew.memory.contradictions.observations import features, slot_fillers
from clew.memory.contradictions.sentences import Sentence, arguable, sentence
from clew.memory.contradictions.statements import Clash, read, ruled, rules_seen
from clew.memory.contradictions.tenses import is_dated
from clew.memory.contradictions.word_groups import vocabulary

PLACE = Path(__file__).with_name("weights.json")
LEAST_SHARED, MOST_OWN = 0.4, 2
"""For a contradiction that is sure: of the words of the shorter sentence so many must stand in the other, two of five,
and so many may not. Of those that could be found 12 of 13 pass, and one pair in six of those that share words."""
LEAST_TELLING, MOST_TELLING = 0.25, 5
"""The same for one that may be, where the two have a difference that tells by itself: opposites, amounts, a denial, two
ends of a scale. Twice as many pairs pass, so only a new record is compared like this, not each that is read in."""
MOST_TOPIC = 6
"""Words of a topic that is a key; a longer one is a sentence without a known verb, and nothing shares it."""
NAMEABLE = 0.3
"""Least strength of a difference that is given as the reason."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A probability from `sure` on is a contradiction, from `ruled` on where a rule fires, which can be named as the
    reason; from `may` on there may be one."""

    bias: float
    of: dict[str, float]
    may: float
    sure: float
    ruled: float


@cache
def weights() -> Weights:
    held = orjson.loads(PLACE.read_bytes())
    return Weights(held["bias"], held["of"], held["may"], held["sure"], held["ruled"])


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements beside each other, each read once."""

    one: str
    other: str
    a: Sentence
    b: Sentence
    rule: Clash | None
    found: Alignment

    def observations(self) -> dict[str, float]:
        """All that is seen of the pair, by name, each between 0 and 1."""
        return features(self.a, self.b, self.found) | rules_seen(self.one, self.other, self.rule)


def pair(one: str, other: str) -> Pair | None:
    """The two beside each other; None where nothing needs to be weighed, because they cannot contradict each other.

    The tests come in the order of their cost: most pairs that share words are settled by the first ones.
    """
    a, b = sentence(one), sentence(other)
    if not (weighed(a, b) or closely(one, other)) or a.plain == b.plain or a.other_instance(b):
        return None
    rule = ruled(one, other)
    if rule is None and not arguable(a, b):
        return None
    found = align(a, b)
    if rule is None and refuses_a_rival(a, b, found):
        return None
    return Pair(one, other, a, b, rule, found)


def unsifted(one: str, other: str) -> Pair:
    """The two beside each other, whatever they are: for learning."""
    a, b = sentence(one), sentence(other)
    return Pair(one, other, a, b, ruled(one, other), align(a, b))


def words_of(statement: str) -> set[str]:
    """What a statement is about, for finding those it may clash with: its words as they are, and what they mean."""
    found = read(statement)
    values = {value for values in found.values.values() for value in values}
    return {*found.subject, *found.opposed, *values, *sentence(statement).means}


def forms_of(statement: str) -> set[str]:
    """Keys for finding statements about the very same thing: all its words, the topic, the words around each slot."""
    found = read(statement)
    topic = sorted(token.mean for token in sentence(statement).tokens if token.role == "topic")
    named = " ".join(topic) if len(topic) <= MOST_TOPIC else ""
    keys = {"subject": " ".join(sorted(found.subject)), "topic": named, "duty": found.duty and found.duty.key}
    return {f"{name}:{key}" for name, key in keys.items() if key} | {f"slot:{key}" for key in found.frames}


def sharpness(statement: str) -> int:
    """2: denies or excludes, so it may clash with anything about its subject; 1: names values, numbers, opposites,
    which clash with their like; 0: neither."""
    rules, found, known = read(statement), sentence(statement), vocabulary()
    if rules.denies or rules.refused or found.denials or found.only:
        return 2
    telling = any(mean in known.values or mean in known.against for mean in found.means)
    return int(telling or bool(rules.values or rules.amounts or rules.opposed or found.amounts or found.ranked))


def weighed(a: Sentence, b: Sentence) -> bool:
    """Whether two sentences have enough in common to be worth weighing."""
    fewer, shared = min(len(a.means), len(b.means)), len(a.means & b.means)
    if not shared or shared < LEAST_TELLING * fewer or fewer - shared > MOST_TELLING:
        return False
    return (shared >= LEAST_SHARED * fewer and fewer - shared <= MOST_OWN) or telling(a, b)


def closely(one: str, other: str) -> bool:
    """Whether two statements have so much in common that a contradiction can be sure."""
    a, b = sentence(one), sentence(other)
    shared = len(a.means & b.means)
    fewer = min(len(a.means), len(b.means)) if shared else 0
    close = shared > 0 and shared >= LEAST_SHARED * (fewer - 1) and fewer - shared <= MOST_OWN
    # What excludes the other is not expected to be shared: `encrypted`, `unencrypted`.
    if close and (shared >= LEAST_SHARED * fewer or a.contrast.excludes(b.contrast)):
        return True
    return other_doers(read(one).duty, read(other).duty)


def clash(first: str, second: str) -> Clash | None:
    """Why the two contradict each other; None when they do not, and also when there is doubt."""
    one, other = sorted((first, second))  # the order must not matter, not even to the last bit
    found = _judged(one, other) if closely(one, other) else None
    return found if found is not None and found.sure else None


def judged(first: str, second: str) -> Clash | None:
    """Why the two contradict each other or may do so."""
    one, other = sorted((first, second))
    return _judged(one, other)


@lru_cache(maxsize=20_000)
def _judged(one: str, other: str) -> Clash | None:
    both = pair(one, other)
    if both is None:
        return None
    seen, held = both.observations(), weights()
    score = held.bias + sum(held.of.get(name, 0.0) * value for name, value in seen.items() if value)
    probability = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
    if probability < held.may:
        return None
    kind, reason = _reason(both, seen)
    sure = probability >= (held.ruled if both.rule else held.sure) and closely(one, other) and _of_one_time(both)
    return Clash(kind, reason, round(probability, 2), sure) if kind else None


def _of_one_time(both: Pair) -> bool:
    """Whether both tell of now, or both of a time that is over."""
    a, b = both.a, both.b
    return a.past == b.past and is_dated(a.words) == is_dated(b.words)


def _reason(both: Pair, seen: dict[str, float]) -> tuple[str, str]:
    """The kind of the difference and what differs; empty where nothing can be named."""
    if both.rule is not None:
        return both.rule.kind, both.rule.reason
    for number, against in conflicting(both.a, both.b)[:1]:
        return "number", f"{number.text} against {against.text}"
    for kind, pairs in (("value", both.found.rivals), ("opposites", both.found.opposites)):
        for x, y in pairs[:1]:
            return kind, f"{x.word} against {y.word}"
    return _weaker_reason(both.a, both.b, seen, both.found)


def _weaker_reason(a: Sentence, b: Sentence, seen: dict[str, float], found: Alignment) -> tuple[str, str]:
    ends = opposed(a, b)
    if ends is not None:
        return "opposites", f"{ends[0]} against {ends[1]}"
    if max(seen["denial"], seen["need_free"]) >= NAMEABLE:
        return "denial", "one denies what the other says"
    if seen["order"]:
        return "order", "they are put in the other order"
    if seen["all_only"] or seen["only_one"]:
        return "only", "one says it of all, the other of some only"
    if seen["doer"] >= NAMEABLE:
        return "slot", "they make different people or things answerable for it"
    fillers = slot_fillers(a, b)
    if fillers:
        return "slot", f"{' '.join(fillers[0])} against {' '.join(fillers[1])}"
    for x, y in found.names[:1]:
        return "slot", f"{x.word} against {y.word}"
    if seen["number_differs"]:
        return "number", "they name different numbers"
    if seen.get("frame"):
        return "slot", " against ".join(replaced(a, b))
    return _rest_of(a, b, found) if seen["swap"] else ("", "")


def _rest_of(a: Sentence, b: Sentence, found: Alignment) -> tuple[str, str]:
    """What each has for itself, where the two agree but for that."""
    own = [
        " ".join(token.word for token, near in zip(side.tokens, best, strict=True) if near < 0.4 and token.weight == 1)
        for side, best in ((a, found.first), (b, found.second))
    ]
    return ("slot", " against ".join(own)) if all(own) else ("", "")
