"""Precision and recall of contradictions between plain statements, on training pairs and on unseen ones.

Learned from: `domains` (20 domains by one hand), `teams` (what teams write down of their work, by that hand too),
`develop`, `fresh`, `stranger`, `stranger3`, the half `tune` of statements.tsv, every other line of `fresh3`, `hands`
(3,300 pairs by eight hands), `writers` (14,700 pairs by 22 hands (w), and 6,600 neighbours among their statements that
nine readers judged (n)), `groups` (8,500 statements by 41 hands, each with nine others that say the same, contradict
it or do neither; the last ten hands saw what the model before got wrong and wrote more of that) and `memories` (78
projects by 26 hands, 60 to 80 records each that hold together). Those of eight writers (`WEIGHING`) only decide the
weight of the model relative to the observations. Never looked at: `domains_held` (8 other domains by the hand of
`domains`, written before the mechanism), `fresh2`, the half `held`, the other lines of `fresh3` (72 pairs about
software, shops and law), `stranger2`, the other half of 80 pairs by a writer who paraphrased freely, `stranger4`, the
other half of 120 pairs by two more people, `hard` (683 pairs by four hands, half of them free paraphrases, and others
that agree in as many words), `traps` (80 pairs of a tester), and texts by ten testers who did not know the mechanism:
`plain` (160 pairs), `notes` (160 records of eight projects, the second written weeks after the first), `plain2` (120),
`plain3` (300 by three), `plain4` (100), `plain5` and `plain6` (120 each) and `plain7` (100). The last three have a
different subject for each pair. The grade `contradicts` counts; possible contradictions are in a separate column.
`python -m benchmarks.contradictions FILE` judges a file of JSON lines with `a`, `b` and `contradict`.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.report import Report
from clew.memory.contradictions.judgement import graded, judge, ordered, read_odds

HERE = Path(__file__).parent
GROUPS = HERE / "data" / "contradictions" / "groups"
MEMORIES = HERE / "data" / "contradictions" / "memories"
PAIRS = HERE / "statements.tsv"
"""Half, label (contradicting, related, unrelated) and two statements a line. `held` is never used for tuning."""
LEARNED = ("develop", "fresh", "stranger", "stranger3")
FREE = frozenset({"stranger", "stranger3"})
"""The training sets whose pairs are paraphrases."""
PLAIN = tuple(f"plain{number}" for number in ("", 2, 3, 4, 5, 6, 7))
"""Pairs in plain wording by testers who did not know the mechanism."""
UNSEEN = ("fresh2", "stranger2", "stranger4", "hard", "traps", "notes", *PLAIN)
WEIGHING = frozenset({"w16", "w19", "n6", "n8", "g07", "g18", "p08", "q07"})
"""The writers whose pairs the model never saw: by them its thresholds are chosen."""
WEIGHT_OF = {"w": 1.0, "n": 0.5, "g": 0.3, "p": 0.3, "q": 0.3}
"""What a pair counts by its origin: neighbours (n) were chosen for being hard, pairs of a group (g) or of a project's
memory (p, q) are much alike."""
TRIED = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.25, 3.5)
"""Thresholds that are compared, as logarithms of odds."""
STRANGERS, AMONG = 260, 30
"""Pairs of two kinds that are drawn from each writer: any two statements of different groups, and of so many the one
that shares most words."""
NEIGHBOURS = 12
"""The number of records of a memory that each is compared with."""
_WORD = re.compile(r"\w+")

Pair = list[str]
"""C if they contradict, else another letter, and two statements."""


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


@dataclass(frozen=True, slots=True)
class Group:
    """A statement (B) with others that are equivalent (E), contradict it (C), or are compatible (N)."""

    base: str
    same: tuple[str, ...]
    against: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        return (self.base, *self.same, *self.against, *self.beside)

    def marked(self) -> list[Pair]:
        """All pairs whose label follows. What says the same contradicts and agrees with the same statements."""
        alike = (self.base, *self.same)
        rows = [["E", self.base, other] for other in self.same]
        rows += [["C", one, other] for one in alike for other in self.against]
        return rows + [["N", one, other] for one in alike for other in self.beside]


def groups() -> dict[str, list[Group]]:
    """The groups of each writer."""
    return {path.stem: read_groups(path) for path in sorted(GROUPS.glob("*.txt"))}


def read_groups(path: Path) -> list[Group]:
    """Groups are separated by empty lines; a line is a mark, a space and a statement."""
    found = []
    for part in path.read_text(encoding="utf-8").strip().split("\n\n"):
        (_, base), *lines = (line.partition(" ")[::2] for line in part.splitlines())
        found.append(group_of(base, lines))
    return found


@dataclass(frozen=True, slots=True)
class Memory:
    """Records of one project that hold together, and groups of statements about some of them."""

    records: tuple[str, ...]
    groups: tuple[Group, ...]

    def neighbours(self) -> list[Pair]:
        """Each record with those that share most words with it. None of them contradicts it."""
        words = [set(_WORD.findall(text.lower())) for text in self.records]
        found: dict[frozenset[int], Pair] = {}
        for at, own in enumerate(words):
            shared = sorted((-len(own & other), number) for number, other in enumerate(words) if number != at)
            for _, number in shared[:NEIGHBOURS]:
                found[frozenset((at, number))] = ["N", self.records[at], self.records[number]]
        return list(found.values())

    def marked(self) -> list[Pair]:
        return self.neighbours() + [pair for group in self.groups for pair in group.marked()]


def memories() -> dict[str, list[Memory]]:
    """The memories of each writer."""
    return {path.stem: read_memories(path) for path in sorted(MEMORIES.glob("*.txt"))}


def read_memories(path: Path) -> list[Memory]:
    """Memories are separated by empty lines; a line is a record (R), or a statement about the record above it:
    equivalent (E), contradicting (C), or compatible (N)."""
    found = []
    for part in path.read_text(encoding="utf-8").strip().split("\n\n"):
        about: dict[str, list[tuple[str, str]]] = {}
        for mark, _, text in (line.partition(" ") for line in part.splitlines()):
            if mark == "R":
                record = about.setdefault(text, [])
            else:
                record.append((mark, text))
        found.append(Memory(tuple(about), tuple(group_of(base, lines) for base, lines in about.items() if lines)))
    return found


def group_of(base: str, lines: Sequence[tuple[str, str]]) -> Group:
    by = {mark: tuple(text for known, text in lines if known == mark) for mark in "ECN"}
    return Group(base, by["E"], by["C"], by["N"])


def strangers(groups: list[tuple[str, ...]]) -> list[Pair]:
    """Unrelated statements of one writer."""

    def words(text: str) -> set[str]:
        return set(text.lower().split())

    chance, found = random.Random(1), []
    for _ in range(min(STRANGERS, len(groups))):
        one, *others = (chance.choice(group) for group in chance.sample(groups, min(AMONG, len(groups))))
        nearest = max(others, key=lambda text: len(words(one) & words(text)) / math.sqrt(len(words(text))))
        found += [["N", one, others[0]], ["N", one, nearest]]
    return found


def learned() -> dict[str, list[Pair]]:
    """All training sets."""
    return {
        "domains": [pair for _, pair in domains("domains")],
        "teams": [pair for _, pair in domains("teams")],
        "tune": pairs("tune"),
        **{name: named(name) for name in LEARNED},
        "fresh3, first line of two": named("fresh3")[::2],
        "hands": named("hands"),
        **{name: rows for name, rows in writers().items() if name not in WEIGHING},
    }


def weighing() -> dict[str, list[Pair]]:
    """The pairs that the model never saw, and by which its thresholds are chosen."""
    found = {name: rows for name, rows in writers().items() if name in WEIGHING}
    for name in sorted(WEIGHING & groups().keys()):
        marked = [pair for group in groups()[name] for pair in group.marked()]
        found[name] = [[label if label == "C" else "R", *pair] for label, *pair in marked]
    for name in sorted(WEIGHING & memories().keys()):
        found[name] = [pair for memory in memories()[name] for pair in memory.marked()]
    return found


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
    plain = [pair for name in PLAIN for pair in named(name)]
    report.row(set="all in plain wording", seen="never", **figures(plain), target="precision >= 0.95, recall >= 0.9")
    if not quick:
        for name, rows in (("fresh2", named("fresh2")), ("domains_held", held)):
            others, found = across(rows)
            report.row(set=f"{name}, across lines", seen="never", pairs=others, found=found)
    everything = [pair for rows in unseen.values() for pair in rows]
    report.row(set="all that was never seen", seen="never", **figures(everything))
    report.row(set="We painted boat N", seen="never", **dict(zip(("pairs", "found"), instances(), strict=True)))
    report.save()


def instances() -> tuple[int, int]:
    """Twenty statements about one thing each of a kind, against each other, and how many are surely against it."""
    said = [f"We painted boat {number}" for number in range(1, 21)]
    others = list(itertools.combinations(said, 2))
    return len(others), sum(found is not None and found.sure for found in judge(others))


def thresholds() -> None:
    """Precision and recall from each threshold on, and the share of real ones among those just above it."""
    report = Report("contradiction_thresholds", "Thresholds, by writers that the model never saw")
    rows = [(WEIGHT_OF[name[0]], label == "C", (one, other)) for name, said in weighing().items()
            for label, one, other in said]  # fmt: skip
    odds = read_odds([pair for _, _, pair in rows])
    # What is never sure whatever the odds are (see `graded`) counts as not found.
    judged = [(weight, real, pair, odds.get(ordered(pair), -math.inf)) for weight, real, pair in rows]
    found = [(weight, real, value) for weight, real, pair, value in judged
             if value >= TRIED[0] and (clash := graded(pair, math.inf)) and clash.sure]  # fmt: skip
    total = sum(weight for weight, real, _ in rows if real)
    for least, more in itertools.pairwise((*TRIED, math.inf)):
        above = [(weight, real) for weight, real, value in found if value >= least]
        near = [(weight, real) for weight, real, value in found if least <= value < more]
        hits = sum(weight for weight, real in above if real)
        report.row(least=least, precision=hits / _sum(above), recall=hits / total,
                   real_here=sum(weight for weight, real in near if real) / _sum(near))  # fmt: skip
    report.save()


def _sum(weighed: Sequence[tuple[float, bool]]) -> float:
    return sum(weight for weight, _ in weighed) or 1.0


if __name__ == "__main__":
    if sys.argv[1:] == ["thresholds"]:
        thresholds()
    elif len(sys.argv) > 1:
        print(figures(written(Path(sys.argv[1]))))
    else:
        main()
