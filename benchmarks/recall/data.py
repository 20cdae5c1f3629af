"""Collections of several shapes with questions: LoCoMo, agentmem, BEAM and LongMemEval converted to records.

Only agentmem is ours. The other files are for measuring and are never part of the project; their paths are given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.recall.locomo import Conversation, Question, read_conversations
from benchmarks.training.projects import Project
from clew.clock import rfc3339
from clew.errors import ClewError
from clew.index.dates import find_moment
from clew.index.items import Item, index_items
from clew.registry.context import Context


@dataclass(frozen=True)
class Record:
    """Any stored item: a turn of a conversation, or a decision with its author and the record it replaces."""

    id: str
    text: str
    title: str | None = None
    kind: str = "turn"
    status: str | None = None
    author: str | None = None
    ts_ms: int | None = None
    doc: str | None = None
    links: tuple[tuple[str, str], ...] = ()

    @property
    def plain(self) -> str:
        """Author, date, title and words in one text, for systems without fields."""
        date = f" ({rfc3339(self.ts_ms)[:10]})" if self.ts_ms is not None else ""
        return f"{self.author or ''}{date}: {f'{self.title}. ' if self.title else ''}{self.text}"


@dataclass(frozen=True)
class Collection:
    """One store of records with its questions."""

    name: str
    shape: str
    records: list[Record]
    questions: list[Question]
    unanswerable: list[str] = field(default_factory=list)


def from_conversation(conversation: Conversation, shape: str) -> Collection:
    records = [
        Record(turn.id, turn.body, author=turn.speaker or None, ts_ms=turn.ts_ms, doc=f"session-{turn.session}")
        for turn in conversation.turns
    ]
    return Collection(f"{shape}/{conversation.name}", shape, records, conversation.questions)


def locomo(path: Path) -> list[Collection]:
    return [from_conversation(conversation, "locomo") for conversation in read_conversations(path)]


def agentmem(path: Path, shape: str = "agentmem") -> list[Collection]:
    """Every project of a directory, or the one project of a file."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return [_project(_json(file), file.stem, shape) for file in files]


def _project(data: dict[str, Any], name: str, shape: str) -> Collection:
    records = [_memory(item) for item in data["items"]]
    questions = [
        Question(item["q"], frozenset(item["evidence"]), item["kind"], frozenset(item.get("stale") or ()))
        for item in data["questions"]
    ]
    return Collection(f"{shape}/{name}", shape, records, questions, [item["q"] for item in data["unanswerable"]])


def _memory(item: dict[str, Any]) -> Record:
    links = [("relates", target) for target in item.get("links") or ()]
    links += [("supersedes", item["supersedes"])] if item.get("supersedes") else []
    return Record(
        item["id"],
        item["text"],
        item.get("title"),
        item["kind"],
        item["status"],
        item["author"],
        _moment(item["ts"]),
        links=tuple(links),
    )


def training_project(project: Project, shape: str) -> Collection:
    """A project in the form of the training data."""
    records = [
        Record(
            record.id,
            record.text,
            kind=record.kind,
            status=record.status,
            author=record.author,
            ts_ms=_moment(record.time),
            links=(("supersedes", record.supersedes),) if record.supersedes != "-" else (),
        )
        for record in project.records
    ]
    questions = [Question(q.text, frozenset(q.evidence), q.kind, frozenset(q.stale)) for q in project.questions]
    return Collection(f"{shape}/{project.name}", shape, records, questions, [q.text for q in project.unanswerable])


def beam(path: Path) -> list[Collection]:
    return [_chat(chat) for chat in _json(path)]


def _chat(chat: dict[str, Any]) -> Collection:
    records, moment = [], None
    for turn in chat["turns"]:
        # Only the first turn of a day contains the date.
        moment = _day(turn.get("date")) or moment
        records.append(
            Record(str(turn["id"]), turn["text"], author=turn["role"], ts_ms=moment, doc=f"session-{turn['group']}")
        )
    questions = [
        Question(item["q"], frozenset(map(str, item["evidence"])), item["kind"])
        for item in chat["questions"]
        if item["evidence"]
    ]
    return Collection(f"beam/{chat['chat']}", "beam", records, questions, list(chat["unanswerable"]))


def longmemeval(path: Path) -> list[Collection]:
    """The sessions of all questions in one store, as its oracle file has them; evidence are the turns marked so."""
    records: dict[str, Record] = {}
    questions: list[Question] = []
    for item in _json(path):
        evidence = set()
        for id, date, session in zip(
            item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"], strict=True
        ):
            for place, turn in enumerate(session):
                ref = f"{id}:{place}"
                records[ref] = Record(ref, turn["content"], author=turn["role"], ts_ms=find_moment(date), doc=id)
                evidence |= {ref} if turn.get("has_answer") else set()
        if evidence and not str(item["question_id"]).endswith("_abs"):
            questions.append(Question(item["question"], frozenset(evidence), item["question_type"]))
    return [Collection("longmemeval/oracle", "longmemeval", list(records.values()), questions)]


READERS: dict[str, Callable[[Path], list[Collection]]] = {
    "locomo": locomo,
    "agentmem": agentmem,
    "beam": beam,
    "longmemeval": longmemeval,
}


def read(shape: str, path: Path) -> list[Collection]:
    """The collections of one shape, or a refusal that names the file."""
    if not path.exists():
        raise ClewError("NOT_FOUND", f"{path} does not exist", f"Give the path of the data for {shape}.")
    try:
        found = READERS[shape](path)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ClewError(
            "INVALID_INPUT", f"{path} is not in the form of {shape}: {problem!r}", "Give it as its authors publish it."
        ) from problem
    if not any(collection.questions for collection in found):
        raise ClewError("INVALID_INPUT", f"{path} asks no question that names its evidence", "Give another file.")
    return found


def store(ctx: Context, collection: Collection) -> None:
    """Each record as an item, inside the transaction of `ctx`."""
    index_items(ctx.tx, ctx.workspace, _items(ctx, collection))


def _items(ctx: Context, collection: Collection) -> Iterator[Item]:
    for record in collection.records:
        yield Item(
            ref=record.id,
            source="note",
            seq=ctx.ws.next_seq(),
            ts_ms=ctx.now_ms,
            title=record.title,
            body=record.text,
            kind=record.kind,
            status=record.status,
            branch=1 if record.doc else None,
            doc=record.doc,
            event_ts_ms=record.ts_ms,
            speaker=record.author,
            links=record.links,
        )


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _moment(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp() * 1000)


def _day(text: str | None) -> int | None:
    """`March-15-2024`."""
    return _moment(datetime.strptime(text, "%B-%d-%Y").isoformat()) if text else None
