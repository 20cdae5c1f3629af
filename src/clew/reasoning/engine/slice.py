"""What the engine looks at: some cards, the edges among them and the last trace entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from clew.reasoning.visibility import is_pinned

SUPPORTS, BLOCKS = "supports", "blocks"
CLOSED = frozenset({"closed", "done", "resolved", "merged", "retracted", "superseded", "disproved"})
PLACEHOLDER = "<fill"


class CardLike(Protocol):
    """The parts of a graph node that the engine reads."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def text(self) -> str | None: ...
    @property
    def status(self) -> str | None: ...
    @property
    def tags(self) -> Sequence[str]: ...
    @property
    def meta(self) -> Mapping[str, Any] | None: ...
    @property
    def last_seq(self) -> int: ...
    @property
    def last_ts_ms(self) -> int: ...


class EdgeLike(Protocol):
    @property
    def from_id(self) -> str: ...
    @property
    def rel(self) -> str: ...
    @property
    def to_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Slice:
    """Cards newest first, with their neighbours looked up once."""

    cards: tuple[CardLike, ...]
    by_id: dict[str, CardLike]
    supporters: dict[str, list[CardLike]] = field(default_factory=dict)
    blockers: dict[str, list[CardLike]] = field(default_factory=dict)
    supported: dict[str, list[CardLike]] = field(default_factory=dict)
    blocked: dict[str, list[CardLike]] = field(default_factory=dict)
    trace: tuple[Mapping[str, Any], ...] = ()
    now_ms: int = 0
    """The newest moment in the slice: the engine has no clock of its own."""

    def of_type(self, *types: str) -> list[CardLike]:
        return [card for card in self.cards if card.type in types]

    def supporters_of(self, card: CardLike, *types: str) -> list[CardLike]:
        found = self.supporters.get(card.id, [])
        return [item for item in found if not types or item.type in types]

    def evidence_for(self, card: CardLike) -> list[CardLike]:
        """Evidence that says something; a stub still to be filled in is none."""
        return [item for item in self.supporters_of(card, "evidence") if not is_placeholder(item)]


def make_slice(cards: Iterable[CardLike], edges: Iterable[EdgeLike], trace: Iterable[Mapping[str, Any]] = ()) -> Slice:
    ordered = tuple(sorted(cards, key=lambda card: (-card.last_seq, card.id)))
    entries = tuple(trace)
    moments = [card.last_ts_ms for card in ordered] + [int(entry.get("ts_ms") or 0) for entry in entries]
    made = Slice(ordered, {card.id: card for card in ordered}, trace=entries, now_ms=max(moments, default=0))
    for edge in sorted({(edge.from_id, edge.rel, edge.to_id) for edge in edges}):
        _link(made, *edge)
    return made


def narrowed(whole: Slice, tag: str, edges: Iterable[EdgeLike]) -> Slice:
    """The part of a slice whose cards carry a tag."""
    return make_slice([card for card in whole.cards if tag in card.tags], edges, whole.trace)


def _link(made: Slice, source: str, rel: str, to: str) -> None:
    first, second = made.by_id.get(source), made.by_id.get(to)
    if first is None or second is None or source == to:
        return
    if rel == SUPPORTS:
        made.supporters.setdefault(to, []).append(first)
        made.supported.setdefault(source, []).append(second)
    elif rel == BLOCKS:
        made.blockers.setdefault(to, []).append(first)
        made.blocked.setdefault(source, []).append(second)


def label(card: CardLike) -> str:
    """What a message calls a card: its title or first words, on one line of at most 64 characters."""
    words = " ".join((card.title or card.text or card.id).split())
    return words if len(words) <= 64 else words[:63] + "…"


def is_active(card: CardLike) -> bool:
    """Not explicitly closed: an accepted hypothesis still counts."""
    return (card.status or "open").lower() not in CLOSED


def is_open(card: CardLike) -> bool:
    return (card.status or "open").lower() == "open"


def pinned(card: CardLike) -> bool:
    return is_pinned(card.tags)


def is_placeholder(card: CardLike) -> bool:
    return PLACEHOLDER in (card.text or "").lower()
