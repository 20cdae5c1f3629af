"""How often a person is asked about records that contradict nothing, in a memory of 1,000 records.

Honest records are stored one by one with `remember`: sentences unrelated to the stored ones (written for this, half of
them as documentation is written), sentences of this machine's own documentation, and the records of projects whose
writers the model never saw, which are consistent. Planted are records of which the first side of a pair is in the
memory and the second contradicts it. Aim: at most one honest record in fifty waits, and most planted ones are
reported.
"""

from __future__ import annotations

import json
import random

from benchmarks import samples
from benchmarks.contradicting_stores import Memory, memory
from benchmarks.contradictions import HERE, WEIGHING, memories, named
from benchmarks.report import Report

DATA = HERE / "data"
SIZE, ASKED = 1_000, 60
PLANTED = ("plain3", "plain4", "plain5", "plain6", "plain7")


def base() -> list[str]:
    """Sentences of Clew's own guides and valid records of agents."""
    lines = (DATA / "contradictions" / "prose.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[1] for line in lines]
    for path in sorted((DATA / "agentmem").glob("*.json")):
        records = json.loads(path.read_text(encoding="utf-8"))["items"]
        texts += [record["text"] for record in records if record["status"] == "active"]
    return list(dict.fromkeys(texts))


def unrelated() -> list[str]:
    return (DATA / "contradictions" / "unrelated.txt").read_text(encoding="utf-8").splitlines()


def documentation() -> list[str]:
    """First sentences of the standard library's documentation."""
    said = [first for first, _ in samples.docstrings() if first.endswith(".")]
    return random.Random(4).sample(said, ASKED)


def planted() -> list[tuple[str, str]]:
    return [(one, other) for name in PLANTED for label, one, other in named(name) if label == "C"]


def kept_by_file(made: Memory, texts: list[str]) -> None:
    blocks = [f"[F-{number}]\nStatus: active\nStatement: {text}\n" for number, text in enumerate(texts, 1)]
    (made.folder / "knowledge").mkdir(parents=True)
    (made.folder / "knowledge" / "FACTS.md").write_text("\n".join(blocks), encoding="utf-8")
    made.call("recall", query="anything")


def remembered(texts: list[str], others: list[str]) -> dict[str, float | int]:
    """The outcomes of records that are stored one by one in a memory with others."""
    waits = told = 0
    with memory() as made:
        kept_by_file(made, others)
        for text in texts:
            said = made.call("remember", text=text, kind="fact")
            waits += said["state"] == "proposed"
            told += said["state"] == "proposed" or "may_contradict" in said
    return {"records": len(texts), "wait": waits / len(texts), "wait_or_told": told / len(texts)}


def main(quick: bool = False) -> None:
    report = Report("honest_records", f"Records that wait for a person, in a memory of {SIZE}")
    texts = base()[:SIZE]
    said = unrelated()
    for name, honest in (("unrelated, as documentation", said[:ASKED]), ("unrelated, of all kinds", said[ASKED:])):
        report.row(set=name, **remembered(honest, texts), target="wait <= 0.02")
    report.row(set="documentation of Python", **remembered(documentation(), texts), target="wait <= 0.02")
    for name in sorted(WEIGHING & memories().keys()):
        for number, project in enumerate(memories()[name][: 1 if quick else None], 1):
            report.row(set=f"project {number} of {name}", **remembered(list(project.records), texts))
    pairs = planted()
    firsts, seconds = [one for one, _ in pairs], [other for _, other in pairs]
    report.row(set="planted", **remembered(seconds, [*firsts, *texts][:SIZE]), target="wait >= 0.7")
    report.save()


if __name__ == "__main__":
    main()
