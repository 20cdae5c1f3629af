"""What of governed memory waits for a person: proposals, contradictions, facts, signals, reviews that are due."""

from __future__ import annotations

from clew.clock import rfc3339
from clew.errors import shorten
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.resolutions import advise, open_entries
from clew.memory.governance import proposals
from clew.memory.governance.sentences import sentences
from clew.memory.ledger import PENDING
from clew.registry.context import Context
from clew.registry.record import Matter, matters

SIGNALS = 30
"""Signals are many and ask little; the newest of them are enough to look at."""


@matters("proposal")
def staged_proposals(ctx: Context, limit: int) -> list[Matter]:
    """Those that can be decided now, and those that were put off, with the day."""
    found = blocks.current(ctx, prefix="P", status=proposals.OPEN)
    found.sort(key=lambda block: (proposals.created_ms(block), block.id))
    shown = found[:limit]
    said = sentences(ctx, shown)
    return [_proposal(ctx, block, said[block.id]) for block in shown]


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
    """Who asked: the field where Clew itself did, else the author of the version that proposed it."""
    return block.get("ProposedBy") or block.agent


@matters("contradiction")
def open_contradictions(ctx: Context, limit: int) -> list[Matter]:
    entries = open_entries(ctx)[:limit]
    said = sentences(ctx, [entry for entry, _ in entries])
    return [_contradiction(entry, sides, said[entry.id]) for entry, sides in entries]


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
    """Signals that no proposal was made of yet."""
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
