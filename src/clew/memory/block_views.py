"""How blocks are presented: the list, one block for `open`, and the history of one block."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import without_none
from clew.clock import rfc3339
from clew.errors import shorten, suggest, unknown_id
from clew.kinds import statuses
from clew.kinds.kind import KindFamily
from clew.memory import block_lists, blocks
from clew.memory.block_items import links_of
from clew.memory.block_lists import BlockFilter
from clew.memory.blocks import Block
from clew.memory.files.sync import sync
from clew.memory.governance import receipts
from clew.memory.kinds import KINDS, check_block_id, kind_of
from clew.registry.budget import Budget, Clip, Drop, Follow, Trim
from clew.registry.context import Context
from clew.registry.operation import BARE, Bounded, View, Whole, operation
from clew.registry.paging import After, follow_after, following, next_after, position
from clew.registry.record import opener


@dataclass(frozen=True)
class BlockVersion:
    number: int
    before: Block | None
    block: Block

    def source(self) -> dict[str, Any]:
        """Who wrote the version and how: `origin` is the way (apply, edit, rollback, ...), `cause` the proposal."""
        return {
            "seq": self.block.seq,
            "ts": rfc3339(self.block.ts_ms),
            "agent": self.block.agent,
            "origin": self.block.origin,
            "cause": self.block.cause,
        }

    def diff(self, around: int) -> str:
        """The changed lines with some context; a first version is all additions, a removal all deletions."""
        before = self.before.text.splitlines() if self.before and not self.before.gone else []
        after = [] if self.block.gone else self.block.text.splitlines()
        # The first two lines name files, and versions of a block have none.
        return "\n".join(list(unified_diff(before, after, lineterm="", n=around))[2:])


@dataclass(frozen=True)
class BlockTimeline:
    now: Block
    file: str
    line: int | None
    """None if the block was removed from its file."""
    review_overdue: str | None
    versions: list[BlockVersion]
    """Newest first."""
    total: int

    @property
    def status(self) -> str | None:
        return status_of(self.now)


def status_of(block: Block) -> str | None:
    return "removed" if block.gone else block.status


def timeline_of(ctx: Context, id: str, limit: int) -> BlockTimeline | None:
    """A block, current or removed, with its newest versions; None if no block ever had this id."""
    total = blocks.count_versions(ctx, id)
    if not total:
        return None
    newest = blocks.history(ctx, id, limit + 1)  # one more, so that the oldest version shown has a diff
    now = newest[-1]
    pairs = list(zip([None, *newest], newest, strict=False))[-limit:][::-1]
    file, line = blocks.locate(ctx, [id]).get(id, (now.file, None))
    versions = [BlockVersion(total - age, old, new) for age, (old, new) in enumerate(pairs)]
    return BlockTimeline(now, file, line, blocks.overdue(ctx, [id]).get(id), versions, total)


NAMES = {
    name: tuple(kind.prefix for kind in KINDS.values() if kind.name == name)
    for name in (k.name for k in KINDS.values())
}
KNOWLEDGE = tuple(kind.prefix for kind in KINDS.values() if kind.family is not KindFamily.BOOKKEEPING)
"""Prefixes of blocks with content; the other kinds are bookkeeping."""
MOST_DIFF, MOST_SHORT_DIFF = 20_000, 2_000
SUMMARY = 160
_NEXT = Follow("next_offset", lambda whole, result: following(result["offset"], len(result["blocks"]), result["total"]))
_BEHIND = follow_after("blocks", "block_id")
BLOCKS_BUDGET = Budget(
    (
        Trim("blocks", drop="last", floor=1, follow=_NEXT, also_follow=_BEHIND),
        Clip("blocks[].says", 120),
        Trim("blocks", drop="last", follow=_NEXT, also_follow=_BEHIND),
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
    "knowledge", "any", "decision", "rule", "preference", "rejected", "lesson", "task", "project", "person", "tool",
    "incident", "fact", "contradiction", "drift", "signal", "proposal", "receipt", "summary",
]  # fmt: skip


class ListBlocks(Bounded):
    kind: Annotated[KindName, Field(description="knowledge: all that says something; any: bookkeeping too.")] = (
        "knowledge"
    )
    status: Annotated[str | None, Field(max_length=40, description="Only blocks with this status.")] = None
    words: Annotated[str, Field(max_length=400, description="Only blocks that hold all these words.")] = ""
    overdue: Annotated[bool, Field(description="Only blocks whose review date has passed.")] = False
    offset: Annotated[Whole, Field(description="How many to skip.")] = 0
    after: After = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most to show, those changed last first.")] = 50


@operation("list_blocks", mode="own", budget=BLOCKS_BUDGET, view=BARE)
def list_blocks(ctx: Context, args: ListBlocks) -> dict[str, Any]:
    """List blocks of governed memory by kind, status and words, those changed last first."""
    after = position(args.after)
    sync(ctx)
    with ctx.reading() as bound:
        wanted = _filter(bound, args)
        found = block_lists.page(bound, wanted, after, args.offset, args.limit + 1)
        shown = [_listed(block, blocks.day_of(bound.now_ms)) for block in found[: args.limit]]
        counted = block_lists.counts(bound, wanted)
        total = sum(counted.values())
        offset = args.offset if after is None else None
        return {
            "blocks": shown,
            "offset": offset,
            "total": total,
            "statuses": counted,
            "next_offset": following(offset, len(shown), total),
            "next_after": next_after(shown, "block_id", len(found) > len(shown)),
        }


def _filter(ctx: Context, args: ListBlocks) -> BlockFilter:
    prefixes = None if args.kind == "any" else KNOWLEDGE if args.kind == "knowledge" else NAMES[args.kind]
    return BlockFilter(
        prefixes,
        args.status.strip() if args.status is not None else None,
        tuple(args.words.split()),
        tuple(blocks.overdue(ctx)) if args.overdue else None,
    )


def _listed(block: Block, today: str) -> dict[str, Any]:
    return {
        "block_id": block.id,
        "kind": block.kind.name,
        "status": block.status,
        "says": shorten(block.headline or block.text, 300),
        "tags": [tag for tag in block.tags if tag != "untagged"],
        "file": block.file,
        "review_by": block.review_by,
        "review_due": blocks.is_overdue(block.id, block.status, block.review_by, today),
        "agent": block.agent,
        "ts_ms": block.ts_ms,
        "seq": block.seq,
    }


class BlockHistory(Bounded):
    block_id: Annotated[str, Field(max_length=256, description="Block id, such as D-20260213-001.")]
    limit: Annotated[int, Field(ge=1, le=100, description="Most versions to show, newest first.")] = 20


def history_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    """The statement of the block, then a line for each version and what changed in it."""
    says = f": {result['says']}" if result["says"] else ""
    head = f"{result['block_id']} ({result['kind']}, {result['status']}){says}"
    left = result["versions_total"] - len(result["versions"])
    more = [f"and {left} earlier"] if left else []
    return [head, *(line for version in result["versions"] for line in _version_lines(version)), *more]


def _version_lines(version: dict[str, Any]) -> list[str]:
    by = version.get("agent") or "nobody named"
    undone = ", rolled back" if version.get(statuses.ROLLED_BACK) else ""
    cause = f" ({version['cause']}{undone})" if version.get("cause") else ""
    became = "removed" if version["removed"] else version["status"]
    head = f"version {version['version']}, {version['ts'][:16]}, {by}: {became}{cause}"
    # The first version is all additions; its text is already in the other diffs or in the header.
    changed = (
        [line for line in version.get("diff", "").splitlines() if line[:1] in "+-"] if version["version"] > 1 else []
    )
    return [head, *(f"  {line}" for line in changed)]


@operation(
    "block_history",
    mode="own",
    budget=HISTORY_BUDGET,
    example={"block_id": "D-20260213-001"},
    view=View(bare=BARE.bare, lines=history_lines),
)
def block_history(ctx: Context, args: BlockHistory) -> dict[str, Any]:
    """Show a block with every version: what changed, who changed it, when, and which proposal and receipt did it."""
    id = check_block_id(args.block_id)
    sync(ctx)
    with ctx.reading() as bound:
        timeline = timeline_of(bound, id, args.limit)
        if timeline is None:
            way = suggest("list_blocks", "Lists the blocks there are.", "high")
            raise unknown_id("block", id, "Look the id up in the file or with list_blocks.", [way])
        return _history(bound, id, timeline)


def _history(ctx: Context, id: str, timeline: BlockTimeline) -> dict[str, Any]:
    return {
        "block_id": id,
        "kind": timeline.now.kind.name,
        "status": timeline.status,
        "says": timeline.now.headline,
        "text": timeline.now.text,
        "fields": timeline.now.fields,
        "file": timeline.file,
        "line": timeline.line,
        "review_by": timeline.now.review_by,
        "review_due": timeline.review_overdue is not None,
        "versions": [_version(ctx, version) for version in timeline.versions],
        "versions_total": timeline.total,
        "truncated": timeline.total > len(timeline.versions),
    }


def _version(ctx: Context, version: BlockVersion) -> dict[str, Any]:
    new = version.block
    receipt = receipts.of_cause(ctx, new.cause) if new.cause else None
    return {
        "version": version.number,
        **version.source(),
        "ts_ms": new.ts_ms,
        "receipt_ts": receipt.ts if receipt else None,
        statuses.ROLLED_BACK: bool(receipt and receipt.rolled_back_at_ms),
        "removed": new.gone,
        "status": new.status,
        "diff": shorten(version.diff(around=2), MOST_DIFF),
        "text": new.text,
    }


@opener("block")
def open_block(ctx: Context, id: str, limit: int, include_drafts: bool) -> dict[str, Any] | None:
    """What `open` returns for a block, current or removed; None if no block ever had this id."""
    timeline = timeline_of(ctx, id, limit)
    if timeline is None:
        return None
    now = timeline.now
    return {
        "kind": "block",
        "id": id,
        "summary": shorten(now.headline or id, SUMMARY),
        "status": timeline.status,
        "head": {"seq": now.seq, "ts": rfc3339(now.ts_ms), "ts_ms": now.ts_ms, "agent": now.agent},
        "block": {
            "id": id,
            "type": kind_of(id).name,
            "fields": now.fields,
            "text": now.text,
            "file": timeline.file,
            "line": timeline.line,
            **without_none(review_overdue=timeline.review_overdue or None),
        },
        "links": [{"rel": rel, "id": other} for rel, other in links_of(now.fields)][:limit],
        **_receipt(ctx, now),
        "history": [_short_version(version) for version in timeline.versions],
        "versions": timeline.total,
        "truncated": timeline.total > limit,
    }


def _short_version(version: BlockVersion) -> dict[str, Any]:
    """A version without its text, which the response already contains once: only the diff is shown."""
    shown = {**version.source(), "status": status_of(version.block)}
    if version.before is None or version.before.gone or version.block.gone:
        return shown
    return {**shown, "diff": shorten(version.diff(around=0), MOST_SHORT_DIFF)}


def _receipt(ctx: Context, block: Block) -> dict[str, Any]:
    """How to roll back an applied proposal."""
    found = receipts.of_proposal(ctx, block.id) if block.kind.name == "proposal" else None
    return {"receipt_ts": found.ts} if found else {}
