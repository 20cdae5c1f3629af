"""How well contradictions between plain statements are found: tuned on some sets of pairs, judged on others.

`fresh` and `fresh2` were written before anything was tried on them, in domains and words of their own, and run once;
what they gave then stands in `first_run`. Since then `fresh` has served to find what was missing, so `fresh2` counts.

`stranger` and `stranger2` are the halves of 80 pairs by somebody who did not know the words here and paraphrased freely
(two sentences about one thing hardly share a word). `stranger` was looked at to mend what it showed, `stranger2` never.
`python -m benchmarks.contradictions FILE` judges a file of JSON lines with `a`, `b` and `contradict`.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import orjson

from benchmarks.report import Report
from clew.memory.contradictions.statements import clash

HERE = Path(__file__).parent
PAIRS = HERE / "statements.tsv"
"""Half, label (contradicting, related, unrelated) and two statements a line. Nobody tunes on `held`."""
SETS = {
    "develop": "",
    "fresh": "0.960 and 0.600",
    "fresh2": "0.963 and 0.867",
    "stranger": "0.750 and 0.136",
    "stranger2": "0.800 and 0.222",
}
"""Files of label and two statements a line -> precision and recall when they were run for the first time."""

Pair = list[str]


def pairs(half: str) -> list[Pair]:
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [row[1:] for row in rows if row[0] == half]


def named(name: str) -> list[Pair]:
    text = (HERE / "data" / "contradictions" / f"{name}.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


def figures(rows: list[Pair]) -> dict[str, float | int]:
    said = [(label == "C", clash(one, other) is not None) for label, one, other in rows]
    hits = sum(real and found for real, found in said)
    return {
        "pairs": len(rows),
        "precision": hits / max(1, sum(found for _, found in said)),
        "recall": hits / max(1, sum(real for real, _ in said)),
    }


def written(path: Path) -> list[Pair]:
    """Pairs of a file of JSON lines."""
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return [["C" if row["contradict"] else "R", row["a"], row["b"]] for row in rows]


def across(rows: list[Pair]) -> tuple[int, int]:
    """Pairs of statements from different lines, and how many of them are taken for contradictions."""
    said = [(number, text) for number, row in enumerate(rows) for text in row[1:]]
    others = [(a, b) for (i, a), (j, b) in itertools.combinations(said, 2) if i != j and a != b]
    return len(others), sum(clash(a, b) is not None for a, b in others)


def main(quick: bool = False) -> None:
    report = Report("contradictions", "Contradictions from plain statements, without a model")
    report.row(set="tuned on", **figures(pairs("tune")), first_run="", target="")
    report.row(set="held out", **figures(pairs("held")), first_run="", target="precision >= 0.9, recall >= 0.6")
    for name, first in SETS.items():
        target = "precision >= 0.95, recall >= 0.9" if first else ""
        report.row(set=name, **figures(named(name)), first_run=first, target=target)
    if not quick:
        others, found = across([*named("fresh"), *named("fresh2")])
        report.row(set="fresh, across lines", pairs=others, found=found)
    report.save()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(figures(written(Path(sys.argv[1]))))
    else:
        main()
