"""Signals: what was noticed and waits for review, one block each in `intelligence/SIGNALS.md`."""

from __future__ import annotations

from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.marks import content_hash, mark
from clew.memory.printing import print_block, set_field
from clew.registry.context import Context

PRIORITIES = {"high": "P1", "medium": "P2", "low": "P3"}


def record(
    ctx: Context,
    *,
    kind: str,
    excerpt: str,
    source: str,
    confidence: str,
    tags: list[str],
    action: str,
    rationale: str = "",
    proposal: str | None = None,
    origin: str = "propose",
) -> Block:
    """Write a signal that waits."""
    id = blocks.dated_id(ctx, "SIG")
    text = print_block(
        id,
        {
            "Date": blocks.day_of(ctx.now_ms),
            "Type": f"auto-capture-{kind}",
            "Source": source,
            "Confidence": confidence,
            "Priority": PRIORITIES[confidence],
            "Status": "pending",
            "Excerpt": excerpt,
            "ContentHash": content_hash(excerpt),
            "Rationale": rationale,
            "Tags": ", ".join(tags),
            "Proposal": proposal,
            "Action": action,
        },
    )
    return blocks.write(ctx, id, text, origin=origin)


def waiting(ctx: Context, statement: str) -> Block | None:
    """A pending signal that says the same."""
    return next((b for b in blocks.with_mark(ctx, "SIG", mark(statement)) if b.status == "pending"), None)


def set_status(ctx: Context, id: str, status: str, cause: str) -> None:
    found = blocks.find(ctx, id)
    if found is not None and found.status != status:
        blocks.write(ctx, id, set_field(found.text, "Status", status), origin="review", cause=cause)
