"""Looking at blocks one by one: which there are, and how one of them became what it is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import shorten, suggest, unknown_id
from clew.memory import blocks, receipts
from clew.memory.blocks import Block
from clew.memory.kinds import KINDS, check_block_id
from clew.memory.past import Past, Version, past_of
from clew.memory.scan import overdue
from clew.memory.sync import sync
from clew.registry.budget import Budget, Clip, Drop, Follow, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Whole, operation

NAMES = {kind.name: kind.prefix for kind in KINDS.values()}
KNOWLEDGE = ("D", "T", "PRJ", "PER", "TOOL", "INC", "FACT")
"""What people mean by memory; the rest is its bookkeeping."""
MOST_DIFF = 20_000
_NEXT = Follow("next_offset", lambda whole, result: _following(result["offset"] + len(result["blocks"]), result))
BLOCKS_BUDGET = Budget(
    (
        Trim("blocks", drop="last", floor=1, follow=_NEXT),
        Clip("blocks[].says", 120),
        Trim("blocks", drop="last", follow=_NEXT),
    ),
    {"core": 8_000, "daily": 16_000, "full": 32_000},
    keep=("total",),
)
HISTORY_BUDGET = Budget(
    (
        Clip("versions[].diff", 2_000),
        Drop("versions[].text"),
        Trim("versions", drop="last", floor=1),
        Clip("versions[].diff", 200),
        Clip("text", 400),
        Drop("fields"),
        Trim("versions", drop="last"),
    ),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("block_id", "status"),
)
KindName = Literal[
    "knowledge",
    "any",
    "decision",
    "task",
    "project",
    "person",
    "tool",
    "incident",
    "fact",
    "contradiction",
    "drift",
    "signal",
    "proposal",
    "receipt",
    "summary",
]


class ListBlocks(Bounded):
    kind: Annotated[KindName, Field(description="knowledge: all that says something; any: bookkeeping too.")] = (
        "knowledge"
    )
    status: Annotated[str | None, Field(max_length=40, description="Only blocks with this status.")] = None
    words: Annotated[str, Field(max_length=400, description="Only blocks that hold all these words.")] = ""
    overdue: Annotated[bool, Field(description="Only blocks whose review date has passed.")] = False
    offset: Annotated[Whole, Field(description="How many to skip.")] = 0
    limit: Annotated[int, Field(ge=1, le=200, description="Most to show, those changed last first.")] = 50


@operation("list_blocks", mode="own", budget=BLOCKS_BUDGET, bare=lambda result: result)
def list_blocks(ctx: Context, args: ListBlocks) -> dict[str, Any]:
    """List blocks of governed memory by kind, status and words, those changed last first."""
    sync(ctx)
    with ctx.reading() as bound:
        due = overdue(bound)
        found = [block for block in _current(bound, args) if _fits(block, args, due)]
        found.sort(key=lambda block: (-block.seq, block.id))
        shown = found[args.offset : args.offset + args.limit]
        return {
            "blocks": [_listed(block, due) for block in shown],
            "offset": args.offset,
            "total": len(found),
            "statuses": _counts(found),
            "next_offset": _following(args.offset + len(shown), {"total": len(found)}),
            "truncated": False,
        }


def _following(shown: int, result: dict[str, Any]) -> int | None:
    """Where the next page begins; nowhere after the last block."""
    return shown if shown < result["total"] else None


def _current(ctx: Context, args: ListBlocks) -> list[Block]:
    if args.kind == "any":
        return blocks.current(ctx)
    prefixes = KNOWLEDGE if args.kind == "knowledge" else (NAMES[args.kind],)
    return [block for prefix in prefixes for block in blocks.current(ctx, prefix=prefix)]


def _fits(block: Block, args: ListBlocks, due: dict[str, str]) -> bool:
    if args.overdue and block.id not in due:
        return False
    if args.status is not None and (block.status or "") != args.status.strip():
        return False
    text = f"{block.id} {block.text}".lower()
    return all(word in text for word in args.words.lower().split())


def _counts(found: list[Block]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for block in found:
        counts[block.status or ""] = counts.get(block.status or "", 0) + 1
    return dict(sorted(counts.items()))


def _listed(block: Block, due: dict[str, str]) -> dict[str, Any]:
    return {
        "block_id": block.id,
        "kind": block.kind.name,
        "status": block.status,
        "says": shorten(block.headline or block.text, 300),
        "tags": [tag for tag in block.tags if tag != "untagged"],
        "file": block.file,
        "review_by": block.review_by,
        "review_due": block.id in due,
        "agent": block.agent,
        "ts_ms": block.ts_ms,
    }


class BlockHistory(Bounded):
    block_id: Annotated[str, Field(max_length=256, description="Block id, such as D-20260213-001.")]
    limit: Annotated[int, Field(ge=1, le=100, description="Most versions to show, newest first.")] = 20


@operation(
    "block_history",
    mode="own",
    budget=HISTORY_BUDGET,
    bare=lambda result: result,
    example={"block_id": "D-20260213-001"},
)
def block_history(ctx: Context, args: BlockHistory) -> dict[str, Any]:
    """Show a block with every version: what changed, who changed it, when, and which proposal and receipt did it."""
    id = check_block_id(args.block_id)
    sync(ctx)
    with ctx.reading() as bound:
        past = past_of(bound, id, args.limit)
        if past is None:
            way = suggest("list_blocks", "Lists the blocks there are.", "high")
            raise unknown_id("block", id, "Look the id up in the file or with list_blocks.", [way])
        return _history(bound, id, past)


def _history(ctx: Context, id: str, past: Past) -> dict[str, Any]:
    return {
        "block_id": id,
        "kind": past.now.kind.name,
        "status": past.status,
        "says": past.now.headline,
        "text": past.now.text,
        "fields": past.now.fields,
        "file": past.file,
        "line": past.line,
        "review_by": past.now.review_by,
        "review_due": past.review_overdue is not None,
        "versions": [_version(ctx, version) for version in past.versions],
        "versions_total": past.total,
        "truncated": past.total > len(past.versions),
    }


def _version(ctx: Context, version: Version) -> dict[str, Any]:
    new = version.block
    receipt = receipts.of_proposal(ctx, new.cause) if new.cause and new.cause.startswith("P-") else None
    return {
        "version": version.number,
        **version.shown(),
        "ts_ms": new.ts_ms,
        "receipt_ts": receipt.ts if receipt else None,
        "rolled_back": bool(receipt and receipt.rolled_back_at_ms),
        "removed": new.gone,
        "status": new.status,
        "diff": shorten(version.diff(around=2), MOST_DIFF),
        "text": new.text,
    }
