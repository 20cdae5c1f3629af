"""LoCoMo as a measure of retrieval: conversations as items, questions as queries, evidence turns as what must be found.

The data is not part of Clew (its licence allows measuring only); the path is given by whoever measures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.errors import ClewError
from clew.registry.context import Context
from clew.store.moments import find_moment
from clew.store.search import Item, index_item

DEPTHS = (1, 5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")

Search = Callable[[str], list[str]]


@dataclass(frozen=True)
class Turn:
    id: str
    session: int
    speaker: str
    text: str
    caption: str
    ts_ms: int | None
    date: str

    @property
    def body(self) -> str:
        return f"{self.text} [{self.caption}]" if self.caption else self.text

    @property
    def plain(self) -> str:
        """Speaker, date and words in one text, for those who know no fields."""
        return f"{self.speaker} ({self.date}): {self.body}"


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True)
class Conversation:
    name: str
    turns: list[Turn]
    questions: list[Question]


def open_conversations(path: str) -> list[Conversation]:
    return read_conversations(Path(path).expanduser())


def read_conversations(path: Path) -> list[Conversation]:
    if not path.is_file():
        raise ClewError(
            "NOT_FOUND",
            f"{path} does not exist",
            "Get locomo10.json from the LoCoMo repository of Snap Research (CC BY-NC 4.0) and give its path.",
        )
    try:
        return [_conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ClewError(
            "INVALID_INPUT", f"{path} is not in LoCoMo's form: {problem!r}", "Give the file as its authors publish it."
        ) from problem


def _conversation(sample: dict[str, Any]) -> Conversation:
    said = sample["conversation"]
    numbers = sorted(int(match.group(1)) for name in said if (match := _SESSION.fullmatch(name)))
    turns = [turn for number in numbers for turn in _turns(said, number)]
    questions = [_question(item) for item in sample["qa"]]
    return Conversation(str(sample["sample_id"]), turns, [item for item in questions if item.evidence])


def _turns(said: dict[str, Any], number: int) -> Iterable[Turn]:
    date = str(said.get(f"session_{number}_date_time", ""))
    for turn in said[f"session_{number}"]:
        caption = turn.get("blip_caption") or ""
        yield Turn(_normal(turn["dia_id"]), number, turn["speaker"], turn["text"], caption, find_moment(date), date)


def _question(item: dict[str, Any]) -> Question:
    evidence = {_normal(match.group()) for part in item["evidence"] for match in _EVIDENCE.finditer(str(part))}
    return Question(item["question"], frozenset(evidence), int(item["category"]))


def _normal(id: str) -> str:
    match = _EVIDENCE.search(id)
    return f"D{int(match.group(1))}:{int(match.group(2))}" if match else id


def store_turns(ctx: Context, conversation: Conversation) -> None:
    """Each turn as an item, each session as a document, inside the transaction of `ctx`."""
    for turn in conversation.turns:
        seq = ctx.ws.next_seq()
        item = Item(
            ref=turn.id,
            source="note",
            kind="turn",
            seq=seq,
            ts_ms=ctx.now_ms,
            body=turn.body,
            branch=1,
            doc=f"session-{turn.session}",
            speaker=turn.speaker,
            event_ts_ms=turn.ts_ms,
        )
        index_item(ctx.tx, ctx.workspace, item)


@dataclass
class Tally:
    """Recall, any and reciprocal rank over questions."""

    rows: list[tuple[str, int, list[float], list[float], float]] = field(default_factory=list)

    def add(self, conversation: str, question: Question, found: list[str]) -> None:
        ranks = sorted(rank for rank, id in enumerate(found[: DEPTHS[-1]]) if id in question.evidence)
        shares = [sum(rank < depth for rank in ranks) / len(question.evidence) for depth in DEPTHS]
        hits = [float(any(rank < depth for rank in ranks)) for depth in DEPTHS]
        first = 1 / (ranks[0] + 1) if ranks and ranks[0] < 10 else 0.0
        self.rows.append((conversation, question.category, shares, hits, first))

    def summary(self, category: int | None = None) -> dict[str, float]:
        rows = [row for row in self.rows if category in (None, row[1])]
        total = max(len(rows), 1)
        found = {f"recall@{depth}": sum(row[2][at] for row in rows) / total for at, depth in enumerate(DEPTHS)}
        found |= {f"any@{depth}": sum(row[3][at] for row in rows) / total for at, depth in enumerate(DEPTHS)}
        found["mrr@10"] = sum(row[4] for row in rows) / total
        return {**{name: round(value, 4) for name, value in found.items()}, "questions": len(rows)}

    def report(self) -> dict[str, Any]:
        present = sorted({row[1] for row in self.rows})
        return {**self.summary(), "by_category": {CATEGORIES[code]: self.summary(code) for code in present}}


def tally(conversations: list[Conversation], searches: dict[str, Search]) -> Tally:
    """Ask every question of its conversation's search."""
    found = Tally()
    for conversation in conversations:
        for question in conversation.questions:
            found.add(conversation.name, question, searches[conversation.name](question.text))
    return found
