"""What `open` shows of a block: its text, where it stands, what it is linked with, and every version it had."""

from __future__ import annotations

from typing import Any

from clew.clock import rfc3339
from clew.errors import shorten
from clew.memory import findable, receipts
from clew.memory.blocks import Block
from clew.memory.kinds import kind_of
from clew.memory.past import Version, past_of, status_of
from clew.registry.context import Context

SUMMARY = 160
MOST_DIFF = 2_000


def open_block(ctx: Context, id: str, limit: int, include_drafts: bool) -> dict[str, Any] | None:
    """A block that is or was; None when there never was one of this id."""
    past = past_of(ctx, id, limit)
    if past is None:
        return None
    now = past.now
    return {
        "kind": "block",
        "id": id,
        "summary": shorten(now.headline or id, SUMMARY),
        "status": past.status,
        "head": {"seq": now.seq, "ts": rfc3339(now.ts_ms), "ts_ms": now.ts_ms, "agent": now.agent},
        "block": {
            "id": id,
            "type": kind_of(id).name,
            "fields": now.fields,
            "text": now.text,
            "file": past.file,
            "line": past.line,
            **({"review_overdue": past.review_overdue} if past.review_overdue else {}),
        },
        "links": [{"rel": rel, "id": other} for rel, other in findable.links(now.fields)][:limit],
        **_receipt(ctx, now),
        "history": [_version(version) for version in past.versions],
        "versions": past.total,
        "truncated": past.total > limit,
    }


def _version(version: Version) -> dict[str, Any]:
    """The whole text stands above, so only a change of it is told."""
    shown = {**version.shown(), "status": status_of(version.block)}
    if version.before is None or version.before.gone or version.block.gone:
        return shown
    return {**shown, "diff": shorten(version.diff(around=0), MOST_DIFF)}


def _receipt(ctx: Context, block: Block) -> dict[str, Any]:
    """How a proposal that was applied can be taken back."""
    found = receipts.of_proposal(ctx, block.id) if block.kind.name == "proposal" else None
    return {"receipt_ts": found.ts} if found else {}
