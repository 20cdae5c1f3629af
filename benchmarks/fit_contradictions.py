"""Fits how much each observation counts for a contradiction: `python -m benchmarks fit_contradictions`.

Logistic regression on the labelled pairs that may be looked at, and on pairs of statements from different lines of one
domain, which do not contradict each other and look most as if they did. Prints the figures of fits that never saw the
domain they are measured on. `python -m benchmarks.fit_contradictions` also writes the weights of all to `weights.json`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.contradictions import FREE, HERE, LEARNED, Pair, domains, named, pairs
from benchmarks.report import Report
from clew.memory.contradictions import judgement
from clew.memory.contradictions.sentences import sentence

Floats = NDArray[np.float64]
RIDGE = 20.0
"""How strongly weights are drawn to nought: of 3 to 100 the one with the best figures on domains left out."""
ACROSS = 25
"""Pairs across the lines of a domain, those that share most words."""
PROSE = HERE / "data" / "contradictions" / "prose.tsv"
MAY, SURE = 0.35, 0.65
"""From `SURE` on 0.94 of the pairs in domains left out are real: what is sure keeps a record from being kept."""


@dataclass(frozen=True)
class Case:
    domain: str
    contradict: bool
    across: bool
    weighed: bool
    """Some pairs are never weighed (two of a kind, nothing in common); they count as not found."""
    seen: dict[str, float]


def cases() -> list[Case]:
    labelled = [*domains("domains"), *(("tune", pair) for pair in pairs("tune"))]
    labelled += [(name, pair) for name in LEARNED for pair in named(name)]
    labelled += [("fresh3", pair) for pair in named("fresh3")[::2]]
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
    both = judgement.pair(one, other)
    return Case(domain, label == "C", across, both is not None, both.observations() if both else {})


def _across(said: list[Pair]) -> list[Pair]:
    texts = [(number, text) for number, pair in enumerate(said) for text in pair[1:]]
    found = [["R", a, b] for (i, a), (j, b) in itertools.combinations(texts, 2) if i != j]
    return sorted(found, key=lambda pair: (-_shared(pair[1], pair[2]), pair))[:ACROSS]


def _shared(one: str, other: str) -> float:
    first, second = ({token.mean for token in sentence(text).tokens if token.weight == 1} for text in (one, other))
    return len(first & second) / max(1, min(len(first), len(second)))


def fit(seen: Floats, labels: Floats) -> Floats:
    """Weights by Newton's method, the last for the constant; features are brought to one scale first."""
    mean, scale = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-6)
    given = np.column_stack(((seen - mean) / scale, np.ones(len(seen))))
    ridge = np.full(given.shape[1], RIDGE)
    ridge[-1] = 1e-6
    weights = np.zeros(given.shape[1])
    for _ in range(30):
        guess = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (guess - labels) + ridge * weights
        bend = (given * (guess * (1 - guess))[:, None]).T @ given + np.diag(ridge)
        weights = weights - np.linalg.solve(bend, slope)
    plain = weights[:-1] / scale
    return np.append(plain, weights[-1] - plain @ mean)


def main(quick: bool = False, write: bool = False) -> None:
    found = cases()
    names = sorted({name for case in found for name in case.seen})
    seen = np.array([[case.seen.get(name, 0.0) for name in names] for case in found])
    labels = np.array([float(case.contradict) for case in found])
    groups = np.array([case.domain for case in found])
    weighed = np.array([case.weighed for case in found])
    guessed = np.zeros(len(found))
    for name in sorted(set(groups)):
        apart = groups == name
        weights = fit(seen[~apart & weighed], labels[~apart & weighed])
        guessed[apart] = weighed[apart] / (1 + np.exp(-(seen[apart] @ weights[:-1] + weights[-1])))
    _report(found, guessed)
    if write:
        _write(names, fit(seen[weighed], labels[weighed]))


def _report(found: list[Case], guessed: Floats) -> None:
    report = Report("fit_contradictions", "Contradictions in domains that the weights never saw")
    old = {"tune", *LEARNED} - FREE
    for title, chosen in (
        ("domains", [case.domain not in old and not case.across for case in found]),
        ("paraphrases of a stranger", [case.domain in FREE and not case.across for case in found]),
        ("across lines", [case.across for case in found]),
    ):
        for grade, least in (("contradicts", SURE), ("contradicts or may", MAY)):
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
    return probability >= (MAY if case.seen.get("rule") else least)


def _write(names: list[str], weights: Floats) -> None:
    of = {name: round(float(weight), 4) for name, weight in zip(names, weights[:-1], strict=True)}
    held = {"bias": round(float(weights[-1]), 4), "may": MAY, "sure": SURE, "of": of}
    judgement.PLACE.write_bytes(orjson.dumps(held, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


if __name__ == "__main__":
    main(write=True)
