"""How well contradictions are found among all records of a memory, where hardly two of thousands contradict.

Two inputs. Files: the statements of a set of pairs are decisions in one file, and `list_contradictions` returns the
contradictions among all of them. Manual: the memory of a project, as written by a tester, is stored record by record
with `remember`; the contradictions in the response count, and the record is stored as coexisting, as a confident
author would.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.contradictions import HERE, Pair, domains, named
from benchmarks.report import Report
from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings

PROJECTS = HERE / "data" / "contradictions" / "projects"

Found = set[frozenset[int]]
"""The numbers of two records."""


class Memory:
    """A separate memory, used by one agent."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "memory"
        given = {"home": str(home), "workspace": "bench", "memory_dir": str(self.folder)}
        self.clew = open_clew(load_settings(given, {}))
        self._connection = Connection()

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = self.clew.dispatcher.call(name, arguments, self._connection)
        assert answer.ok, answer.envelope["error"]
        result: dict[str, Any] = answer.envelope["result"]
        return result


@contextmanager
def memory() -> Iterator[Memory]:
    with tempfile.TemporaryDirectory(prefix="clew-bench-contradictions-") as home:
        made = Memory(Path(home))
        try:
            yield made
        finally:
            made.clew.close()


def by_files(statements: list[str]) -> Found:
    blocks = [f"[D-{number}]\nStatus: active\nStatement: {text}\n" for number, text in enumerate(statements)]
    with memory() as made:
        (made.folder / "decisions").mkdir(parents=True)
        (made.folder / "decisions" / "DECISIONS.md").write_text("\n".join(blocks), encoding="utf-8")
        found = made.call("list_contradictions", limit=1000).get("resolutions", [])
    return {frozenset(int(item[side][2:]) for side in ("block_a", "block_b")) for item in found}


def by_hand(records: list[dict[str, str]]) -> tuple[Found, Found]:
    """The reported certain contradictions, and the same including possible ones."""
    sure: Found = set()
    may: Found = set()
    numbers: dict[str, int] = {}
    with memory() as made:
        for number, record in enumerate(records):
            said = made.call("remember", **record)
            against = [item["id"] for item in said["contradicts"]]
            doubtful = [item["id"] for item in said.get("may_contradict", [])]
            sure |= {frozenset((numbers[id], number)) for id in against if id in numbers}
            may |= {frozenset((numbers[id], number)) for id in (*against, *doubtful) if id in numbers}
            if against:
                said = made.call("remember", **record, beside=against)
            numbers[said["id"]] = number
    return sure, may


def rates(found: Found, real: Found) -> dict[str, float | int]:
    hits = len(found & real)
    return {"found": len(found), "precision": hits / max(1, len(found)), "recall": hits / max(1, len(real))}


def main(quick: bool = False) -> None:
    report = Report("contradicting_stores", "Contradictions among all records of a memory")
    sets: dict[str, list[Pair]] = {name: named(name) for name in ("plain5", "plain6", "plain7", "fresh2")}
    if not quick:
        sets |= {name: named(name) for name in ("plain", "plain2", "plain4", "notes")}
        sets["domains_held"] = [pair for _, pair in domains("domains_held")]
    for name, rows in sets.items():
        texts = list(dict.fromkeys(text for row in rows for text in row[1:]))
        at = {text: number for number, text in enumerate(texts)}
        real = {frozenset((at[one], at[other])) for label, one, other in rows if label == "C"}
        report.row(set=name, way="by files", records=len(texts), real=len(real), **rates(by_files(texts), real))
    for path in sorted(PROJECTS.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        real = set(map(frozenset, held["contradictions"]))
        told = itertools.zip_longest(("by hand", "by hand, with what may"), by_hand(held["records"]))
        for way, found in told:
            records = len(held["records"])
            report.row(set=path.stem, way=way, records=records, real=len(real), **rates(found, real))
    report.save()


if __name__ == "__main__":
    main()
