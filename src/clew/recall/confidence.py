"""The probability that the store answers a question: that it knows the subject, times that it has the answer.

Each of the two is a logistic model. Whether the subject is known shows in semantic similarity and matching
words. Whether the answer is there shows in neither, because a question about something that was never recorded
uses the words of what was; it shows in the form of the question: one detail (a price, a name, a date) may well
be missing, key words and plans accept whatever is near. `benchmarks/fit_confidence.py` fits the weights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from clew.recall.floor import HALF, worth_showing
from clew.recall.ranking import Ranked

CONFIDENT, LIKELY, WEAK, NONE = "confident", "likely", "weak", "none"
LEAST_CONFIDENT, LEAST_LIKELY = 0.85, 0.3
LEAST = 0.001
"""The minimum if anything is worth showing, however unlikely it answers: only an empty answer has 0."""
QUOTED = 0.95
"""The probability of a record that holds the question word for word."""
FEW_ITEMS = 5
"""Below this number of items the signals mean too little to doubt an answer."""
LOOKED_AT = 10
COVERED = 0.7
"""From this share on the words of a question speak for an answer: below it they only say what it is about."""
USUAL = 7
"""Words of a question up to which its length says nothing."""
SHORT = 2
"""Words of a question of which it matters whether one item holds them together."""
UNKNOWN = 0.5
"""Weight of a word that no item contains, as a share of the rarest word's: items may use a synonym of it."""

_AMOUNT = re.compile(
    r"\b(?:how (?:many|much|long|often|old|big|large|small|fast|high|deep|far|wide|soon|late|heavy|tall|thick)"
    r"|wie ?viele?n?|wie (?:lange|oft|alt|gro(?:ß|ss)|hoch|tief|weit|breit|schnell|teuer|schwer)"
    r"|combien|cuánt[oa]s?)\b",
    re.IGNORECASE,
)
_FORMS = {
    "person": "who whom whose wer wem wen wessen qui quien quién quiénes",
    "time": "when wann quand cuándo",
    "place": "where wo woher wohin où dónde adónde",
    "reason": "why warum wieso weshalb wozu pourquoi por",
    "choice": "which welche welcher welches welchen welchem quel quelle quels quelles cuál cuáles",
    "manner": "how wie comment cómo",
    "yes_no": """is are was were am do does did can could has have had may should will would must ist sind war hat haben
        darf dürfen kann können muss müssen soll sollen gibt wird est peut faut es son hay puedo puede podemos debo""",
    "thing": "what que qué quoi qu",
}
_FORM_OF = {word: form for form, words in _FORMS.items() for word in words.split()}
_PREPOSITIONS = """
in on at to from with by for of since until mit von bei aus auf an seit bis de d à en con
"""
_BEFORE = frozenset(_PREPOSITIONS.split())
_AFTER_WHAT = frozenset(f"{_FORMS['yes_no']} s happens happened went came made about if".split())
FORMS = ("amount", *_FORMS, "statement")

SUBJECT = frozenset({"dense", "held", "unknown", "length", "short", "apart"})
ANSWER = frozenset({*FORMS, *SUBJECT, "covered"})
_FITTED = {
    "subject": "constant 0.24 dense 17.0 held 0.44 unknown -1.56 length -0.99 short 0.24 apart -1.52",
    "answer": "constant -9.27 amount -2.45 person -2.13 choice -1.8 thing -1.44 yes_no -1.16 manner -1.15 time -0.75"
    " place -0.63 reason 0.43 statement 1.67 length 4.57 short 2.12 dense 4.8 held -2.48 covered 7.11 unknown 1.26"
    " apart -5.14",
    "subject_words": "constant 6.66 held 0.92 unknown -3.87 length -0.95 short -0.07 apart -1.49",
    "answer_words": "constant -8.26 amount -2.48 person -2.22 choice -1.88 thing -1.68 manner -1.27 yes_no -1.19"
    " place -0.77 time -0.73 reason 0.21 statement 1.68 length 4.95 short 1.91 held -1.83 covered 7.92 unknown 0.83"
    " apart -4.98",
}
"""The weights of the two models; those of `words` if no vectors are compared."""
WEIGHTS = {
    name: {signal: float(weight) for signal, weight in zip(*[iter(fitted.split())] * 2, strict=True)}
    for name, fitted in _FITTED.items()
}


def form_of(question: str) -> str:
    """What a question asks for, by its first words; `statement` if it is none, `other` if it merely ends like one."""
    if _AMOUNT.search(question):
        return "amount"
    words = re.findall(r"\w+", question.lower())[:3]
    words = words[1:] if words[:1] and words[0] in _BEFORE else words
    form = _FORM_OF.get(words[0]) if words else None
    if form == "thing" and len(words) > 1 and words[1] not in _AFTER_WHAT:
        return "choice"
    return form or ("other" if question.rstrip().endswith("?") else "statement")


@dataclass(frozen=True)
class AnswerConfidence:
    probability: float
    """The probability that the store contains an answer; 0 if nothing is worth showing."""
    few: bool = False
    """Whether the store has next to no items."""
    signals: dict[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        if not self.probability:
            return NONE
        if self.probability < LEAST_LIKELY:
            return WEAK
        return CONFIDENT if self.probability >= LEAST_CONFIDENT else LIKELY

    @property
    def is_answer(self) -> bool:
        return self.label in (CONFIDENT, LIKELY)

    @property
    def doubtful(self) -> bool:
        """Whether candidates are shown that hardly answer."""
        return self.label == WEAK and not self.few


def confidence_of(ranked: Ranked) -> AnswerConfidence:
    few = ranked.matches.size < FEW_ITEMS
    if not worth_showing(ranked).any():
        return AnswerConfidence(0.0, few)
    if "wording" in ranked.features:
        return AnswerConfidence(QUOTED, few)
    found = signals(ranked)
    arm = "" if "dense" in found else "_words"
    probability = _logistic(WEIGHTS[f"subject{arm}"], found)
    # In conversations people ask for details of anything that was mentioned, so the form of a question says nothing.
    if ranked.matches.pages >= HALF:
        probability *= _logistic(WEIGHTS[f"answer{arm}"], found)
    return AnswerConfidence(max(round(probability, 3), LEAST), few, found)


def _logistic(weights: dict[str, float], found: dict[str, float]) -> float:
    log_odds = weights["constant"] + sum(weights.get(name, 0.0) * value for name, value in found.items())
    return float(1 / (1 + np.exp(-log_odds)))


def signals(ranked: Ranked) -> dict[str, float]:
    """The features for and against an answer; the weights are fitted on these."""
    question = ranked.scene.query.text
    form, words = form_of(question), len(question.split())
    held, unknown = _word_shares(ranked)
    found = {
        **{name: float(form == name) for name in FORMS},
        "held": held,
        "covered": max(held - COVERED, 0.0),
        "unknown": unknown,
        "length": float(np.log1p(max(words, USUAL))),
        "short": float(words <= SHORT),
        "apart": (1 - held) * (words <= SHORT),
    }
    if "dense" in ranked.features:
        found["dense"] = float(ranked.features["dense"].max())
    return {name: round(value, 4) for name, value in found.items()}


def _word_shares(ranked: Ranked) -> tuple[float, float]:
    """The largest share of the question's words, weighted by rarity, that one of the best candidates holds; and the
    share of words that no item holds."""
    matches = ranked.matches
    rows = [at for at, term in enumerate(matches.asked) if not term.added]
    if not rows:
        return 0.0, 0.0
    frequency = matches.held[rows]
    known = -np.log(np.maximum(frequency, 1) / (matches.size + 1))
    rarity = np.where(frequency > 0, known, UNKNOWN * np.log1p(matches.size))
    best = matches.counts[rows][:, ranked.slots[:LOOKED_AT]] > 0
    return float((rarity @ best).max(initial=0.0) / max(rarity.sum(), 1e-9)), float((frequency == 0).mean())
