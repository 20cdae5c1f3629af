"""Young projects: stores of five to two dozen records, as an agent writes them, queried while they grow.

The records of a project (`benchmarks/data/young`) are kept one by one through `remember`, and at some sizes everything
is asked: what the records there answer, what nothing ever answers, and what only a later record will. The last are the
hardest for abstention: they are about the same project, in its words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.recall.data import Collection, Record, agentmem
from clew.errors import ClewError
from clew.registry.context import Context

SIZES = (5, 8, 12, 18, 24)
DATA = Path(__file__).resolve().parents[1] / "data" / "young"


@dataclass(frozen=True)
class Stage:
    """A project at one size: what it can answer now, and what it cannot."""

    place: Context
    collection: Collection


def young(path: Path = DATA) -> list[Collection]:
    return agentmem(path, "young")


def stages(ctx: Context, collection: Collection, sizes: tuple[int, ...] = SIZES) -> Iterator[Stage]:
    """The project after so many records; each stage exists until the next one is requested."""
    place = Context(ctx.dispatcher, ctx.connection, collection.name, ctx.agent, ctx.progress)
    names: dict[str, str] = {}
    for size in sizes:
        for record in collection.records[len(names) : size]:
            names[record.id] = _kept(place, record)
        yield Stage(place, _at_size(collection, names))


def _kept(place: Context, record: Record) -> str:
    arguments = {"text": record.text, "kind": record.kind, "workspace": place.workspace}
    answer = place.dispatcher.call("remember", arguments, place.connection)
    if not answer.ok:
        raise ClewError("INVALID_INPUT", f"{record.id} could not be kept: {answer.envelope['error']}", "Mend its text.")
    return str(answer.envelope["result"]["id"])


def _at_size(collection: Collection, names: dict[str, str]) -> Collection:
    """Evidence under the ids that the store gave; what has none of it here yet cannot be answered."""
    known = [question for question in collection.questions if question.evidence <= names.keys()]
    later = [question.text for question in collection.questions if not question.evidence & names.keys()]
    asked = [replace(item, evidence=frozenset(names[id] for id in item.evidence)) for item in known]
    records = [record for record in collection.records if record.id in names]
    return replace(collection, records=records, questions=asked, unanswerable=[*collection.unanswerable, *later])
