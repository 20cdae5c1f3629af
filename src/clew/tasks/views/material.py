"""Material: the notes, trace entries and cards of a plan or task that a view shows, with their limits and cursors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from clew.canonical import Json
from clew.ids import ANCHOR
from clew.kinds import statuses
from clew.reasoning.cards.card_selection import Lens, card_stats, edges_of, select
from clew.reasoning.cards.queries import cards_json
from clew.reasoning.documents import LogSlice, entries_json, tail, view
from clew.reasoning.graph import Edge, Node, nodes
from clew.reasoning.pack_parts import is_draft_entry
from clew.reasoning.scope import Scope, StepFocus
from clew.reasoning.sequential import sequential_graph
from clew.reasoning.visibility import CARD_TYPES, is_pinned
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.store.database import Row
from clew.tasks.views.outlook import Subject

ViewName = Literal["full", "focus_only", "smart", "explore", "audit"]
DEFAULT_BUDGET = 12_000
"""The default budget that chooses the tier of a relevance-first view."""


@dataclass(frozen=True, slots=True)
class SectionLimits:
    """How many items of each section a view shows."""

    events: int
    decisions: int
    evidence: int
    blockers: int
    notes: int
    trace: int
    cards: int
    signals: int
    actions: int


# The numbers of each view and budget are those of BranchMind's contract.
FULL = SectionLimits(20, 5, 5, 5, 10, 20, 20, 6, 6)
FOCUS_ONLY = SectionLimits(12, 3, 3, 3, 3, 8, 40, 6, 2)
AUDIT = SectionLimits(14, 6, 6, 6, 12, 24, 60, 8, 2)
SMART = {
    2_000: SectionLimits(6, 3, 3, 3, 4, 10, 18, 5, 2),
    6_000: SectionLimits(10, 4, 4, 4, 8, 16, 26, 6, 2),
    12_000: SectionLimits(14, 5, 5, 5, 12, 24, 40, 6, 2),
}
SMART_LARGE = SectionLimits(20, 6, 6, 6, 12, 30, 60, 8, 2)
EXPLORE = {
    2_000: SectionLimits(8, 3, 3, 3, 6, 14, 26, 6, 2),
    6_000: SectionLimits(12, 5, 5, 5, 12, 22, 40, 8, 2),
    12_000: SectionLimits(16, 6, 6, 6, 16, 34, 70, 8, 2),
}
EXPLORE_LARGE = SectionLimits(24, 8, 8, 8, 22, 48, 100, 10, 2)


def default_limits(view: str, budget: int | None) -> SectionLimits:
    if view == "full":
        return FULL
    if view == "focus_only":
        return FOCUS_ONLY
    if view == "audit":
        return AUDIT
    tiers, large = (EXPLORE, EXPLORE_LARGE) if view == "explore" else (SMART, SMART_LARGE)
    room = DEFAULT_BUDGET if budget is None else budget
    # Tiers are in rising order, so the first one that is large enough is taken.
    return next((limits for most, limits in tiers.items() if room <= most), large)


def limits_for(view: str, budget: int | None, args: Any) -> SectionLimits:
    """The view's default limits, overridden by what the caller set."""
    defaults = default_limits(view, budget)
    names = {field.name: f"{field.name}_limit" for field in fields(SectionLimits)}
    names |= {"signals": "engine_signals_limit", "actions": "engine_actions_limit"}
    given = {name: getattr(args, argument, None) for name, argument in names.items()}
    return replace(defaults, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursor of each list. Only items below it are still to be shown."""

    notes: int | None = None
    trace: int | None = None
    cards: int | None = None


START = Cursors()


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Notes or trace entries, oldest first."""

    entries: list[Json] = field(default_factory=list)
    cursor: int | None = None
    next_cursor: int | None = None
    limit: int = 0

    def page(self) -> Json:
        return page_json(self.cursor, self.limit, len(self.entries), self.next_cursor)

    def to_json(self) -> Json:
        return {"entries": self.entries, "pagination": self.page()}


@dataclass(frozen=True, slots=True)
class CardPage:
    """Cards in the order of the view."""

    nodes: list[Node] = field(default_factory=list)
    cursor: int | None = None
    next_cursor: int | None = None
    limit: int = 0

    def page(self) -> Json:
        return page_json(self.cursor, self.limit, len(self.nodes), self.next_cursor)


FOCUSED_CARDS = 12
MOST_REFS = 4
MOST_ANCHORS = 3
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Material:
    notes: EntryPage
    trace: EntryPage
    cards: CardPage
    edges: list[Edge]
    rows: list[Json] = field(default_factory=list)
    """The cards as JSON; filled in after `narrowed` has decided which cards stay."""

    def narrowed(self, referenced: set[str]) -> Material:
        """Only what the step in focus needs: cards that are open, pinned or referenced, and no entries."""
        kept = [card for card in self.cards.nodes if _matters(card, referenced)][:FOCUSED_CARDS]
        missed = [card.last_seq for card in self.cards.nodes if card not in kept]
        # Above the newest card that is left out, so that paging may show a card twice but misses none.
        cursor = max([self.cards.next_cursor or 0, *(seq + 1 for seq in missed)]) or None
        cards = replace(self.cards, nodes=kept, next_cursor=cursor)
        return replace(self, notes=EntryPage(), trace=EntryPage(), cards=cards)

    def with_rows(self, ctx: Context, scope: Scope) -> Material:
        return replace(self, rows=cards_json(ctx, scope, self.cards.nodes))

    @property
    def refs(self) -> list[str]:
        """A few ids worth opening: pinned and newest cards, then the last note."""
        ranked = sorted(self.cards.nodes, key=lambda card: (not is_pinned(card.tags), -card.last_seq))
        ids = [card.id for card in ranked if card.id.startswith("CARD-")][: MOST_REFS - 1]
        notes = [f"{entry['doc']}@{entry['seq']}" for entry in self.notes.entries[-1:]]
        return [*ids, *notes]

    def pages(self) -> dict[str, Json]:
        return {"notes": self.notes.page(), "trace": self.trace.page(), "cards": self.cards.page()}

    def to_json(self) -> Json:
        return {
            "notes": self.notes.to_json(),
            "trace": {**self.trace.to_json(), "sequential": sequential_graph(self.trace.entries)},
            "cards": self.rows,
            "cards_pagination": self.cards.page(),
            "stats": card_stats(self.cards.nodes),
        }


def _matters(card: Node, referenced: set[str]) -> bool:
    return card.status == statuses.OPEN or is_pinned(card.tags) or card.id in referenced


def primary_ref(subject: Subject, cards: Sequence[Node]) -> str:
    """The id to open first: a pinned frame, any pinned card, the newest card, else the work itself."""
    numbered = sorted((card for card in cards if card.id.startswith("CARD-")), key=lambda card: -card.last_seq)
    pinned = [card for card in numbered if is_pinned(card.tags)]
    frames = [card for card in pinned if card.type == "frame"]
    found = next(iter([*frames, *pinned, *numbered]), None)
    return found.id if found else subject.work.id


@dataclass(frozen=True, slots=True)
class Spot:
    """The position of the work on the map of anchors."""

    where: str = UNKNOWN
    top_anchors: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return {"where": self.where, "top_anchors": list(self.top_anchors)}


UNPLACED = Spot()


def spot_of(cards: Sequence[Node], step_tag: str | None) -> Spot:
    """The anchor of the step's cards, else of all shown cards, and the most frequent anchors."""
    ranked = _anchors(cards)
    own = _anchors(card for card in cards if step_tag in card.tags) if step_tag else []
    found = list(dict.fromkeys([*own, *ranked]))
    return Spot(found[0] if found else UNKNOWN, tuple(found[:MOST_ANCHORS]))


def _anchors(cards: Iterable[Node]) -> list[str]:
    """Anchors by how many cards name them, then by how recently."""
    counts: dict[str, tuple[int, int]] = {}
    for card in cards:
        for tag in card.tags:
            if ANCHOR.fullmatch(tag):
                times, last = counts.get(tag, (0, 0))
                counts[tag] = (times + 1, max(last, card.last_seq))
    return sorted(counts, key=lambda tag: (-counts[tag][0], -counts[tag][1], tag))


def gather(
    ctx: Context, scope: Scope, view: str, limits: SectionLimits, cursors: Cursors, step: StepFocus | None
) -> Material:
    """Read the material of a scope. `step` is the step in focus of a relevance-first view."""
    drafts = view in ("audit", "full")
    cards = _cards(ctx, scope, view, limits.cards, cursors.cards, Lens(drafts, step, only_step=False))
    # Edges are read even for focus_only, which shows none: the engine judges the cards by them.
    edges = edges_of(ctx, scope, cards.nodes) if cards.nodes else []
    if view == "focus_only":
        return Material(EntryPage(), EntryPage(), cards, edges)
    focused = None if view == "full" else step
    notes = EntryReader(ctx, scope, scope.notes, limits.notes, drafts).page(cursors.notes, focused, fill=True)
    trace = EntryReader(ctx, scope, scope.trace, limits.trace, drafts).page(cursors.trace, focused, fill=False)
    return Material(notes, trace, cards, edges)


def _cards(ctx: Context, scope: Scope, view: str, limit: int, cursor: int | None, lens: Lens) -> CardPage:
    if limit == 0:
        return CardPage([], cursor, None, 0)
    # A selection by relevance has no cursor, so further pages go by age.
    if view == "full" or cursor is not None:
        return _newest_cards(ctx, scope, view, limit, cursor, lens)
    chosen = select(ctx, scope, view, limit, lens)
    missed = chosen.missed
    return CardPage(chosen.listed(), None, None if missed is None else missed.last_seq + 1, limit)


def _newest_cards(ctx: Context, scope: Scope, view: str, limit: int, cursor: int | None, lens: Lens) -> CardPage:
    page = nodes(
        ctx,
        scope.branch,
        scope.graph,
        types=CARD_TYPES,
        # Relevance-first views page through open cards; the others through all.
        status=None if view in ("full", "explore") else statuses.OPEN,
        tags_all=Lens(lens.drafts).tags(),
        cursor=cursor,
        limit=limit,
    )
    return CardPage(page.nodes, cursor, page.nodes[-1].last_seq if page.has_more else None, limit)


CHUNK = 50
SCANNED = 64
"""How many of the last entries are searched for those of the step."""


@dataclass(frozen=True, slots=True)
class EntryReader:
    """Reads the entries of one document that a view shows."""

    ctx: Context
    scope: Scope
    doc: str
    limit: int
    drafts: bool

    def page(self, cursor: int | None, step: StepFocus | None, fill: bool) -> EntryPage:
        if self.limit == 0:
            return EntryPage([], cursor, None, 0)
        if step is None or cursor is not None:
            return self._newest(cursor)
        return self._of_step(step, fill)

    def _newest(self, cursor: int | None) -> EntryPage:
        """The newest entries before the cursor, oldest first."""
        found: list[Json] = []
        for entry in self._newest_first(cursor):
            if len(found) == self.limit:
                return EntryPage(found[::-1], cursor, entry["seq"] + 1, self.limit)
            found.append(entry)
        return EntryPage(found[::-1], cursor, None, self.limit)

    def _newest_first(self, cursor: int | None) -> Iterator[Json]:
        while True:
            part = self._tail(cursor, min(self.limit + 1, CHUNK))
            yield from reversed(self._visible(part.entries))
            if not part.has_more:
                return
            cursor = part.entries[0]["seq"]

    def _of_step(self, step: StepFocus, fill: bool) -> EntryPage:
        """The step's entries among the last ones; with `fill`, or if it has none, other entries up to the limit."""
        # One read serves both the step's own entries and the filling.
        recent = self._tail(None, max(SCANNED, self.limit))
        candidates = self._visible([row for row in recent.entries if _may_concern(row, step)])
        own = [entry for entry in candidates if step.concerns(entry)][-self.limit :]
        if fill or not own:
            own = self._filled(own, recent.entries)
        missed = self._newest_missed(own, recent.entries)
        if missed is None and recent.has_more:
            # Nothing was left out among the entries that were read, but there are older ones.
            missed = recent.entries[0]["seq"] - 1
        return EntryPage(own, None, None if missed is None else missed + 1, self.limit)

    def _filled(self, own: list[Json], rows: list[Row]) -> list[Json]:
        taken, room = {entry["seq"] for entry in own}, self.limit - len(own)
        # Drafts are dropped from these rows, so twice as many as wanted are read.
        others = [row for row in rows if row["seq"] not in taken][-2 * self.limit :]
        more = self._visible(others)[-room:] if room else []
        return sorted([*own, *more], key=lambda entry: entry["seq"])

    def _newest_missed(self, shown: list[Json], rows: list[Row]) -> int | None:
        # Drafts that the view hides do not count as omitted.
        taken = {entry["seq"] for entry in shown}
        left = (row for row in reversed(rows) if row["seq"] not in taken)
        return next((int(row["seq"]) for row in left if self._visible([row])), None)

    def _tail(self, cursor: int | None, count: int) -> LogSlice:
        return tail(self.ctx, view(self.ctx, self.scope.branch), self.doc, cursor, count)

    def _visible(self, rows: list[Row]) -> list[Json]:
        entries = entries_json(self.ctx, rows)
        return entries if self.drafts else [entry for entry in entries if not is_draft_entry(entry)]


def _may_concern(row: Row, step: StepFocus) -> bool:
    """A cheap test on the raw row, so that only few rows are parsed."""
    if row["kind"] == "event":
        return str(row["path"]).startswith(step.path)
    return row["meta"] is not None and step.step_id in row["meta"]
