"""What `open` shows of a block: its text, where it stands, what it is linked with, and every version it had."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

from clew.clock import rfc3339
from clew.errors import shorten
from clew.memory import blocks, findable, receipts
from clew.memory.blocks import Block
from clew.memory.kinds import kind_of
from clew.memory.scan import overdue
from clew.registry.context import Context

SUMMARY = 160


def open_block(ctx: Context, id: str, limit: int, include_drafts: bool) -> dict[str, Any] | None:
    """A block that is or was; None when there never was one of this id."""
    count = blocks.count_versions(ctx, id)
    if not count:
        return None
    versions = blocks.history(ctx, id, limit + 1)  # one more: the oldest shown says what it changed
    last = versions[-1]
    place = blocks.locate(ctx, [id]).get(id)
    return {
        "kind": "block",
        "id": id,
        "summary": shorten(last.headline or id, SUMMARY),
        "status": "removed" if last.gone else last.status,
        "head": {"seq": last.seq, "ts": rfc3339(last.ts_ms), "ts_ms": last.ts_ms, "agent": last.agent},
        "block": {
            "id": id,
            "type": kind_of(id).name,
            "fields": last.fields,
            "text": last.text,
            "file": place[0] if place else last.file,
            "line": place[1] if place else None,
            **({"review_overdue": due} if (due := overdue(ctx, [id]).get(id)) else {}),
        },
        "links": [{"rel": rel, "id": other} for rel, other in findable.links(last.fields)][:limit],
        **_receipt(ctx, last),
        "history": [_version(old, new) for old, new in zip([None, *versions], versions, strict=False)][-limit:][::-1],
        "versions": count,
        "truncated": count > limit,
    }


def _version(old: Block | None, new: Block) -> dict[str, Any]:
    shown = {
        "seq": new.seq,
        "ts": rfc3339(new.ts_ms),
        "origin": new.origin,
        "cause": new.cause,
        "agent": new.agent,
        "status": "removed" if new.gone else new.status,
    }
    if old is None or old.gone or new.gone:
        return shown
    lines = unified_diff(old.text.splitlines(), new.text.splitlines(), lineterm="", n=0)
    return {**shown, "diff": shorten("\n".join(list(lines)[2:]), 2000)}


def _receipt(ctx: Context, block: Block) -> dict[str, Any]:
    """How a proposal that was applied can be taken back."""
    found = receipts.of_proposal(ctx, block.id) if block.kind.name == "proposal" else None
    return {"receipt_ts": found.ts} if found else {}
