"""Items that contain a question word for word come first, whatever their other features.

A question in the words of a record means that record. It must be found even if it is new and has no vector yet, or if a
hundred similar records differ from it by one number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clew.index.item_reads import ids_by_text
from clew.index.postings import FIELD_COUNT
from clew.index.terms import terms
from clew.recall.corpus import Corpus
from clew.recall.lexical import Floats, Matches, Slots
from clew.recall.likeness import Likeness
from clew.recall.ranking import Ranked, joined
from clew.store.database import Transaction

WHOLE, INSIDE = 1.0, 0.5
"""The item is exactly the question; the item contains it among other words."""
FEWEST = 3
"""Fewest words of a question that is searched inside of items: one or two words occur together everywhere."""
TITLE, BODY = 0, 1
RECORDS = ("block", "card", "task")
"""Sources of deliberate records; the other sources also hold conversation."""
# More than the rounding of scores (six digits), less than any difference that matters.
BEHIND = 0.001


def wording_of(matches: Matches, text: str, slots: Slots) -> Floats:
    """WHOLE, INSIDE or 0 for each item: whether it holds the text word for word."""
    corpus, found = matches.corpus, np.zeros(len(slots), np.float32)
    known = [corpus.term(word) for word in terms(text)]
    wanted = [number for number in known if number is not None]
    if not wanted or len(wanted) < len(known):
        return found
    own = [at for at, term in enumerate(matches.asked) if not term.added]
    for at in np.flatnonzero((matches.counts[own][:, slots] > 0).all(axis=0)):
        found[at] = _match(corpus, int(slots[at]), wanted)
    return found


def _match(corpus: Corpus, slot: int, wanted: list[int]) -> float:
    keys = corpus.reading(slot)
    numbers, fields = keys // FIELD_COUNT, keys % FIELD_COUNT
    title, body = numbers[fields == TITLE].tolist(), numbers[fields == BODY].tolist()
    # The last term of a body may be the index's mark for questions, which is not a word of the text.
    if wanted in (title, body, body[:-1], title + body):
        return WHOLE
    if len(wanted) < FEWEST:
        return 0.0
    return INSIDE if _contains(title, wanted) or _contains(body, wanted) else 0.0


def _contains(numbers: list[int], wanted: list[int]) -> bool:
    size, first = len(wanted), wanted[0]
    starts = (at for at, number in enumerate(numbers[: len(numbers) - size + 1]) if number == first)
    return any(numbers[at : at + size] == wanted for at in starts)


def slots_of_signs(tx: Transaction, workspace: str, corpus: Corpus, text: str) -> Slots:
    """Items that are exactly this text, if it is punctuation only (`=> ::`), which the word index does not contain."""
    ids = ids_by_text(tx, workspace, " ".join(text.split())) if text.strip() and not terms(text) else []
    return np.array(sorted(corpus.slot_by_id(ids).values()), np.int64)


def with_wording(ranked: Ranked, text: str, signs: Slots, likeness: Likeness | None) -> Ranked:
    """The candidates, with exact matches of the question (words or punctuation) first."""
    visible = signs[ranked.scene.visible[signs]] if len(signs) else signs
    if len(visible):
        ranked = joined(ranked, visible, likeness)
    held = wording_of(ranked.matches, text, ranked.slots)
    held[np.isin(ranked.slots, visible)] = WHOLE
    if not held.any():
        return ranked
    lift = _lift(ranked, held)
    scores = np.round(ranked.scores + lift, 6)
    features = {**ranked.features, "wording": lift.astype(np.float32)}
    found = replace(ranked, scores=scores, features=features, weights={**ranked.weights, "wording": 1.0})
    return found.sorted()


def _lift(ranked: Ranked, held: Floats) -> NDArray[np.float64]:
    """The bonus of each match: it ranks above all others and keeps its order among the matches.

    In a conversation, a turn that asked the same question is not its answer, so it comes right behind the best item.
    """
    corpus, slots = ranked.scene.corpus, ranked.slots
    turns = corpus.question[slots] & ~corpus.are(slots, lambda source, *_: source in RECORDS)
    lift = held.astype(np.float64) * (float(np.ptp(ranked.scores)) + 1.0)
    top = float(ranked.scores.max())
    return np.where(turns & (held > 0), np.maximum(top - BEHIND - ranked.scores, BEHIND), lift)
