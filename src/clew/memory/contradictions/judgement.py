"""Whether two plain statements contradict each other, according to the pair model.

Only the model decides; the reason shown is the words in which the two differ. The order of the two does
not matter: if the result is near the threshold, both orders are evaluated. Text that the model cannot
read is at most a possible contradiction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clew.index.terms import terms
from clew.memory.contradictions.wording import difference, is_same, names_another, only_adds

DOUBT = (-2.5, 4.0)
"""Range of log odds in which evaluating the other order can change the verdict."""
MAY, SURE = 1.5, 3.0
"""Log odds from which the author is warned that two statements may contradict each other, and from
which they count as a contradiction that waits for a person. Chosen on pairs that the model never saw
(`python -m benchmarks.contradictions thresholds`: of those between the two, three in four are real
where half of all are) and on honest records (`python -m benchmarks honest_records`: hardly one of a
hundred has such a neighbour)."""
SLOPE, OFFSET = 0.63, -0.1
"""Parameters of the logistic curve from log odds to the share of such pairs that contradict each other."""
UNREADABLE_SHARED = 0.5
"""Share of common terms from which two statements in a script that the model cannot read may contradict each other."""
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Clash:
    reason: str
    confidence: float
    sure: bool


def judge(pairs: Sequence[Pair]) -> list[Clash | None]:
    """The verdict on each pair, with the reason if they contradict or may contradict each other.
    Batching is faster."""
    odds = read_odds(pairs)
    return [graded(pair, odds.get(ordered(pair))) for pair in pairs]


def ordered(pair: Pair) -> Pair:
    return min(pair), max(pair)


def read_odds(pairs: Sequence[Pair]) -> dict[Pair, float]:
    """The model's log odds by ordered pair, for the pairs that it can read."""
    # Imported here: a process that compares nothing does not need numpy.
    from clew.model.pair import pair_model

    model = pair_model()
    wanted = [pair for pair in dict.fromkeys(map(ordered, pairs)) if not is_same(*pair)]
    readable = [pair for pair in wanted if all(map(model.can_read, pair))]
    odds = dict(zip(readable, model.judge(readable), strict=True))
    doubtful = [pair for pair in readable if DOUBT[0] < odds[pair] < DOUBT[1]]
    again = model.judge([(other, one) for one, other in doubtful])
    return odds | {pair: (odds[pair] + turned) / 2 for pair, turned in zip(doubtful, again, strict=True)}


def graded(pair: Pair, odds: float | None) -> Clash | None:
    """The verdict on two statements, with the reason in their order; `odds` is the model's result, if
    it can read them."""
    if is_same(*pair):
        return None
    if odds is None:
        return Clash(difference(*pair), 0.5, sure=False) if _overlap(*pair) >= UNREADABLE_SHARED else None
    if odds < MAY:
        return None
    confidence = 1 / (1 + math.exp(-(SLOPE * odds + OFFSET)))
    sure = odds >= SURE and not only_adds(*pair) and not names_another(*pair)
    return Clash(difference(*pair), round(confidence, 2), sure)


def _overlap(one: str, other: str) -> float:
    first, second = set(terms(one)), set(terms(other))
    return len(first & second) / max(1, min(len(first), len(second)))
