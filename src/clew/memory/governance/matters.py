"""What waits for a person in governed memory: proposals, contradictions, facts, signals, overdue reviews.

The inbox collects these through the hooks `matters`; `sentences` gives each block a title.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.clock import rfc3339
from clew.errors import ClewError, shorten
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.resolutions import advise, open_entries
from clew.memory.facts import PENDING
from clew.memory.files.markdown import listed, parse_block
from clew.memory.governance import proposals
from clew.memory.governance.patches import Op, read
from clew.registry.context import Context
from clew.registry.record import Matter, Named, matters, namer

SIGNALS = 30
"""Most signals to show. There are many, and ignoring one does no harm, so the newest are enough."""


@matters("proposal")
def staged_proposals(ctx: Context, limit: int) -> list[Matter]:
    """Open proposals, oldest first; those that were put off carry the day."""
    found = blocks.current(ctx, prefix="P", status=proposals.OPEN)
    found.sort(key=lambda block: (proposals.created_ms(block), block.id))
    shown = found[:limit]
    titles = sentences(ctx, shown)
    return [_proposal(ctx, block, titles[block.id]) for block in shown]


def _proposal(ctx: Context, block: Block, title: str) -> Matter:
    until = proposals.deferred_until(ctx, block) if block.status == "deferred" else None
    evidence = block.fields.get("Evidence")
    return Matter(
        block.id,
        "proposal",
        title,
        proposals.created_ms(block),
        "It stays proposed: agents see it marked so, and nothing in memory changes.",
        by=_proposer(block),
        about=tuple(id for id in (block.get("Signal"), block.get("TargetBlock")) if id),
        note=block.get("Rationale") or (evidence[0] if isinstance(evidence, list) and evidence else ""),
        risk=block.get("Risk") or None,
        until_ms=until if until is not None and until > ctx.now_ms else None,
        facts={"type": block.get("Type"), "target": block.get("TargetBlock"), "reason": block.get("Reason")},
    )


def _proposer(block: Block) -> str | None:
    """Who proposed it: the field names a part of Clew; otherwise it is the author of the version."""
    return block.get("ProposedBy") or block.agent


@matters("contradiction")
def open_contradictions(ctx: Context, limit: int) -> list[Matter]:
    entries = open_entries(ctx)[:limit]
    titles = sentences(ctx, [entry for entry, _ in entries])
    return [_contradiction(entry, sides, titles[entry.id]) for entry, sides in entries]


def _contradiction(entry: Block, sides: dict[str, Block], title: str) -> Matter:
    one, other = [*sides.values(), None, None][:2]
    strategy, _, winner, why, _ = advise(one, other)
    kept = sides.get(winner) if winner and strategy == "supersede" else None
    reason = why.replace(winner, "it") if winner else why
    return Matter(
        entry.id,
        "contradiction",
        title,
        entry.ts_ms,
        "Both stay in force, and whoever recalls one is told of the other.",
        by="clew",
        about=tuple(sides),
        note=entry.get("Evidence"),
        risk=entry.get("Severity") or None,
        advice=f"Keep “{shorten(kept.headline, 80)}”: {reason}" if kept else None,
        facts={
            "sides": [{"id": id, "title": shorten(side.headline, 200)} for id, side in sides.items()],
            "winner": kept.id if kept else None,
        },
    )


@matters("fact")
def pending_facts(ctx: Context, limit: int) -> list[Matter]:
    found = blocks.current(ctx, prefix="FACT", status=PENDING)[:limit]
    idle = "It stays marked as not reviewed, and other agents do not rely on it."
    return [
        Matter(
            *(fact.id, "fact", shorten(fact.get("Text"), 200), fact.ts_ms, idle),
            by=fact.get("Source") or fact.agent,
            about=(fact.get("SourceBlock"),) if fact.get("SourceBlock") else (),
            note=f"{fact.get('Confidence')} confidence" if fact.get("Confidence") else "",
        )
        for fact in found
    ]


@matters("signal")
def pending_signals(ctx: Context, limit: int) -> list[Matter]:
    """Signals from which no proposal was made yet."""
    found = [block for block in blocks.current(ctx, prefix="SIG", status="pending") if not block.get("Proposal")]
    idle = "It stays a signal: found by recall as such, and never taken for a decision."
    return [
        Matter(
            *(block.id, "signal", shorten(block.headline, 200), block.ts_ms, idle),
            by=block.agent,
            note=f"captured from {block.get('Source')}" if block.get("Source") else "",
            facts={"type": block.get("Type")},
        )
        for block in found[-min(limit, SIGNALS) :]
    ]


@matters("review")
def overdue_reviews(ctx: Context, limit: int) -> list[Matter]:
    due = blocks.overdue(ctx)
    found = blocks.current(ctx, ids=list(due)[:limit]) if due else []
    idle = "It stays in force and is labelled as overdue wherever it is shown."
    return [
        Matter(
            *(block.id, "review", shorten(block.headline, 200), block.ts_ms, idle),
            by=block.agent,
            note=f"was to be reviewed by {due[block.id]}",
            facts={"review_by": due[block.id], "today": rfc3339(ctx.now_ms)[:10]},
        )
        for block in found
    ]


LONGEST = 200
Titles = dict[str, str]


@namer("block")
def block_names(ctx: Context, ids: list[str]) -> list[Named]:
    """The titles of blocks; a proposal's title says what it would do."""
    found = blocks.current(ctx, ids=ids)
    titles = sentences(ctx, found)
    return [Named(block.id, block.kind.name, titles[block.id], block.status) for block in found]


def sentences(ctx: Context, found: Iterable[Block]) -> Titles:
    """One sentence for each block. The blocks that they name are read together, in one query."""
    listed_blocks = list(found)
    titles = _titles(ctx, {id for block in listed_blocks for id in _named_ids(block)})
    return {block.id: shorten(_sentence(block, titles), LONGEST) for block in listed_blocks}


def _titles(ctx: Context, ids: Iterable[str]) -> Titles:
    return {block.id: shorten(block.headline or block.id, 120) for block in blocks.current(ctx, ids=ids)}


def _named_ids(block: Block) -> list[str]:
    """The ids of the blocks that its sentence names."""
    if block.kind.name == "proposal":
        return [op.target for op in _ops(block) if op.target]
    return sides(block) if block.kind.name == "contradiction" else []


def sides(contradiction: Block) -> list[str]:
    """The two blocks that a contradiction is about."""
    return listed(contradiction.fields.get("Objects"))


def _ops(proposal: Block) -> list[Op]:
    try:
        return read(proposal.fields.get("Ops"))
    except ClewError:  # broken by a hand edit; approve_apply says what is wrong with it
        return []


def _sentence(block: Block, titles: Titles) -> str:
    if block.kind.name == "proposal":
        changes = [_op_sentence(op, titles) for op in _ops(block)]
        more = f" (and {len(changes) - 1} more changes)" if len(changes) > 1 else ""
        return changes[0] + more if changes else "A proposal that cannot be read"
    if block.kind.name == "contradiction":
        both = [f"“{titles[id]}”" for id in sides(block) if id in titles]
        return " against ".join(both) if len(both) == 2 else block.headline
    return block.headline or block.id


def _op_sentence(op: Op, titles: Titles) -> str:
    about = f"“{titles.get(op.target, op.target)}”" if op.target else op.file
    new = blocks.headline(parse_block(op.patch).fields) if op.patch else ""
    sentences = {
        "append_block": new or f"Add to {op.file}",
        "insert_after_block": f"{new} (after {about})",
        "update_field": f"Change {op.field} of {about} to: {op.value}",
        "append_list_item": f"Add to {op.list} of {about}: {op.item}",
        "set_status": f"Mark {about} as {op.status}",
        "replace_range": f"Rewrite lines of {about}",
        "supersede_decision": f"{new} (instead of {about})",
        "replace_block": f"Let {titles.get(op.value, op.value)} replace {about}",
    }
    return sentences.get(op.op, f"{op.op} {about}")
