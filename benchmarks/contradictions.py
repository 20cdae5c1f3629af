"""How well contradictions between plain statements are found, on pairs that were learned from and on others.

Learned from: `domains` (20 domains by one hand), `teams` (what teams write down of their work, by that hand too),
`develop`, `fresh`, `stranger`, `stranger3`, the half `tune` of statements.tsv, every other line of `fresh3`, `hands`
(3,300 pairs by eight hands) and `writers`: 14,700 pairs by 22 hands (w), and 6,600 neighbours among their statements
that nine readers judged one by one (n). Four of these 31 decide only how much the model counts beside the
observations. Never looked at: `domains_held` (8 other domains by the hand of `domains`, written before the mechanism),
`fresh2`, the half `held`, the other lines of `fresh3` (72 pairs about software, shops and law), `stranger2`, the other
half of 80 pairs by somebody who paraphrased freely, `stranger4`, the other half of 120 pairs by two more people,
`hard` (683 pairs by four hands, half of them free paraphrases, beside others that agree in as many words), `traps` (80
pairs of a tester), and what three testers wrote who knew nothing of the mechanism: `plain` (160 pairs), `notes` (160
records of eight projects, the second written weeks after the first) and `plain2` (120, first judged when everything
was done).
What counts is the grade `contradicts`; what only may contradict stands in a column of its own.
`python -m benchmarks.contradictions FILE` judges a file of JSON lines with `a`, `b` and `contradict`.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import orjson

from benchmarks.report import Report
from clew.memory.contradictions.judgement import judge

HERE = Path(__file__).parent
PAIRS = HERE / "statements.tsv"
"""Half, label (contradicting, related, unrelated) and two statements a line. Nobody tunes on `held`."""
LEARNED = ("develop", "fresh", "stranger", "stranger3")
FREE = frozenset({"stranger", "stranger3"})
"""Of the sets learned from, those whose pairs are paraphrases."""
UNSEEN = ("fresh2", "stranger2", "stranger4", "hard", "traps", "plain", "notes", "plain2")
WEIGHING = frozenset({"w16", "w19", "n6", "n8"})
"""The writers whose pairs the model never saw: by them it is weighed."""

Pair = list[str]
"""C where they contradict, else another letter, and two statements."""


def pairs(half: str) -> list[Pair]:
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [row[1:] for row in rows if row[0] == half]


def named(name: str) -> list[Pair]:
    text = (HERE / "data" / "contradictions" / f"{name}.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


def domains(name: str) -> list[tuple[str, Pair]]:
    """The domain of each pair, and the pair."""
    text = (HERE / "data" / "contradictions" / f"{name}.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()]
    return [(domain, [label, one, other]) for domain, label, _, one, other in rows]


def writers() -> dict[str, list[Pair]]:
    """The pairs of each writer."""
    found: dict[str, list[Pair]] = {}
    for line in (HERE / "data" / "contradictions" / "writers.tsv").read_text(encoding="utf-8").splitlines():
        writer, *pair = line.split("\t")
        found.setdefault(writer, []).append(pair)
    return found


def learned() -> dict[str, list[Pair]]:
    """All sets that may be learned from."""
    return {
        "domains": [pair for _, pair in domains("domains")],
        "teams": [pair for _, pair in domains("teams")],
        "tune": pairs("tune"),
        **{name: named(name) for name in LEARNED},
        "fresh3, first line of two": named("fresh3")[::2],
        "hands": named("hands"),
        **{name: rows for name, rows in writers().items() if name not in WEIGHING},
    }


def figures(rows: list[Pair]) -> dict[str, float | int]:
    said = list(zip([row[0] == "C" for row in rows], judge([(one, other) for _, one, other in rows]), strict=True))
    sure = [(real, found is not None and found.sure) for real, found in said]
    may = [(real, found is not None) for real, found in said]
    precision, recall = _rates(sure)
    with_may = _rates(may)
    return {
        "pairs": len(rows),
        "precision": precision,
        "recall": recall,
        "precision_with_may": with_may[0],
        "recall_with_may": with_may[1],
    }


def _rates(said: list[tuple[bool, bool]]) -> tuple[float, float]:
    hits = sum(real and found for real, found in said)
    return hits / max(1, sum(found for _, found in said)), hits / max(1, sum(real for real, _ in said))


def written(path: Path) -> list[Pair]:
    """Pairs of a file of JSON lines."""
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return [["C" if row["contradict"] else "R", row["a"], row["b"]] for row in rows]


def across(rows: list[Pair]) -> tuple[int, int]:
    """Pairs of statements from different lines, and how many of them are taken for contradictions."""
    said = [(number, text) for number, row in enumerate(rows) for text in row[1:]]
    others = [(a, b) for (i, a), (j, b) in itertools.combinations(said, 2) if i != j and a != b]
    return len(others), sum(found is not None and found.sure for found in judge(others))


def main(quick: bool = False) -> None:
    report = Report("contradictions", "Contradictions from plain statements")
    held = [pair for _, pair in domains("domains_held")]
    unseen = {"domains_held": held, "held": pairs("held"), **{name: named(name) for name in UNSEEN}}
    unseen["fresh3, second line of two"] = named("fresh3")[1::2]
    for name, rows in () if quick else learned().items():
        report.row(set=name, seen="learned from", **figures(rows))
    for name, rows in unseen.items():
        report.row(set=name, seen="never", **figures(rows), target="precision >= 0.95, recall >= 0.9")
    if not quick:
        for name, rows in (("fresh2", named("fresh2")), ("domains_held", held)):
            others, found = across(rows)
            report.row(set=f"{name}, across lines", seen="never", pairs=others, found=found)
    report.row(set="We painted boat N", seen="never", **dict(zip(("pairs", "found"), instances(), strict=True)))
    report.save()


def instances() -> tuple[int, int]:
    """Twenty statements about one thing each of a kind, against each other."""
    said = [f"We painted boat {number}" for number in range(1, 21)]
    others = list(itertools.combinations(said, 2))
    return len(others), sum(found is not None for found in judge(others))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(figures(written(Path(sys.argv[1]))))
    else:
        main()
