"""Inbox items of governed memory: proposals, contradictions, facts, signals, overdue reviews.

The inbox collects these through the hooks `inbox_items`; `sentences` gives each block a title.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clew.clock import rfc3339
from clew.errors import ClewError, shorten
from clew.kinds import statuses
from clew.kinds.state import State
from clew.kinds.statuses import meaning
from clew.memory import block_lists, blocks
from clew.memory.block_lists import BlockFilter
from clew.memory.blocks import Block
from clew.memory.contradictions.resolutions import advise
from clew.memory.facts import PENDING
from clew.memory.files.directory import directory_of
from clew.memory.files.markdown import listed, parse_block
from clew.memory.governance import proposals
from clew.memory.governance.disputes import Dispute, open_disputes
from clew.memory.governance.patches import Op, read
from clew.registry.context import Context
from clew.registry.record import InboxItem, Named, inbox_items, namer

SIGNALS = 30
"""Maximum number of signals to show. There are many, and ignoring one does no harm, so the newest are enough."""


@inbox_items("proposal")
def staged_proposals(ctx: Context, limit: int) -> list[InboxItem]:
    """Open proposals, oldest first; deferred ones have the day. Proposals that belong to a dispute are
    listed once, with the others in it."""
    disputes = {id: dispute for dispute in open_disputes(ctx) for id in dispute.covers}
    found = block_lists.oldest(ctx, "P", proposals.OPEN, limit)
    shown = [block for block in found if block.id not in disputes or disputes[block.id].id == block.id]
    shown.sort(key=lambda block: (proposals.created_ms(block), block.id))
    titles = sentences(ctx, shown)
    sides = _sides_of(ctx, [disputes[block.id] for block in shown if block.id in disputes])
    return [_proposal(ctx, block, titles[block.id], disputes.get(block.id), sides) for block in shown]


def _proposal(ctx: Context, block: Block, title: str, dispute: Dispute | None, sides: dict[str, Block]) -> InboxItem:
    until = proposals.deferred_until(ctx, block) if block.status == statuses.DEFERRED else None
    evidence = block.fields.get("Evidence")
    idle = "It stays proposed: agents see it marked so, and nothing in memory changes."
    item = InboxItem(
        block.id,
        "proposal",
        title,
        proposals.created_ms(block),
        idle,
        by=proposals.proposer(ctx, block),
        about=tuple(id for id in (block.get("Signal"), block.get("TargetBlock")) if id),
        note=block.get("Rationale") or (evidence[0] if isinstance(evidence, list) and evidence else ""),
        risk=block.get("Risk") or None,
        until_ms=until if until is not None and until > ctx.now_ms else None,
        facts={"type": block.get("Type"), "target": block.get("TargetBlock"), "reason": block.get("Reason")},
    )
    return item if dispute is None else _disputed(item, dispute, sides)


@inbox_items("contradiction")
def open_contradictions(ctx: Context, limit: int) -> list[InboxItem]:
    """Disputes between records that are both in force. One with a proposal is listed with the proposals."""
    disputes = [dispute for dispute in open_disputes(ctx) if dispute.proposal is None][:limit]
    sides = _sides_of(ctx, disputes)
    return [_contradiction(dispute, sides) for dispute in disputes]


def _sides_of(ctx: Context, disputes: Iterable[Dispute]) -> dict[str, Block]:
    ids = {id for dispute in disputes for id in (dispute.newer, *dispute.older)}
    return {block.id: block for block in blocks.current(ctx, ids=ids)} if ids else {}


def _contradiction(dispute: Dispute, sides: dict[str, Block]) -> InboxItem:
    newer, first = sides[dispute.newer], dispute.entries[0]
    item = InboxItem(
        dispute.id,
        "contradiction",
        shorten(newer.headline, LONGEST),
        min(entry.ts_ms for entry in dispute.entries),
        "",
        by=newer.get("Author") or newer.agent,
        risk=first.get("Severity") or None,
        facts={},
    )
    return _disputed(item, dispute, sides)


def _disputed(item: InboxItem, dispute: Dispute, sides: dict[str, Block]) -> InboxItem:
    """An inbox item as a dispute: the records it conflicts with, and everything that is resolved with it."""
    older = [sides[id] for id in dispute.older if id in sides]
    strategy, _, winner, why, _ = advise(sides.get(dispute.newer), older[0] if len(older) == 1 else None)
    kept = sides.get(winner) if winner and strategy == "supersede" and dispute.proposal is None else None
    named = ", ".join(dispute.older)
    idle = (
        f"It stays proposed, and the old {'one stays' if len(dispute.older) == 1 else 'ones stay'} in force."
        if dispute.proposal
        else "Both stay in force, marked as disputed."
    )
    return replace(
        item,
        kind="contradiction",
        default_outcome=idle,
        about=(dispute.newer, *dispute.older),
        note=f"contradicts {named}",
        advice=f"Keep “{shorten(kept.headline, 80)}”: {why.replace(kept.id, 'it')}" if kept else None,
        facts={
            **(item.facts or {}),
            "newer": dispute.newer,
            "older": [{"id": block.id, "title": shorten(block.headline, LONGEST)} for block in older],
            "reasons": dict(dispute.reasons),
            "covers": list(dispute.covers),
            "proposed": dispute.proposal is not None,
            "winner": kept.id if kept else None,
        },
    )


@inbox_items("fact")
def pending_facts(ctx: Context, limit: int) -> list[InboxItem]:
    found = block_lists.oldest(ctx, "FACT", (PENDING,), limit)
    idle = "It stays marked as not reviewed, and other agents do not rely on it."
    return [
        InboxItem(
            *(fact.id, "fact", shorten(fact.get("Text"), 200), fact.ts_ms, idle),
            by=fact.get("Source") or fact.agent,
            about=(fact.get("SourceBlock"),) if fact.get("SourceBlock") else (),
            note=f"{fact.get('Confidence')} confidence" if fact.get("Confidence") else "",
        )
        for fact in found
    ]


@inbox_items("signal")
def pending_signals(ctx: Context, limit: int) -> list[InboxItem]:
    """Signals without a proposal."""
    pending = block_lists.page(ctx, BlockFilter(("SIG",), statuses.PENDING), None, 0, limit)
    found = [block for block in reversed(pending) if not block.get("Proposal")]
    idle = "It stays a signal: found by recall as such, and never taken for a decision."
    return [
        InboxItem(
            *(block.id, "signal", shorten(block.headline, 200), block.ts_ms, idle),
            by=block.agent,
            note=f"captured from {block.get('Source')}" if block.get("Source") else "",
            facts={"type": block.get("Type")},
        )
        for block in found[-min(limit, SIGNALS) :]
    ]


@inbox_items("review")
def overdue_reviews(ctx: Context, limit: int) -> list[InboxItem]:
    due = blocks.overdue(ctx)
    found = blocks.current(ctx, ids=list(due)[:limit]) if due else []
    idle = "It stays in force and is labelled as overdue wherever it is shown."
    return [
        InboxItem(
            *(block.id, "review", shorten(block.headline, 200), block.ts_ms, idle),
            by=block.agent,
            note=f"was to be reviewed by {due[block.id]}",
            facts={"review_by": due[block.id], "today": rfc3339(ctx.now_ms)[:10]},
        )
        for block in found
    ]


@inbox_items("file")
def unread_files(ctx: Context, limit: int) -> list[InboxItem]:
    """Memory files that are ignored because they cannot be read; the next look at memory tries again."""
    directory = directory_of(ctx)
    unread = directory.state().unread if directory is not None else {}
    idle = "What it held before stays in force, and nothing that is written into it counts."
    return [
        InboxItem(
            *(path, "file", shorten(f"{path}{f' line {line}' if line else ''}: {problem}", 200), stamp[0] // 1_000_000),
            idle,
            facts={"file": path, "line": line},
        )
        for path, (stamp, line, problem) in sorted(unread.items())[:limit]
    ]


LONGEST = 200
Titles = dict[str, str]


@namer("block")
def block_names(ctx: Context, ids: list[str]) -> list[Named]:
    """The titles of blocks; a proposal's title describes its effect."""
    found = blocks.current(ctx, ids=ids)
    titles = sentences(ctx, found)
    return [Named(block.id, block.kind.name, titles[block.id], block.status) for block in found]


def sentences(ctx: Context, found: Iterable[Block]) -> Titles:
    """A title for each block. The blocks that they mention are read together, in one query."""
    listed_blocks = list(found)
    titles = _titles(ctx, {id for block in listed_blocks for id in _named_ids(block)})
    return {block.id: shorten(_sentence(block, titles), LONGEST) for block in listed_blocks}


def _titles(ctx: Context, ids: Iterable[str]) -> Titles:
    return {block.id: shorten(block.headline or block.id, 120) for block in blocks.current(ctx, ids=ids)}


def _named_ids(block: Block) -> list[str]:
    """The ids of the blocks that its title mentions."""
    if block.kind.name == "proposal":
        return [id for op in _ops(block) for id in (op.target, op.value if op.op == "replace_block" else "") if id]
    return sides(block) if block.kind.name == "contradiction" else []


def sides(contradiction: Block) -> list[str]:
    """The two blocks that a contradiction is about."""
    return listed(contradiction.fields.get("Objects"))


def _ops(proposal: Block) -> list[Op]:
    try:
        return read(proposal.fields.get("Ops"))
    except ClewError:  # broken by a hand edit; approve_apply reports the problem
        return []


def _sentence(block: Block, titles: Titles) -> str:
    if block.kind.name == "proposal":
        return _proposal_sentence(_ops(block), titles)
    if block.kind.name == "contradiction":
        both = [f"“{titles[id]}”" for id in sides(block) if id in titles]
        return " against ".join(both) if len(both) == 2 else block.headline
    return block.headline or block.id


def _proposal_sentence(ops: list[Op], titles: Titles) -> str:
    """The effect of a proposal. One that puts a record into force has the title of the record."""
    if not ops:
        return "A proposal that cannot be read"
    first, replaced = ops[0], [op for op in ops if op.op == "replace_block"]
    if first.op == "set_status" and first.status == statuses.ACTIVE:
        return titles.get(first.target, first.target)
    if first.op == "set_status" and meaning(first.status) in (State.REPLACED, State.WITHDRAWN, State.SETTLED):
        old = f"“{titles.get(first.target, first.target)}”"
        heir = replaced[0].value if replaced else ""
        return f"Replace {old} with “{titles.get(heir, heir)}”" if heir else f"Withdraw {old}"
    more = f" (and {len(ops) - 1} more changes)" if len(ops) > 1 else ""
    return _op_sentence(first, titles) + more


FIELD_WORDS = {"Rationale": "the reason", "Statement": "the words"}
"""Display names of fields."""


def _op_sentence(op: Op, titles: Titles) -> str:
    about = f"“{titles.get(op.target, op.target)}”" if op.target else op.file
    new = blocks.headline(parse_block(op.patch).fields) if op.patch else ""
    sentences = {
        "append_block": new or f"Add to {op.file}",
        "insert_after_block": f"{new} (after {about})",
        "update_field": f"Change {FIELD_WORDS.get(op.field, op.field)} of {about} to: {op.value}",
        "append_list_item": f"Add to {op.list} of {about}: {op.item}",
        "set_status": f"Mark {about} as {op.status}",
        "replace_range": f"Rewrite lines of {about}",
        "supersede_decision": f"{new} (instead of {about})",
        "restore_block": f"Bring {about} back",
        "replace_block": f"Let {titles.get(op.value, op.value)} replace {about}",
    }
    return sentences.get(op.op, f"{op.op} {about}")
