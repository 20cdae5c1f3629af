"""Whether two plain sentences contradict each other: what is seen of the pair, and what a small model reads in it.

The rules (`statements.py`) and the comparison of meanings (`observations.py`) only observe; how much an observation
counts was fitted on labelled pairs of many domains (`python -m benchmarks fit_contradictions`). The model reads the two
as one text (`pair_model.py`). How much each of the two counts stands in `weights.json` too. Both come with Clew: every
process gives the same answer, in either order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson

from clew.index.terms import stem
from clew.memory.contradictions.clauses import other_doers
from clew.memory.contradictions.differences import conflicting, opposed, replaced
from clew.memory.contradictions.meanings import Alignment, align
from clew.memory.contradictions.observations import features, slot_fillers
from clew.memory.contradictions.sentences import Sentence, apart_on, sentence
from clew.memory.contradictions.statements import Clash, read, ruled, rules_seen
from clew.memory.contradictions.tenses import is_dated
from clew.memory.contradictions.word_groups import vocabulary

PLACE = Path(__file__).with_name("weights.json")
LEAST_SHARED, MOST_OWN = 0.4, 2
"""Of the words of the shorter sentence so many must stand in the other, two of five, and so many may not, for the two
to be close. One pair in six of those that share words is; where thousands of records are read in, only these are looked
at further."""
LARGEST = 30.0
"""Of a logarithm of odds: beyond it nothing changes any more."""
DOUBT = (-2.5, 4.0)
"""Logarithms of the model's odds between which the other order can change the verdict."""
MOST_KEPT = 20_000
READ = ("meaning", "read together, one excludes the other")
"""The kind and the reason where the words show no difference that could be named."""
MOST_TOPIC = 6
"""Words of a topic that is a key; a longer one is a sentence without a known verb, and nothing shares it."""
_WORD = re.compile(r"\w+")
NAMEABLE = 0.3
"""Least strength of a difference that is given as the reason."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A probability from `sure` on is a contradiction, from `ruled` on where a rule fires, which can be named as the
    reason; from `may` on there may be one."""

    may: float
    sure: float
    ruled: float


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each observation counts, and how much what they say together counts beside what the model says."""

    bias: float
    of: dict[str, float]
    alone: Bounds
    """For what the model cannot read."""
    joint_bias: float
    joint: dict[str, float]
    together: Bounds


@cache
def weights() -> Weights:
    held = orjson.loads(PLACE.read_bytes())
    alone, together = Bounds(**held["alone"]), Bounds(**held["together"])
    return Weights(held["bias"], held["of"], alone, held["joint_bias"], held["joint"], together)


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

    def score(self, seen: dict[str, float]) -> float:
        """What the observations say together, as the logarithm of the odds."""
        held = weights()
        return held.bias + sum(held.of.get(name, 0.0) * value for name, value in seen.items() if value)

    def joint(self, seen: dict[str, float], read: float) -> dict[str, float]:
        """What the model says, beside what is seen: by name, as the joint weights know it."""
        return {
            "read": read,
            "score": max(-LARGEST, min(LARGEST, self.score(seen))),
            "rule": float(self.rule is not None),
            "close": float(closely(self.one, self.other)),
        }

    def converts(self, seen: dict[str, float]) -> bool:
        """Whether their amounts are written differently and come to the same: `three years`, `36 months`."""
        return bool(seen["number_equal"]) and {i.text for i in self.a.amounts} != {i.text for i in self.b.amounts}


def beside(one: str, other: str) -> Pair:
    """The two beside each other, whatever they are."""
    a, b = sentence(one), sentence(other)
    return Pair(one, other, a, b, ruled(one, other), align(a, b))


def comparable(one: str, other: str) -> bool:
    """Whether two statements say different things of what may be the same."""
    a, b = sentence(one), sentence(other)
    # By letters too: `PINs` is read as an abbreviation and its plural, `pins` as a word.
    is_same = a.plain == b.plain or _WORD.findall(one.casefold()) == _WORD.findall(other.casefold())
    return not is_same and not a.other_instance(b)


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
    found = judged(first, second)
    return found if found is not None and found.sure else None


def judged(first: str, second: str) -> Clash | None:
    """Why the two contradict each other or may do so."""
    return judge([(first, second)])[0]


def judge(pairs: Sequence[tuple[str, str]]) -> list[Clash | None]:
    """Of each pair why the two contradict each other or may do so. Many are read in less time together."""
    ordered = [(min(pair), max(pair)) for pair in pairs]  # the order must not matter, not even to the last bit
    new = [pair for pair in dict.fromkeys(ordered) if pair not in _verdicts and comparable(*pair)]
    found = _read(new) if new else {}
    _verdicts.keep(found)
    return [found[pair] if pair in found else _verdicts.get(pair) for pair in ordered]


def may_clash(first: str, second: str) -> bool:
    """Whether the two may contradict each other by the observations alone: some fifty times as fast, and less often
    right. For choosing what the model reads where there are very many."""
    pair = min(first, second), max(first, second)
    return _is_worth_a_look(*pair) and _verdict(beside(*pair), None) is not None


def _is_worth_a_look(one: str, other: str) -> bool:
    """Whether two statements are close and differ in something by which words alone can show a contradiction. Most
    pairs of a large folder do not, and looking takes time."""
    if not (closely(one, other) and comparable(one, other)):
        return False
    a, b = sentence(one), sentence(other)
    return (
        bool(a.denials or b.denials)
        or a.only != b.only
        or a.universal != b.universal
        or (a.ranked is not None and b.ranked is not None)
        or bool(a.amounts and b.amounts)
        or a.contrast.excludes(b.contrast)
        or ruled(one, other) is not None
        or bool(apart_on(a.scales, b.scales))
    )


def _read(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], Clash | None]:
    odds = read_odds(pairs)
    return {pair: _verdict(beside(*pair), odds.get(pair)) for pair in pairs}


def read_odds(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """What the model says of the pairs it can read, as the logarithm of the odds.

    Where it is in doubt, it reads the two in the other order as well, and the mean of both counts.
    """
    # Imported here: a process that judges nothing does not need numpy.
    from clew.memory.contradictions.pair_model import pair_model

    model = pair_model()
    readable = [pair for pair in pairs if all(map(model.can_read, pair))]
    odds = dict(zip(readable, model.judge(readable), strict=True))
    doubtful = [pair for pair in readable if DOUBT[0] < odds[pair] < DOUBT[1]]
    again = model.judge([(other, one) for one, other in doubtful])
    return odds | {pair: (odds[pair] + turned) / 2 for pair, turned in zip(doubtful, again, strict=True)}


class _Kept(dict[tuple[str, str], Clash | None]):
    """Verdicts of this process, because a record is compared when it is written, opened and scanned; the oldest go."""

    def keep(self, found: Mapping[tuple[str, str], Clash | None]) -> None:
        self.update(found)
        for pair in list(self)[: max(0, len(self) - MOST_KEPT)]:
            self.pop(pair, None)


_verdicts = _Kept()


def _verdict(both: Pair, read: float | None) -> Clash | None:
    seen, held = both.observations(), weights()
    # The model does not reckon, so it would take such amounts for a difference.
    if both.rule is None and both.converts(seen):
        return None
    if read is None:
        bounds, score = held.alone, both.score(seen)
    else:
        bounds, joint = held.together, both.joint(seen, read)
        score = held.joint_bias + sum(held.joint[name] * value for name, value in joint.items())
    probability = 1 / (1 + math.exp(-max(-LARGEST, min(LARGEST, score))))
    if probability < bounds.may:
        return None
    kind, reason = _reason(both, seen)
    certain = probability >= (bounds.ruled if both.rule else bounds.sure)
    sure = certain and _of_one_time(both) and not _is_extended(both)
    return Clash(kind, reason, round(probability, 2), sure)


def _of_one_time(both: Pair) -> bool:
    """Whether both tell of now, or both of a time that is over."""
    a, b = both.a, both.b
    return a.past == b.past and is_dated(a.words) == is_dated(b.words)


def _is_extended(both: Pair) -> bool:
    """Whether one says what the other does with words added that deny and exclude nothing, which mostly is a detail:
    `Sessions live in Redis`, `Sessions live in Redis 7`."""
    shorter, longer = sorted((both.a, both.b), key=lambda side: len(side.words))
    if both.rule is not None or len(shorter.denials) != len(longer.denials) or shorter.only != longer.only:
        return False
    rest = iter(longer.words)
    return all(word in rest for word in shorter.words if word.isalnum())


def _reason(both: Pair, seen: dict[str, float]) -> tuple[str, str]:
    """The kind of the difference and what differs."""
    if both.rule is not None:
        return both.rule.kind, _in_whole_words(both) if both.rule.kind == "slot" else both.rule.reason
    for number, against in conflicting(both.a, both.b)[:1]:
        return "number", f"{number.text} against {against.text}"
    for kind, pairs in (("value", both.found.rivals), ("opposites", both.found.opposites)):
        for x, y in pairs[:1]:
            return kind, f"{x.word} against {y.word}"
    return _weaker_reason(both.a, both.b, seen, both.found)


def _in_whole_words(both: Pair) -> str:
    """What a rule found, in words of the two statements: rules compare stems."""
    assert both.rule is not None
    whole = {stem(word): word for word in (*both.a.words, *both.b.words)}
    return " ".join(whole.get(word, word) for word in both.rule.reason.split())


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
    return _rest_of(a, b, found) if seen["swap"] else READ


def _rest_of(a: Sentence, b: Sentence, found: Alignment) -> tuple[str, str]:
    """What each has for itself, where the two agree but for that."""
    own = [
        " ".join(token.word for token, near in zip(side.tokens, best, strict=True) if near < 0.4 and token.weight == 1)
        for side, best in ((a, found.first), (b, found.second))
    ]
    return ("slot", " against ".join(own)) if all(own) else READ
