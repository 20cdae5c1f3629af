"""Which records are relevant to a task: same files or areas, linked with it, or found by its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from clew.index.item_reads import newest_items
from clew.kinds.catalogue import durable_kinds
from clew.kinds.state import OVER, State, Suspicion, Verdict
from clew.kinds.statuses import OPEN, REJECTED, STAGED, SUPERSEDED, meaning, words_for
from clew.ledger.thought_reads import open_hypotheses, rejected_thoughts
from clew.memory import block_lists, blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.resolutions import open_entries
from clew.memory.governance.patches import read as read_ops
from clew.memory.guards.approval import unapproved as without_approval
from clew.reasoning.branches import own_branch
from clew.reasoning.graph import Node, nodes
from clew.reasoning.premises import Suspect, has_fallen, suspects
from clew.reasoning.scope import Scope, scope_of
from clew.reasoning.visibility import is_draft
from clew.records.brief import BriefLine
from clew.records.links import replaced_by_any, retracted_among
from clew.records.topic import Topic
from clew.records.verdicts import verdicts
from clew.registry.context import Context
from clew.registry.record import successions
from clew.registry.vocabulary import OPEN as OPEN_KINDS
from clew.store.database import Row
from clew.tasks.plans import Work

HEADINGS: dict[str, str] = {kind.name: kind.section for kind in durable_kinds() if kind.section}
"""The heading under which each kind of durable record is shown."""
LEAST_READ, MOST_READ = 60, 300
"""Newest records of a kind that are read; those linked with the task or found by its words are read at any age."""
SHORTEST_LINE = 64
"""Minimum characters of a record's line: with less room per record, reading more of them shows no more."""
MOST_REJECTED = 10
MOST_WAITING = 200
MOST_THOUGHTS = 5
MOST_OPEN = 60
NEW, MOST_NEW = 2.0, 5
"""Bonus for the most recently written records, if they are relevant to the task at all."""
OWN, OF_PLAN = 6.0, 2.0
"""Bonus for cards that were written for the task, or for its plan."""
ANY = 1.0
"""The rank of every record if there is no task."""


def most_read(max_chars: int) -> int:
    """How many records of a kind to read for a text of this length."""
    return min(MOST_READ, max(LEAST_READ, max_chars // SHORTEST_LINE))


@dataclass(frozen=True, slots=True)
class Records:
    """Records in force, most relevant first."""

    view: dict[str, tuple[BriefLine, ...]]
    """By heading: what binds, what was decided, what is known."""
    open: tuple[BriefLine, ...]
    doubts: tuple[BriefLine, ...]
    unread: dict[str, int]
    """How many were not read, by heading."""
    unapproved: tuple[str, ...]
    """Those whose check is waiting for approval."""
    staged: tuple[Block, ...]
    """Open proposals, oldest first."""
    waiting: int
    """The number of open proposals; more than `staged` has if there are too many to read."""
    proposed: dict[str, str]
    """What each proposal would do, if known: `to replace D-3`."""
    thoughts: tuple[BriefLine, ...]
    """Hypotheses from thought sessions that are still unresolved."""


def records_of(ctx: Context, work: Work | None, topic: Topic, most: int) -> Records:
    """At most `most` of each kind, plus those that the topic names."""
    staged = block_lists.oldest(ctx, "P", (STAGED,), MOST_WAITING)
    waiting = len(staged) if len(staged) < MOST_WAITING else blocks.count(ctx, "P", [STAGED])
    pending = _pending(staged)
    view, unread, unapproved = _durable(ctx, topic, pending, most, ANY if work is None else 0.0)
    cards = _cards(ctx, work, topic, most)
    return Records(
        _under_headings([*view, *cards, *_rejected(ctx, topic)]),
        _ranked(entry for entry in cards if entry.kind in OPEN_KINDS),
        _disputes(ctx, {entry.id for entry in view}),
        unread,
        unapproved,
        tuple(staged),
        waiting,
        {change.proposal: change.words(id) for id, change in pending.items()},
        _ranked(_thoughts(ctx, topic)),
    )


def _under_headings(entries: Iterable[BriefLine]) -> dict[str, tuple[BriefLine, ...]]:
    found: dict[str, list[BriefLine]] = {heading: [] for heading in HEADINGS.values()}
    for entry in entries:
        if entry.kind in HEADINGS:
            heading = HEADINGS[entry.kind]
            # Rules bind whatever the task is about, so every rule counts as related.
            found[heading].append(_at_least(entry, 1.0) if heading == "rules" else entry)
    return {heading: _ranked(lines) for heading, lines in found.items()}


def _ranked(entries: Iterable[BriefLine]) -> tuple[BriefLine, ...]:
    """Sorted by rank; equal ranks keep their order, newest first."""
    return tuple(sorted(entries, key=lambda entry: -entry.rank))


def _at_least(entry: BriefLine, rank: float) -> BriefLine:
    return replace(entry, rank=max(entry.rank, rank))


def _disputes(ctx: Context, shown: set[str]) -> tuple[BriefLine, ...]:
    """Contradictions with a side that has no separate line; the others are shown as labels of both sides."""
    apart = [(entry, list(sides)) for entry, sides in open_entries(ctx, MOST_WAITING) if not shown.issuperset(sides)]
    return tuple(
        BriefLine("contradiction", entry.id, " against ".join(sides) or entry.headline, rank=1.0, alarm="disputed")
        for entry, sides in apart
    )


def _durable(
    ctx: Context, topic: Topic, pending: dict[str, PendingChange], most: int, least: float
) -> tuple[list[BriefLine], dict[str, int], tuple[str, ...]]:
    """Rules, preferences, decisions, rejected alternatives, lessons and facts, newest first."""
    found: list[Block] = []
    unread: dict[str, int] = {}
    kinds = {kind.prefix: kind for kind in durable_kinds() if kind.section}
    for prefix, read in blocks.newest(ctx, list(kinds), most, topic.named).items():
        live = [block for block in read if not block.kind.state(block.status).is_over]
        # Only then can there be more than was read; counting costs two queries for each kind.
        if len(read) >= most:
            in_force = blocks.count(ctx, prefix) - blocks.count(ctx, prefix, words_for(*OVER))
            heading = kinds[prefix].section
            unread[heading] = unread.get(heading, 0) + in_force - len(live)
        found += live
    ids = [block.id for block in found]
    newest = {block.id for block in sorted(found, key=lambda block: -block.seq)[:MOST_NEW]}
    gone, assessed = retracted_among(ctx, ids), verdicts(ctx, ids)
    replaced = _succeeded(ctx, ids, pending)
    entries = []
    for block in sorted(found, key=lambda block: -block.seq):
        if block.id not in gone:
            alarm = ", ".join(assessed[block.id].doubts) if block.id in assessed else ""
            rank = topic.rank(block.id, block.text)
            # Of two equally relevant records, the newer one is less likely to be known.
            rank += NEW if rank and block.id in newest else 0.0
            entries.append(_block_entry(block, max(rank, least), alarm, _old(block, replaced, pending)))
    return _with_pending(entries, pending), unread, tuple(without_approval(ctx, found))


def _old(block: Block, replaced: dict[str, str], pending: dict[str, PendingChange]) -> str:
    """What a record replaced, by its own field or by a retraction that named it; not what a proposal would replace."""
    named = ", ".join(id for id in block.replaces if id not in pending)
    return f"replaces {named}" if named else replaced.get(block.id, "")


def _succeeded(ctx: Context, ids: list[str], pending: dict[str, PendingChange]) -> dict[str, str]:
    """How each of these records replaced another, for those that did."""
    pairs = [(new, old) for new, old in replaced_by_any(ctx, ids).items() if old not in pending]
    return {new: f"{how} {old}" for (new, old), how in successions(ctx, pairs).items()}


@dataclass(frozen=True, slots=True)
class PendingChange:
    """What an open proposal would do to a record."""

    proposal: str
    status: str
    instead: str | None = None
    """The replacement that it proposes."""

    def words(self, id: str) -> str:
        return f"to replace {id}" if self.instead else f"to retract {id}"

    def alarm(self) -> str:
        doing = f"{self.instead} would replace it" if self.instead else f"to be {self.status}"
        return f"{doing}: {self.proposal}"


def _pending(staged: Iterable[Block]) -> dict[str, PendingChange]:
    """For records with an open proposal: which proposal, and the change."""
    found: dict[str, PendingChange] = {}
    for proposal in staged:
        for op in read_ops(proposal.fields.get("Ops")):
            if op.target and op.op == "replace_block":
                found[op.target] = PendingChange(proposal.id, SUPERSEDED, op.value)
            elif op.target and op.op == "set_status" and meaning(op.status) in OVER:
                found[op.target] = PendingChange(proposal.id, op.status or "")
    return found


def _with_pending(entries: list[BriefLine], pending: dict[str, PendingChange]) -> list[BriefLine]:
    """Merges a record and its proposed replacement into one line; the replacement then has no separate line."""
    known = {entry.id: entry for entry in entries}
    told: dict[str, BriefLine] = {}
    folded: set[str] = set()
    for entry in entries:
        change = pending.get(entry.id)
        new = known.get(change.instead or "") if change is not None else None
        if change is None:
            told[entry.id] = entry
        # A replacement that is itself to be replaced, or has another heading, keeps its own line.
        elif new is not None and new.id not in pending and _heading(new) == _heading(entry) and new.id not in folded:
            told[entry.id] = replace(entry, instead=replace(new, label=""), rank=max(entry.rank, new.rank))
            folded.add(new.id)
        else:
            told[entry.id] = replace(entry, alarm=entry.alarm or change.alarm())
    return [entry for entry in told.values() if entry.id not in folded]


def _heading(entry: BriefLine) -> str:
    return HEADINGS[entry.kind]


def _block_entry(block: Block, rank: float, alarm: str, replaced: str) -> BriefLine:
    kind = block.kind.name
    why, says = block.get("Rationale"), block.headline
    if why.lower() == "not given":
        why = ""
    if kind == "rejected" and why:
        says, why = f"{says}: {why}", ""  # without the reason, a rejected alternative is proposed again
    if replaced:
        says = f"{says} ({replaced})"
    state = block.kind.state(block.status)
    unsettled = "" if state is State.IN_FORCE else state.value
    named = kind if block.kind.label is None else block.kind.label
    label = ", ".join(part for part in (named, unsettled) if part)
    waits = state is State.PROPOSED
    return BriefLine(kind, block.id, says, label, rank, alarm, why, block.get("Title"), proposed=waits)


def _cards(ctx: Context, work: Work | None, topic: Topic, most: int) -> list[BriefLine]:
    """Decisions, open questions and open hypotheses of the task, of its plan, and of the caller's own branch."""
    places: list[tuple[Scope, float]] = []
    if work is not None:
        places.append((scope_of(ctx, work.id), OWN))
        places += [(scope_of(ctx, work.parent), OF_PLAN)] if work.parent else []
    places.append((Scope(own_branch(ctx)), 0.0))
    entries: dict[str, BriefLine] = {}
    for scope, bonus in places:
        for card, alarm in _in_force(ctx, scope, most):
            says = " ".join([card.title or "", card.text or "", *card.tags])
            # The first occurrence wins: a card of the task is also visible on the branches below it,
            # with a smaller bonus.
            entries.setdefault(card.id, _card_entry(card, bonus + topic.rank(card.id, says), alarm))
    for row in _open_anywhere(ctx, most, entries):
        says = " ".join([row["title"] or "", row["body"] or "", *(row["tags"] or "").split("\n")])
        rank = topic.rank(row["ref"], says) if work is not None else ANY
        words = row["title"] or row["body"] or ""
        entries[row["ref"]] = BriefLine(row["kind"], row["ref"], words, _open_label(row["kind"]), rank)
    return list(entries.values())


def _rejected(ctx: Context, topic: Topic) -> list[BriefLine]:
    """Alternatives that were ruled out while thinking and that an agent would otherwise try again."""
    found = rejected_thoughts(ctx, MOST_REJECTED)
    gone = retracted_among(ctx, [id for id, _ in found])
    return [BriefLine("rejected", id, text, "REJECTED", topic.rank(id, text)) for id, text in found if id not in gone]


def _thoughts(ctx: Context, topic: Topic) -> list[BriefLine]:
    found = open_hypotheses(ctx, MOST_THOUGHTS)
    gone = retracted_among(ctx, [id for id, _ in found])
    return [BriefLine("thought", id, text, rank=topic.rank(id, text)) for id, text in found if id not in gone]


def note_cards(ctx: Context, scope: Scope, most: int) -> list[Node]:
    """Notes that were stored as records of a task, newest first."""
    return _durable_cards(ctx, scope, ("note",), most)


def _durable_cards(ctx: Context, scope: Scope, types: tuple[str, ...], most: int) -> list[Node]:
    """Cards of durable kinds that were neither retracted nor invalidated, newest first."""
    live = [
        card for card in nodes(ctx, scope.branch, scope.graph, types=types, limit=most).nodes if not has_fallen(card)
    ]
    gone = retracted_among(ctx, [card.id for card in live])
    return [card for card in live if card.id not in gone]


def step_of(card: Node) -> str | None:
    """The id of the step that a card belongs to."""
    placed = (card.meta or {}).get("step")
    return placed.get("step_id") if isinstance(placed, dict) else None


def _open_anywhere(ctx: Context, most: int, known: Mapping[str, BriefLine]) -> list[Row]:
    """Open cards from the rest of the workspace, newest first: they may block this task too."""
    rows = newest_items(ctx.tx, ctx.workspace, "card", OPEN_KINDS, OPEN, min(most, MOST_OPEN))
    others = [row for row in rows if row["ref"] not in known]
    gone = retracted_among(ctx, [row["ref"] for row in others])
    return [row for row in others if row["ref"] not in gone]


def _open_label(kind: str) -> str:
    return "hypothesis" if kind == "hypothesis" else ""


def _in_force(ctx: Context, scope: Scope, most: int) -> list[tuple[Node, str]]:
    live = _durable_cards(ctx, scope, ("decision", *OPEN_KINDS), most)
    # An answered question is of no use to a reader who resumes the work; a decision is, whatever its status.
    live = [card for card in live if card.type == "decision" or card.status == OPEN]
    doubts = suspects(ctx, scope, [card.id for card in live])
    assessed = verdicts(ctx, [card.id for card in live])
    return [(card, _card_alarm(assessed.get(card.id), doubts.get(card.id))) for card in live]


def _card_alarm(verdict: Verdict | None, doubt: Suspect | None) -> str:
    """What invalidates a card: its premises across the stores, or on the current branch."""
    if verdict is not None and verdict.doubts:
        return ", ".join(verdict.doubts)
    return Suspicion(doubt.path[-1], doubt.because.rpartition(" ")[2]).label if doubt is not None else ""


def _card_entry(card: Node, rank: float, alarm: str) -> BriefLine:
    rejected = card.type == "decision" and card.status == REJECTED
    kind = "rejected" if rejected else card.type
    label = "REJECTED" if rejected else _open_label(kind)
    label = ", ".join(part for part in (label, "draft" if is_draft(card.tags) else "") if part)
    title, text = card.title or "", card.text or ""
    # A title that was cut from the text adds nothing to it.
    whole = f"{title}: {text}" if title and text and not text.startswith(title.rstrip("…. ")) else text or title
    return BriefLine(kind, card.id, whole, label, rank, alarm, short=title)
