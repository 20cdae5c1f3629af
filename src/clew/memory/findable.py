"""What search shows of a block: its words, when it happened, who said it, and what its fields say of other blocks."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clew.ids import MENTIONED
from clew.index.items import Item
from clew.memory.grammar import Value, one_line

if TYPE_CHECKING:
    from clew.memory.blocks import Block

UNSEARCHED = frozenset(
    """
    Status Date Created ReviewBy Priority Confidence ContentHash Fingerprint Ops Tags Owner
    Type Source Proposal Action Supersedes SupersededBy Sources Diff
    """.split()  # noqa: SIM905
)
"""Fields that say something about the block and nothing about its subject."""
PLACEHOLDERS = frozenset({"", "none", "not given", "global", "untagged"})
RELATIONS = {
    "Supersedes": "supersedes",
    "SupersededBy": "superseded_by",
    "Dependencies": "depends_on",
    "DependsOn": "depends_on",
    "AlignsWith": "aligns_with",
    "Evidence": "rests_on",
    "Sources": "rests_on",
    "Contradicts": "contradicts",
}
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def searchable(block: Block) -> bool:
    """Whether search may show the block. Proposals are found through their signals."""
    kind = block.kind
    return kind.searched and (not kind.searched_as or block.status in kind.searched_as)


def item(block: Block) -> Item:
    """The search index's row for a block."""
    said = block.headline
    rest = [one_line(value) for name, value in block.fields.items() if name not in UNSEARCHED]
    told = [text for text in rest if text != said and text.lower() not in PLACEHOLDERS]
    return Item(
        ref=block.id,
        source="block",
        seq=block.seq,
        ts_ms=block.ts_ms,
        title=said or block.id,
        body="\n".join([*told, block.id]),  # the id too, because people ask by it
        kind=block.kind.name,
        tags=tuple(block.tags),
        status=block.status,
        doc=block.file,
        event_ts_ms=event_ts(block.fields.get("Date")),
        speaker=block.get("Speaker") or _tagged(block, "speaker"),
        review_by=block.review_by,
        links=links(block.fields),
    )


def _tagged(block: Block, name: str) -> str | None:
    """`speaker:ada` among the tags names the speaker."""
    return next((tag.partition(":")[2].strip() for tag in block.tags if tag.startswith(f"{name}:")), None)


def links(fields: dict[str, Value]) -> tuple[tuple[str, str], ...]:
    """What a block's fields say of others; ids elsewhere in its text count as mentions."""
    return tuple(
        (relation, id)
        for name, relation in RELATIONS.items()
        if name in fields
        for id in MENTIONED.findall(one_line(fields[name]))
    )


def event_ts(value: Value | None) -> int | None:
    """The moment a block's Date names, at the start of that day."""
    day = iso_date(value)
    try:
        return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000) if day else None
    except ValueError:
        return None


def iso_date(value: Value | None) -> str | None:
    """The first date that a field names."""
    found = _ISO_DATE.search(one_line(value))
    return found.group() if found else None
