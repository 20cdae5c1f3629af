"""LoCoMo as a measure of retrieval: conversations as items, questions as queries, evidence turns as relevant items.

The data is not part of Clew (its licence allows measuring only); the path is a parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.errors import ClewError
from clew.index.dates import find_moment
from clew.index.items import Item, index_items
from clew.registry.context import Context

DEPTHS = (1, 5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_UNPLAIN = re.compile(r"[^A-Za-z0-9_-]+")

Search = Callable[[str], list[str]]
Asked = Callable[[int], None]


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
        """Speaker, date and words in one text, for systems without fields."""
        return f"{self.speaker} ({self.date}): {self.body}"


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]
    category: str
    stale: frozenset[str] = frozenset()
    """Records replaced by the evidence, which must not rank above it."""


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
            f"{path} is a directory" if path.is_dir() else f"{path} does not exist",
            "Get locomo10.json from the LoCoMo repository of Snap Research (CC BY-NC 4.0) and give its path.",
        )
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
        found = [_conversation(sample, number) for number, sample in enumerate(_listed(samples), 1)]
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ClewError(
            "INVALID_INPUT", f"{path} is not in LoCoMo's form: {problem!r}", "Give the file as its authors publish it."
        ) from problem
    if not any(conversation.questions for conversation in found):
        raise ClewError(
            "INVALID_INPUT", f"{path} asks no question that names its evidence", "Give a file with `qa` and `evidence`."
        )
    return found


def _listed(samples: Any) -> list[Any]:
    """A single sample need not be in a list."""
    return samples if isinstance(samples, list) else [samples]


def _conversation(sample: dict[str, Any], number: int) -> Conversation:
    said = sample["conversation"]
    numbers = sorted(int(match.group(1)) for name in said if (match := _SESSION.fullmatch(name)))
    turns = [turn for number in numbers for turn in _turns(said, number)]
    questions = [_question(item) for item in sample.get("qa") or []]
    # A workspace for each: numbered, because two samples may have one name, and of plain letters.
    name = _UNPLAIN.sub("-", f"{number}-{sample.get('sample_id') or 'conversation'}")[:60]
    return Conversation(name, turns, [item for item in questions if item.evidence])


def _turns(said: dict[str, Any], number: int) -> Iterable[Turn]:
    date = str(said.get(f"session_{number}_date_time") or "")
    for place, turn in enumerate(said[f"session_{number}"] or [], 1):
        id = _normal(str(turn.get("dia_id") or f"D{number}:{place}"))
        text, caption = str(turn.get("text") or ""), str(turn.get("blip_caption") or "")
        yield Turn(id, number, str(turn.get("speaker") or ""), text, caption, find_moment(date), date)


def _question(item: dict[str, Any]) -> Question:
    given = item.get("evidence") or []
    parts = given if isinstance(given, list) else [given]
    evidence = {_normal(match.group()) for part in parts for match in _EVIDENCE.finditer(str(part))}
    return Question(str(item["question"]), frozenset(evidence), _category(item.get("category")))


def _category(given: Any) -> str:
    """The name of a category; one that LoCoMo does not know keeps its own."""
    number = int(given) if str(given).isdigit() else None
    return CATEGORIES.get(number or 0, "none" if given is None else str(given))


def _normal(id: str) -> str:
    match = _EVIDENCE.search(id)
    return f"D{int(match.group(1))}:{int(match.group(2))}" if match else id


def store_turns(ctx: Context, conversation: Conversation) -> None:
    """Each turn as an item, each session as a document, inside the transaction of `ctx`."""
    index_items(ctx.tx, ctx.workspace, [_item(ctx, turn) for turn in conversation.turns])


def _item(ctx: Context, turn: Turn) -> Item:
    return Item(
        ref=turn.id,
        source="note",
        kind="turn",
        seq=ctx.ws.next_seq(),
        ts_ms=ctx.now_ms,
        body=turn.body,
        branch=1,
        doc=f"session-{turn.session}",
        speaker=turn.speaker or None,
        event_ts_ms=turn.ts_ms,
    )


@dataclass
class Tally:
    """Recall, any and reciprocal rank over questions."""

    rows: list[tuple[str, str, list[float], list[float], float]] = field(default_factory=list)

    def add(self, conversation: str, question: Question, found: list[str]) -> None:
        ranks = sorted(rank for rank, id in enumerate(found[: DEPTHS[-1]]) if id in question.evidence)
        shares = [sum(rank < depth for rank in ranks) / len(question.evidence) for depth in DEPTHS]
        hits = [float(any(rank < depth for rank in ranks)) for depth in DEPTHS]
        first = 1 / (ranks[0] + 1) if ranks and ranks[0] < 10 else 0.0
        self.rows.append((conversation, question.category, shares, hits, first))

    def summary(self, category: str | None = None) -> dict[str, float]:
        rows = [row for row in self.rows if category in (None, row[1])]
        total = max(len(rows), 1)
        found = {f"recall@{depth}": sum(row[2][at] for row in rows) / total for at, depth in enumerate(DEPTHS)}
        found |= {f"any@{depth}": sum(row[3][at] for row in rows) / total for at, depth in enumerate(DEPTHS)}
        found["mrr@10"] = sum(row[4] for row in rows) / total
        return {**{name: round(value, 4) for name, value in found.items()}, "questions": len(rows)}

    def report(self) -> dict[str, Any]:
        """All questions, by themselves and again under `overall`, and each category."""
        overall = self.summary()
        present = sorted({row[1] for row in self.rows}, key=_place)
        return {**overall, "overall": overall, "by_category": {name: self.summary(name) for name in present}}


def _place(category: str) -> tuple[int, str]:
    names = list(CATEGORIES.values())
    return (names.index(category) if category in names else len(names), category)


def tally(conversations: list[Conversation], searches: dict[str, Search], asked: Asked | None = None) -> Tally:
    """Ask every question in its conversation's search; `asked` is called for each."""
    found = Tally()
    for conversation in conversations:
        for question in conversation.questions:
            found.add(conversation.name, question, searches[conversation.name](question.text))
            if asked is not None:
                asked(len(found.rows))
    return found
