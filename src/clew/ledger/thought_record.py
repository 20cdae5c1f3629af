"""Writing a thought: its number, chain, trace entry, row, links, graph node, search item and event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from clew.canonical import Json, canonical, without_none
from clew.errors import invalid
from clew.ids import check_chain
from clew.index.items import Item, index_items, mark_item
from clew.ledger.chains import (
    MAIN,
    Chain,
    Point,
    check_origin,
    empty_chain,
    extend_chain,
    find_chain,
    has_thought,
    no_thought,
    resolve,
    taken,
)
from clew.ledger.cipher import CipherReading, read
from clew.ledger.inputs import first_sentence
from clew.ledger.sessions import UNTITLED, LedgerSession, change_columns, search_words
from clew.ledger.thought_links import Mark, ThoughtLinks, find_links, node_id, put_thought, write_links
from clew.ledger.thought_rows import Thought, insert_thought
from clew.reasoning.documents import TRACE, append
from clew.registry.context import Context
from clew.store.database import placeholders
from clew.store.workspaces import declare_events

FORMAT = "trace_sequential_step"

declare_events(
    {
        "thought_added": "A thought was added to the main line or a branch of a session.",
        "thought_revised": "A thought was added that revises an earlier one.",
        "thought_branched": "A thought was added that starts a branch.",
    }
)


@dataclass(frozen=True, slots=True)
class Past:
    """Import data of a thought that was written elsewhere; its pointers are already resolved."""

    ts_ms: int
    prev: Point | None
    origin: Point | None
    revised: Point | None
    label: str | None = None
    agent: str | None = None
    critique: Json | None = None


@dataclass(frozen=True, slots=True)
class ThoughtDraft:
    """A thought as its author gives it; the server fills in fields that are None."""

    text: str
    next_needed: bool = True
    number: int | None = None
    total: int | None = None
    is_revision: bool | None = None
    revises: int | None = None
    chain: str = MAIN
    from_number: int | None = None
    from_chain: str | None = None
    kind: str | None = None
    needs_more: bool | None = None
    extra: Json = field(default_factory=dict)
    past: Past | None = None


@dataclass(frozen=True, slots=True)
class ThoughtPlan:
    """Everything that is decided about a thought before it is written."""

    draft: ThoughtDraft
    chain: Chain
    point: Point
    total: int
    kind: str | None
    prev: Point | None
    origin: Point | None
    revised: Point | None
    reading: CipherReading
    linked: ThoughtLinks

    @property
    def opens_branch(self) -> bool:
        return bool(self.chain.chain) and self.chain.length == 0

    @property
    def is_revision(self) -> bool:
        return self.revised is not None or bool(self.draft.is_revision)


@dataclass(frozen=True, slots=True)
class Recorded:
    session: LedgerSession
    plan: ThoughtPlan
    seq: int
    chain: Chain
    """The chain with this thought counted."""
    item: Item
    marks: list[Mark]
    """New statuses for other items."""


def record(ctx: Context, session: LedgerSession, draft: ThoughtDraft, chain: Chain | None = None) -> Recorded:
    """Add a thought and its search item."""
    recorded = add(ctx, session, draft, chain)
    make_findable(ctx, [recorded])
    return recorded


def make_findable(ctx: Context, thoughts: Sequence[Recorded]) -> None:
    """Write the search items of thoughts together; each mark is set after the item that it marks."""
    waiting: list[Item] = []
    for thought in thoughts:
        # A mark changes the item of an earlier thought, which may still be in `waiting`; then it is written first.
        waiting.append(thought.item)
        if thought.marks:
            index_items(ctx.tx, ctx.workspace, waiting)
            waiting.clear()
        for mark in thought.marks:
            mark_item(ctx.tx, ctx.workspace, mark.ref, mark.status)
    index_items(ctx.tx, ctx.workspace, waiting)


def add(ctx: Context, session: LedgerSession, draft: ThoughtDraft, chain: Chain | None = None) -> Recorded:
    """Add a thought. `chain` is the draft's chain, if the caller has read it already."""
    # The plan does all validation. After it nothing is refused, so a thought is written whole or not at all.
    plan = plan_thought(ctx, session, draft, chain)
    seq = _append(ctx, session, plan)
    _insert(ctx, session, plan, seq)
    grown = extend_chain(ctx, plan.chain, plan.point.number, plan.total, seq)
    put_thought(ctx, session, plan.point, plan.kind, plan.reading.content, seq)
    marks = write_links(ctx, session, plan.point, plan.kind, seq, plan.linked)
    _count(ctx, session, plan)
    _emit(ctx, session, plan, seq)
    return Recorded(session, plan, seq, grown, _item(ctx, session, plan, seq), marks)


def plan_thought(ctx: Context, session: LedgerSession, draft: ThoughtDraft, known: Chain | None) -> ThoughtPlan:
    reading = read(draft.text)
    chain, origin = _chain(ctx, session, draft, known)
    number = _number(ctx, session, chain, draft, reading)
    kind = draft.kind or reading.kind
    revised = _revised(ctx, session, chain, draft, reading)
    return ThoughtPlan(
        draft=draft,
        chain=chain,
        point=Point(chain.chain, number),
        # The total is the author's estimate; it grows with the numbers, because it cannot be below one of them.
        total=max(draft.total or chain.total, number),
        kind=kind,
        # An import knows the previous thought; if that was lost, the end of the chain is the best guess.
        prev=(draft.past.prev if draft.past else None) or chain.tail,
        origin=origin,
        revised=revised,
        reading=reading,
        # Before the thought is written, so that `S5` in thought 5 is unresolved instead of a link to itself.
        linked=find_links(ctx, session, chain, kind, reading, revised),
    )


def _chain(
    ctx: Context, session: LedgerSession, draft: ThoughtDraft, known: Chain | None
) -> tuple[Chain, Point | None]:
    """The chain to write to, and the thought's fork point."""
    if draft.past is not None:
        return _past_chain(ctx, session, draft, draft.past, known)
    given = Point(draft.from_chain or MAIN, draft.from_number) if draft.from_number is not None else None
    if draft.chain == MAIN:
        _check_exists(ctx, session, given)
        return known or find_chain(ctx, session.id, MAIN) or empty_chain(session.id, MAIN), given
    found = known or find_chain(ctx, session.id, check_chain(draft.chain))
    if found is not None:
        if given is not None:
            check_origin(given, found)
        return found, found.origin
    if given is None:
        raise invalid(
            "branchFromThought",
            f"is required to start branch {draft.chain}",
            "Name the thought the branch starts from.",
            kind="missing_required",
        )
    _check_exists(ctx, session, given)
    return empty_chain(session.id, draft.chain, given), given


def _past_chain(
    ctx: Context, session: LedgerSession, draft: ThoughtDraft, past: Past, known: Chain | None
) -> tuple[Chain, Point | None]:
    """The same for an import, where a branch may lack its fork point."""
    found = known or find_chain(ctx, session.id, draft.chain)
    chain = found or empty_chain(session.id, draft.chain, past.origin if draft.chain else None, past.label)
    return chain, past.origin or chain.origin


def _check_exists(ctx: Context, session: LedgerSession, point: Point | None) -> None:
    if point is not None and not has_thought(ctx, session.id, point):
        raise no_thought(session.id, point, "branchFromThought")


def _number(ctx: Context, session: LedgerSession, chain: Chain, draft: ThoughtDraft, reading: CipherReading) -> int:
    """The requested number; else the number in the text, if it is free; else the next one."""
    if draft.number is not None:
        point = Point(chain.chain, draft.number)
        # A requested number is used or refused, never changed: others may already refer to it.
        if not _is_free(ctx, session, chain, draft.number):
            raise taken(session.id, point, chain, _again(session, draft))
        return draft.number
    written = reading.number
    return written if written and _is_free(ctx, session, chain, written) else chain.next_number


def _is_free(ctx: Context, session: LedgerSession, chain: Chain, number: int) -> bool:
    return chain.is_free(number) or not has_thought(ctx, session.id, Point(chain.chain, number))


def _again(session: LedgerSession, draft: ThoughtDraft) -> Json:
    return {
        "thought": draft.text,
        "nextThoughtNeeded": draft.next_needed,
        "sessionId": session.id,
        "totalThoughts": draft.total,
        "isRevision": draft.is_revision,
        "revisesThought": draft.revises,
        "branchFromThought": draft.from_number,
        "branchFromBranch": draft.from_chain or None,
        "branchId": draft.chain or None,
        "type": draft.kind,
    }


def _revised(
    ctx: Context, session: LedgerSession, chain: Chain, draft: ThoughtDraft, reading: CipherReading
) -> Point | None:
    """The revised thought: by the arguments, which must be right, else by the text, if it names one that exists."""
    if draft.past is not None:
        return draft.past.revised
    if draft.revises is not None:
        found = resolve(ctx, session.id, chain, draft.revises)
        if found is None:
            raise no_thought(session.id, Point(chain.chain, draft.revises), "revisesThought")
        return found[0]
    named = reading.revises
    found = resolve(ctx, session.id, chain, named.number) if named is not None and named.target == "S" else None
    if draft.is_revision and found is None:
        raise invalid(
            "revisesThought",
            "is required with isRevision",
            "Name the thought it revises, by number or as ^[S3] in the text.",
            kind="missing_required",
        )
    # An explicit isRevision=false takes precedence over a revision mark in the text.
    return found[0] if found and draft.is_revision is not False else None


def _append(ctx: Context, session: LedgerSession, plan: ThoughtPlan) -> int:
    """Append the thought to the session's trace, with the keys of a sequential step; returns its seq."""
    optional = {
        "isRevision": plan.is_revision or None,
        "revisesThought": plan.revised.number if plan.revised else None,
        "branchFromThought": plan.origin.number if plan.origin else None,
        "branchFromBranch": plan.origin.chain or None if plan.origin else None,
        "branchId": plan.point.chain or None,
        "needsMoreThoughts": plan.draft.needs_more,
        "type": plan.kind,
    }
    meta = {
        "thoughtNumber": plan.point.number,
        "totalThoughts": plan.total,
        "nextThoughtNeeded": plan.draft.next_needed,
        **without_none(**optional),
    }
    text = plan.draft.text
    row = append(ctx, session.branch, TRACE, content=text, doc_kind=TRACE, format=FORMAT, meta=meta, item_source=None)
    return int(row["seq"])


def _insert(ctx: Context, session: LedgerSession, plan: ThoughtPlan, seq: int) -> None:
    draft, past = plan.draft, plan.draft.past
    extra = draft.extra | ({"needsMoreThoughts": draft.needs_more} if draft.needs_more is not None else {})
    critique = past.critique if past else None
    chain, number = plan.point
    prev_chain, prev_number = plan.prev or _NOWHERE
    from_chain, from_number = plan.origin or _NOWHERE
    revises_chain, revises_number = plan.revised or _NOWHERE
    thought = Thought(
        session=session.id,
        chain=chain,
        number=number,
        seq=seq,
        ts_ms=past.ts_ms if past else ctx.now_ms,
        total=plan.total,
        next_flag=int(draft.next_needed),
        kind=plan.kind,
        prev_chain=prev_chain,
        prev_number=prev_number,
        from_chain=from_chain,
        from_number=from_number,
        revision_flag=int(plan.is_revision),
        revises_chain=revises_chain,
        revises_number=revises_number,
        agent=past.agent if past else ctx.agent,
        critique_json=canonical(critique) if critique else None,
        extra_json=canonical(extra) if extra else None,
        text=draft.text,
    )
    insert_thought(ctx, thought)


_NOWHERE = (None, None)


def thinkers(ctx: Context, seqs: list[int]) -> dict[int, str]:
    """The authors of the thoughts with these seqs, if they are known."""
    if not seqs:
        return {}
    sql = "SELECT seq, agent FROM thought WHERE workspace = ? AND agent <> ''"
    return dict(ctx.tx.tuples(f"{sql} AND seq IN ({placeholders(len(seqs))})", ctx.workspace, *seqs))


def _item(ctx: Context, session: LedgerSession, plan: ThoughtPlan, seq: int) -> Item:
    return Item(
        ref=node_id(session.id, plan.point),
        source="thought",
        seq=seq,
        # When it was recorded here; `event_ts_ms` says when an imported thought was written.
        ts_ms=ctx.now_ms,
        body=plan.draft.text,
        kind=plan.kind,
        branch=session.branch,
        doc=TRACE,
        event_ts_ms=plan.draft.past.ts_ms if plan.draft.past else None,
    )


def _count(ctx: Context, session: LedgerSession, plan: ThoughtPlan) -> None:
    """Update the session's counts, and its title if it has none yet."""
    at_ms = plan.draft.past.ts_ms if plan.draft.past else ctx.now_ms
    sql = (
        "UPDATE ledger_session SET thought_count = thought_count + 1, branch_count = branch_count + ?,"
        " revision_count = revision_count + ?, updated_at_ms = ?, accessed_at_ms = ? WHERE workspace = ? AND id = ?"
    )
    # Old thoughts of an import must not set the time of the last change back.
    changed_ms = max(at_ms, session.updated_at_ms)
    counts = (int(plan.opens_branch), int(plan.is_revision))
    ctx.tx.run(sql, *counts, changed_ms, ctx.now_ms, ctx.workspace, session.id)
    title = first_sentence(plan.reading.content) if session.title == UNTITLED else ""
    if title:
        words = search_words(title, session.description, list(session.tags))
        change_columns(ctx, session.id, title=title, words=words)


def _emit(ctx: Context, session: LedgerSession, plan: ThoughtPlan, seq: int) -> None:
    type = "thought_revised" if plan.revised else "thought_branched" if plan.opens_branch else "thought_added"
    payload: Json = {
        "node": node_id(session.id, plan.point),
        "thoughtNumber": plan.point.number,
        "branchId": plan.point.chain or None,
        "parent": node_id(session.id, plan.prev) if plan.prev else None,
        "seq": seq,
    }
    if plan.revised:
        payload["revises"] = node_id(session.id, plan.revised)
    if plan.opens_branch and plan.origin:
        payload["origin"] = node_id(session.id, plan.origin)
    ctx.emit("ledger", type, session.id, payload)
