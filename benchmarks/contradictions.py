"""How well contradictions between plain statements are found: tuned on one half of the pairs, judged on the other."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import Report
from clew.memory.statements import clash

PAIRS = Path(__file__).with_name("statements.tsv")


def figures(rows: list[list[str]]) -> dict[str, float | int]:
    said = [(label == "C", clash(one, other) is not None) for label, one, other in rows]
    hits = sum(real and found for real, found in said)
    return {
        "pairs": len(rows),
        "precision": hits / max(1, sum(found for _, found in said)),
        "recall": hits / max(1, sum(real for real, _ in said)),
    }


def main(quick: bool = False) -> None:
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    report = Report("contradictions", "Contradictions from plain statements, without a model")
    report.row(half="tuned on", **figures(rows[::2]), target="")
    report.row(half="held out", **figures(rows[1::2]), target="precision >= 0.9, recall >= 0.6")
    report.save()


if __name__ == "__main__":
    main()
