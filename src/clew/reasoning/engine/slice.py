"""The input of the engine (cards, edges among them, the last trace entries) and its scoring of a card.

Evidence is rated by its receipts (`CMD:` and `LINK:` lines), its source and its links; a test by its command and the
age of its result. The confidence of a claim is computed from the cards that support it and those that block it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.kinds.catalogue import is_active_card
from clew.kinds.statuses import OPEN
from clew.reasoning.cards.forms import is_form
from clew.reasoning.graph.state import Edge, Node
from clew.reasoning.visibility import is_pinned
from clew.registry.blank_forms import has_placeholder

SUPPORTS, BLOCKS = "supports", "blocks"


@dataclass(frozen=True, slots=True)
class CardSlice:
    """Cards, newest first, with lookups of their supporting and blocking neighbours."""

    cards: tuple[Node, ...]
    by_id: dict[str, Node]
    supporters: dict[str, list[Node]] = field(default_factory=dict)
    blockers: dict[str, list[Node]] = field(default_factory=dict)
    supported: dict[str, list[Node]] = field(default_factory=dict)
    blocked: dict[str, list[Node]] = field(default_factory=dict)
    trace: tuple[Mapping[str, Any], ...] = ()
    now_ms: int = 0
    """The newest time in the slice, used as the current time: the engine has no clock."""

    def of_type(self, *types: str) -> list[Node]:
        return [card for card in self.cards if card.type in types]

    def supporters_of(self, card: Node, *types: str) -> list[Node]:
        found = self.supporters.get(card.id, [])
        return [item for item in found if not types or item.type in types]

    def evidence_for(self, card: Node) -> list[Node]:
        """The evidence that supports a card, without unfilled templates."""
        return [item for item in self.supporters_of(card, "evidence") if not is_placeholder(item)]


def make_slice(cards: Iterable[Node], edges: Iterable[Edge], trace: Iterable[Mapping[str, Any]] = ()) -> CardSlice:
    ordered = tuple(sorted(cards, key=lambda card: (-card.last_seq, card.id)))
    entries = tuple(trace)
    moments = [card.last_ts_ms for card in ordered] + [int(entry.get("ts_ms") or 0) for entry in entries]
    made = CardSlice(ordered, {card.id: card for card in ordered}, trace=entries, now_ms=max(moments, default=0))
    for edge in sorted({(edge.from_id, edge.rel, edge.to_id) for edge in edges}):
        _link(made, *edge)
    return made


def narrowed(whole: CardSlice, tag: str, edges: Iterable[Edge]) -> CardSlice:
    """The part of a slice whose cards have a tag."""
    return make_slice([card for card in whole.cards if tag in card.tags], edges, whole.trace)


def _link(made: CardSlice, source: str, rel: str, to: str) -> None:
    first, second = made.by_id.get(source), made.by_id.get(to)
    # Edges to cards outside of the slice are ignored: a reader of this view could not check them.
    if first is None or second is None or source == to:
        return
    if rel == SUPPORTS:
        made.supporters.setdefault(to, []).append(first)
        made.supported.setdefault(source, []).append(second)
    elif rel == BLOCKS:
        made.blockers.setdefault(to, []).append(first)
        made.blocked.setdefault(source, []).append(second)


def label(card: Node) -> str:
    """A card's title or first words, on one line of at most 64 characters."""
    words = " ".join((card.title or card.text or card.id).split())
    return words if len(words) <= 64 else words[:63] + "…"


def is_active(card: Node) -> bool:
    """Whether a card is not closed; an accepted hypothesis still counts."""
    return is_active_card(card.type, card.status)


def is_open(card: Node) -> bool:
    return (card.status or OPEN).lower() == OPEN


def pinned(card: Node) -> bool:
    return is_pinned(card.tags)


def is_placeholder(card: Node) -> bool:
    return is_form(card.title, card.text)


DAY_MS = 86_400_000
# Defaults of the contract; a card may override them.
DEFAULT_STALE_DAYS = 30
MOST_STALE_DAYS = 3650


def receipt(text: str | None, tag: str) -> str | None:
    """The text of the first `CMD:` or `LINK:` line that is not a placeholder."""
    for line in (text or "").splitlines():
        stripped = line.strip().lstrip("-*+• ").strip()
        # People also write `cmd:` and `Cmd:`, and put the line into a list.
        if stripped[: len(tag)].upper() == tag:
            value = stripped[len(tag) :].strip()
            if value and not has_placeholder(value):
                return value
    return None


def command_of(card: Node) -> str | None:
    """The command of a test: `meta.run.cmd`, `meta.cmd`, the same under `meta.meta`, or a `CMD:` line."""
    meta = card.meta or {}
    for level in (meta, _inner(meta, "meta")):
        for value in (_inner(level, "run").get("cmd"), level.get("cmd")):
            if isinstance(value, str) and value.strip() and not has_placeholder(value):
                return value.strip()
    return receipt(card.text, "CMD:")


def evidence_score(part: CardSlice, card: Node) -> int:
    """A rating from 0 to 90, by receipts, source and links."""
    # Both receipts alone give 50, which is below ENOUGH_SCORE: good evidence also names its source or is linked.
    score = 25 * bool(receipt(card.text, "CMD:")) + 25 * bool(receipt(card.text, "LINK:"))
    score += {"ci": 20, "local": 10}.get(_source(card), 0)
    linked = {item.type for item in [*part.supported.get(card.id, []), *part.blocked.get(card.id, [])]}
    if "test" in linked:
        return score + 20
    return score + (10 if linked & {"hypothesis", "decision"} else 0)


@dataclass(frozen=True, slots=True)
class RunnableTest:
    card: Node
    command: str
    last_evidence_ms: int | None
    stale: bool

    @property
    def fresh(self) -> bool:
        return self.last_evidence_ms is not None and not self.stale


def runnable_tests(part: CardSlice) -> list[RunnableTest]:
    """Open tests with a command: those never run first, then stale ones, then fresh ones; pinned and newest first."""
    found = []
    for card in part.of_type("test"):
        command = command_of(card)
        if command is not None and is_open(card):
            found.append(_runnable(part, card, command))
    return sorted(found, key=_urgency)


def _runnable(part: CardSlice, card: Node, command: str) -> RunnableTest:
    last = max((item.last_ts_ms for item in part.evidence_for(card)), default=None)
    stale = last is not None and part.now_ms - last > stale_after_ms(card.meta)
    return RunnableTest(card, command, last, stale)


def _urgency(test: RunnableTest) -> tuple[int, int, int, str]:
    rank = 0 if test.last_evidence_ms is None else 1 if test.stale else 2
    return (rank, 0 if pinned(test.card) else 1, -test.card.last_seq, test.card.id)


def stale_after_ms(meta: Mapping[str, Any] | None) -> int:
    """How long a test's result is fresh: from `meta.run`, which the seed prefers, else from `meta`."""
    found = {**(meta or {}), **_inner(meta or {}, "run")}
    exact, days = found.get("stale_after_ms"), found.get("stale_after_days")
    if isinstance(exact, int) and not isinstance(exact, bool) and exact >= 0:
        return exact
    if isinstance(days, int) and not isinstance(days, bool) and 0 <= days <= MOST_STALE_DAYS:
        return days * DAY_MS
    return DEFAULT_STALE_DAYS * DAY_MS


def _source(card: Node) -> str:
    meta = card.meta or {}
    named = meta.get("source") or _inner(meta, "run").get("source") or ""
    return named.strip().lower() if isinstance(named, str) else ""


def _inner(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


# Depth and weights are those of BranchMind's engine v0.5.
DEPTH = 3
UNSURE = 0.5
# Evidence was seen, a test can be run, everything else was only said. One piece of good evidence lifts a claim from
# 0.5 to about 0.8; a supporting claim moves it by less than 0.1.
WEIGHTS = {"evidence": 4.0, "test": 1.5, "decision": 0.75, "hypothesis": 0.75}
OTHER_WEIGHT = 0.25


def confidence(part: CardSlice, card: Node) -> float:
    """Confidence from 0 to 1. It starts with one unit for and one against, so an unlinked claim has 0.5."""
    return _confidence(part, card, DEPTH, frozenset())


def _confidence(part: CardSlice, card: Node, depth: int, above: frozenset[str]) -> float:
    # Claims that support each other in a cycle must not raise each other.
    if card.id in above:
        return UNSURE
    if card.type == "evidence":
        return 0.0 if is_placeholder(card) else evidence_score(part, card) / 100
    if depth == 0:
        return UNSURE
    path = above | {card.id}
    for_it = 1.0 + _weight(part, part.supporters.get(card.id, []), depth, path)
    against = 1.0 + _weight(part, part.blockers.get(card.id, []), depth, path)
    return for_it / (for_it + against)


def _weight(part: CardSlice, cards: list[Node], depth: int, path: frozenset[str]) -> float:
    return sum(
        WEIGHTS.get(card.type, OTHER_WEIGHT) * _confidence(part, card, depth - 1, path)
        # Sorted, because floating-point sums depend on their order.
        for card in sorted(cards, key=lambda card: card.id)
    )
