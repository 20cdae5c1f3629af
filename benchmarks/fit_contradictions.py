"""Fits how much each observation counts for a contradiction: `python -m benchmarks fit_contradictions`.

Logistic regression on the labelled pairs that may be looked at, and on pairs of statements from different lines of one
domain, which do not contradict each other and look most as if they did. What can only speak for a contradiction gets no
weight against it, and the other way round: without that, observations that nearly say the same are weighed against each
other. Prints the figures of fits that never saw the domain they are measured on.
How much the observations count beside what the model reads is fitted last, on pairs that neither of them learned from.
`python -m benchmarks.fit_contradictions` also writes the weights of all to `weights.json`; with `joint` it writes only
how the two count together.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import asdict, dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.contradictions import FREE, HERE, LEARNED, Pair, domains, named, pairs, weighing
from benchmarks.report import Report
from clew.memory.contradictions import judgement
from clew.memory.contradictions.judgement import Bounds
from clew.memory.contradictions.sentences import sentence
from clew.memory.contradictions.word_order import words_in

Floats = NDArray[np.float64]
RIDGE = 20.0
"""How strongly weights are drawn to nought: of 3 to 100 the one with the best figures on domains left out."""
STEPS = 400
ACROSS, ACROSS_WEIGHT = 25, 0.3
"""Pairs across the lines of a domain, those that share most words, and what each counts: they are more than the others,
and as easy."""
FOR = words_in("""
    opposite rival number number_named denial may_forbid must_forbid plain_not need_free must_may all_only only_one
    order doer period slot slot_kin swap_kin name_rest kin_rest differ number_differs number_free scales scales_one
    topic_low topic_high cover_low cover_high beside_low beside_high frame universal_part shared
    scale_low scale_high opposite_low opposite_high rival_low rival_high name_low name_high kin_low kin_high number_low
    number_high denial_low denial_high free_low free_high only_low only_high only_all_low only_all_high doer_low
    doer_high slot_low slot_high
""")
"""Observations that can only speak for a contradiction, and those that can only speak against one."""
AGAINST = words_in("""
    apart apart_topic marks_both siblings past past_one adds excepts both_deny number_equal
    number_ranges noun_marks_both noun_marks_one apart_any denied_contrast denied_number denied_doer
    only_needed only_acts excepted adding adding_contrast default_may planned rule_elsewhere rule_things
    rule_crossed own_high number_both number_other verb_far part kin_topic frame_adds shared_one scales_agree
""")
AGAINST_DIFFERENT = frozenset({"rival_topic*differ", "opposite_topic*differ"})
PROSE = HERE / "data" / "contradictions" / "prose.tsv"
ALONE = Bounds(may=0.42, sure=0.725, ruled=0.6)
"""From `sure` on, or `ruled` where a rule fires, 0.93 of the pairs in domains left out are real: what is sure keeps a
record from being kept."""
TOGETHER = Bounds(may=0.42, sure=0.62, ruled=0.56)
WEIGHT_OF = {"w": 1.0, "n": 0.5, "g": 0.3, "p": 0.3, "q": 0.3}
"""What a pair counts by its origin: neighbours (n) were chosen for being hard, pairs of a group (g) or of a project's
memory (p, q) are much alike."""


@dataclass(frozen=True)
class Case:
    domain: str
    contradict: bool
    across: bool
    weighed: bool
    """Some pairs are never weighed (the same, two of a kind); they count as not found."""
    seen: dict[str, float]


def cases() -> list[Case]:
    labelled = [*domains("domains"), *(("tune", pair) for pair in pairs("tune"))]
    labelled += [(name, pair) for name in LEARNED for pair in named(name)]
    labelled += [("fresh3", pair) for pair in named("fresh3")[::2]] + domains("teams")
    found = [_case(domain, pair, False) for domain, pair in labelled]
    for name in sorted({domain for domain, _ in domains("domains")} | FREE):
        said = [pair for domain, pair in labelled if domain == name]
        found += [_case(name, pair, True) for pair in _across(said)]
    for name, said in prose().items():
        found += [_case(name, pair, True) for pair in _across(said)]
    return found


def prose() -> dict[str, list[Pair]]:
    """Sentences of each page of the guides: they are about one thing and do not contradict each other."""
    pages: dict[str, list[Pair]] = {}
    for line in PROSE.read_text(encoding="utf-8").splitlines():
        page, text = line.split("\t")
        pages.setdefault(page, []).append(["R", text])
    return pages


def _case(domain: str, pair: Pair, across: bool) -> Case:
    label, one, other = pair[0], *sorted(pair[1:])
    weighed = judgement.comparable(one, other)
    return Case(domain, label == "C", across, weighed, judgement.beside(one, other).observations())


def _across(said: list[Pair]) -> list[Pair]:
    texts = [(number, text) for number, pair in enumerate(said) for text in pair[1:]]
    found = [["R", a, b] for (i, a), (j, b) in itertools.combinations(texts, 2) if i != j]
    return sorted(found, key=lambda pair: (-_shared(pair[1], pair[2]), pair))[:ACROSS]


def _shared(one: str, other: str) -> float:
    first, second = ({token.mean for token in sentence(text).tokens if token.weight == 1} for text in (one, other))
    return len(first & second) / max(1, min(len(first), len(second)))


def sign(name: str) -> int:
    """1 where an observation can only speak for a contradiction, -1 where only against one, else 0."""
    plain, _, by = name.partition("*")
    if name in AGAINST or name in AGAINST_DIFFERENT or (by and by != "same" and plain in AGAINST):
        return -1
    return 1 if plain in FOR or by in ("same", "high") or name.startswith("rule") else 0


def fit(seen: Floats, labels: Floats, counts: Floats, signs: Floats) -> Floats:
    """Weights within their signs, by accelerated steps down the slope; the last is for the constant. Observations are
    brought to one scale first."""
    mean, scale = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-3)
    given = np.column_stack(((seen - mean) / scale, np.ones(len(seen))))
    least = np.append(np.where(signs > 0, 0.0, -np.inf), -np.inf)
    most = np.append(np.where(signs < 0, 0.0, np.inf), np.inf)
    ridge = np.append(np.full(len(signs), RIDGE), 1e-6)
    steepest = np.linalg.norm(given * np.sqrt(counts)[:, None], 2) ** 2 / 4 + RIDGE
    weights, ahead, pace = np.zeros(len(ridge)), np.zeros(len(ridge)), 1.0
    for _ in range(STEPS):
        guess = 1 / (1 + np.exp(-given @ ahead))
        slope = given.T @ (counts * (guess - labels)) + ridge * ahead
        moved, faster = np.clip(ahead - slope / steepest, least, most), (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead, weights, pace = moved + (pace - 1) / faster * (moved - weights), moved, faster
    plain = weights[:-1] / scale
    return np.append(plain, weights[-1] - plain @ mean)


def main(quick: bool = False, write: bool = False) -> None:
    found = cases()
    names = sorted({name for case in found for name in case.seen})
    seen = np.array([[case.seen.get(name, 0.0) for name in names] for case in found])
    labels = np.array([float(case.contradict) for case in found])
    groups = np.array([case.domain for case in found])
    weighed = np.array([case.weighed for case in found])
    counts = np.array([ACROSS_WEIGHT if case.across else 1.0 for case in found])
    signs = np.array([float(sign(name)) for name in names])
    guessed = np.zeros(len(found))
    for name in sorted(set(groups)):
        apart = groups == name
        weights = fit(seen[~apart], labels[~apart], counts[~apart], signs)
        guessed[apart] = weighed[apart] / (1 + np.exp(-(seen[apart] @ weights[:-1] + weights[-1])))
    _report(found, guessed)
    if write:
        _write(names, fit(seen, labels, counts, signs))


def _report(found: list[Case], guessed: Floats) -> None:
    report = Report("fit_contradictions", "Contradictions in domains that the weights never saw")
    old = {"tune", *LEARNED} - FREE
    for title, chosen in (
        ("domains", [case.domain not in old and not case.across for case in found]),
        ("paraphrases of a stranger", [case.domain in FREE and not case.across for case in found]),
        ("across lines", [case.across for case in found]),
    ):
        for grade, least in (("contradicts", ALONE.sure), ("contradicts or may", ALONE.may)):
            judged = zip(found, guessed, chosen, strict=True)
            rows = [(case.contradict, _said(case, float(p), least)) for case, p, kept in judged if kept]
            hits = sum(real and said for real, said in rows)
            report.row(
                set=title,
                grade=grade,
                pairs=len(rows),
                found=sum(said for _, said in rows),
                precision=hits / max(1, sum(said for _, said in rows)),
                recall=hits / max(1, sum(real for real, _ in rows)),
            )
    report.save()


def _said(case: Case, probability: float, least: float) -> bool:
    return probability >= (min(ALONE.ruled, least) if case.seen.get("rule") else least)


def _write(names: list[str], weights: Floats) -> None:
    of = {name: round(float(weight), 4) for name, weight in zip(names, weights[:-1], strict=True)}
    of = {name: weight for name, weight in of.items() if weight}
    held = {"bias": round(float(weights[-1]), 4), "of": of, "alone": asdict(ALONE), "together": asdict(TOGETHER)}
    judgement.PLACE.write_bytes(orjson.dumps({**held, "joint_bias": 0.0, "joint": {}}))
    judgement.weights.cache_clear()
    joint, bias = _joint()
    held |= {"joint": joint, "joint_bias": bias}
    judgement.PLACE.write_bytes(orjson.dumps(held, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


def main_joint() -> None:
    """Fits only how much the model counts beside the observations, and writes that."""
    held = orjson.loads(judgement.PLACE.read_bytes())
    joint, bias = _joint()
    held |= {"joint": joint, "joint_bias": bias, "together": asdict(TOGETHER)}
    judgement.PLACE.write_bytes(orjson.dumps(held, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


def _joint() -> tuple[dict[str, float], float]:
    """How much the model and the observations count together, by the pairs that neither learned from."""
    rows = [(name, row) for name, rows in weighing().items() for row in rows]
    pairs = [(min(row[1:]), max(row[1:])) for _, row in rows]
    odds = judgement.read_odds(pairs)
    both = [judgement.beside(*pair) for pair in pairs]
    seen = [item.joint(item.observations(), odds[pair]) for item, pair in zip(both, pairs, strict=True)]
    names = list(seen[0])
    given = np.array([[item[name] for name in names] for item in seen])
    labels = np.array([float(row[0] == "C") for _, row in rows])
    counts = np.array([WEIGHT_OF[name[0]] for name, _ in rows])
    weights = [round(float(weight), 4) for weight in fit(given, labels, counts, np.zeros(len(names)))]
    return dict(zip(names, weights, strict=False)), weights[-1]


if __name__ == "__main__":
    if sys.argv[1:] == ["joint"]:
        main_joint()
    else:
        main(write=True)
