"""How a block became what it is: its newest versions, what each changed, and where it stands now.

`open` shows it among all other ids, `block_history` with all there is to say of each version.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from clew.clock import rfc3339
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.scan import overdue
from clew.registry.context import Context


@dataclass(frozen=True)
class Version:
    number: int
    before: Block | None
    block: Block

    def shown(self) -> dict[str, Any]:
        """`origin` says by what way the version came, `cause` which proposal brought it."""
        return {
            "seq": self.block.seq,
            "ts": rfc3339(self.block.ts_ms),
            "agent": self.block.agent,
            "origin": self.block.origin,
            "cause": self.block.cause,
        }

    def diff(self, around: int) -> str:
        """The changed lines with a few around them; a first version is all new, a removal all gone."""
        before = self.before.text.splitlines() if self.before and not self.before.gone else []
        after = [] if self.block.gone else self.block.text.splitlines()
        return "\n".join(list(unified_diff(before, after, lineterm="", n=around))[2:])


@dataclass(frozen=True)
class Past:
    now: Block
    file: str
    line: int | None
    """None when it stands in no file any more."""
    review_overdue: str | None
    versions: list[Version]
    """Newest first."""
    total: int

    @property
    def status(self) -> str | None:
        return status_of(self.now)


def status_of(block: Block) -> str | None:
    return "removed" if block.gone else block.status


def past_of(ctx: Context, id: str, limit: int) -> Past | None:
    """A block that is or was, with its newest versions; None when there never was one of this id."""
    total = blocks.count_versions(ctx, id)
    if not total:
        return None
    newest = blocks.history(ctx, id, limit + 1)  # one more: the oldest shown says what it changed
    now = newest[-1]
    pairs = list(zip([None, *newest], newest, strict=False))[-limit:][::-1]
    file, line = blocks.locate(ctx, [id]).get(id, (now.file, None))
    versions = [Version(total - age, old, new) for age, (old, new) in enumerate(pairs)]
    return Past(now, file, line, overdue(ctx, [id]).get(id), versions, total)
