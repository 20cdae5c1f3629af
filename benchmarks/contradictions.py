"""How well contradictions between plain statements are found: tuned on one half of the pairs, judged on the other."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import Report
from clew.memory.contradictions.statements import clash

PAIRS = Path(__file__).with_name("statements.tsv")
"""Half, label (contradicting, related, unrelated) and two statements a line. Nobody tunes on `held`."""


def pairs(half: str) -> list[list[str]]:
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [row[1:] for row in rows if row[0] == half]


def figures(rows: list[list[str]]) -> dict[str, float | int]:
    said = [(label == "C", clash(one, other) is not None) for label, one, other in rows]
    hits = sum(real and found for real, found in said)
    return {
        "pairs": len(rows),
        "precision": hits / max(1, sum(found for _, found in said)),
        "recall": hits / max(1, sum(real for real, _ in said)),
    }


def main(quick: bool = False) -> None:
    report = Report("contradictions", "Contradictions from plain statements, without a model")
    report.row(half="tuned on", **figures(pairs("tune")), target="")
    report.row(half="held out", **figures(pairs("held")), target="precision >= 0.9, recall >= 0.6")
    report.save()


if __name__ == "__main__":
    main()
