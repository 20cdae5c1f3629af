"""A block as an item of the search index: the text that is searched, its kind, and its links."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from clew.ids import MENTIONED
from clew.index.items import Item
from clew.kinds.catalogue import durable_kinds
from clew.memory.files.markdown import Value, one_line
from clew.memory.kinds import prefix_of, put_away

if TYPE_CHECKING:
    from clew.memory.blocks import Block

UNSEARCHED = frozenset(
    """
    Status Date Created ReviewBy Priority Confidence ContentHash Fingerprint Digest Ops Tags Owner
    Type Source Proposal Action Supersedes SupersededBy Sources Diff RestsOn HoldsBeside Author DiaID
    GuardPaths GuardCommands GuardMust GuardMustNot GuardAction GuardMessage
    """.split()  # noqa: SIM905
)
"""Fields about the block itself rather than its subject; not searched."""
MOST_BODY = 200_000
"""Maximum characters of a block that are indexed: indexing a megabyte takes seconds and blocks other writers."""
PLACEHOLDERS = frozenset({"", "none", "not given", "global", "untagged"})
RELATIONS = {
    "Supersedes": "supersedes",
    "SupersededBy": "superseded_by",
    "Dependencies": "depends_on",
    "DependsOn": "depends_on",
    "AlignsWith": "aligns_with",
    "Evidence": "rests_on",
    "Sources": "rests_on",
    "RestsOn": "rests_on",
    "Contradicts": "contradicts",
}
_SHORT = re.compile(rf"(?<![\w-])(?:{'|'.join(kind.prefix for kind in durable_kinds())})-\d{{1,7}}(?![\w-])")
"""Ids of durable records, in fields that contain only ids; in prose `F-16` would match too."""
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
TALK = ("DIA", "FACT")
"""Prefixes of conversation turns and of facts drawn from them, whose ids name neither speaker nor turn."""


def searchable(block: Block) -> bool:
    """Whether search may return the block. Proposals are found through their signals.

    Private and archived blocks (`agents/<id>/`, `*_ARCHIVE.md`) are kept, but not searched.
    """
    kind = block.kind
    if not kind.searched or put_away(block.file):
        return False
    return block.status not in kind.hidden_as and (not kind.searched_as or block.status in kind.searched_as)


NO_PREVIEW = UNSEARCHED | {"Scope", "Task", "Step", "History", "Rationale", "Title"}
"""Fields that a line about a block omits, or shows separately."""


def sentence(block: Block) -> str:
    """`Title: what. Why: reason. About: files`; a title that the statement begins with is not repeated."""
    said, title = block.headline, block.get("Title")
    named = f"{title.rstrip('.:')}: " if title and not said.startswith(title.rstrip("….")) else ""
    rest = {name: block.get(name) for name in block.fields if name not in NO_PREVIEW}
    parts = {"Why": block.get("Rationale"), **{name: value for name, value in rest.items() if value != said}}
    told = [f"{name}: {value}" for name, value in parts.items() if value.lower() not in PLACEHOLDERS]
    *before, last = [f"{named}{said}", *told]
    return " ".join([*map(_ended, before), last])


def _ended(part: str) -> str:
    return part if part.endswith((".", "!", "?", ":", ";")) else f"{part}."


def search_item(block: Block) -> Item:
    """The search index's row for a block."""
    said = block.headline
    values = [one_line(value) for name, value in block.fields.items() if name not in UNSEARCHED]
    rest = [text for text in values if text != said and text.lower() not in PLACEHOLDERS]
    tags = block.tags
    return Item(
        ref=block.id,
        source="block",
        seq=block.seq,
        ts_ms=block.ts_ms,
        title=said or block.id,
        body="\n".join([*rest, block.id])[:MOST_BODY],  # the id too, because people search for it
        kind=block.kind.name,
        tags=tuple(tags),
        status=block.status,
        doc=block.file,
        event_ts_ms=event_ts(block.fields.get("Date")),
        speaker=speaker_of(block, tags),
        review_by=block.review_by,
        links=links_of(block.fields),
    )


def speaker_of(block: Block, tags: list[str] | None = None) -> str | None:
    """The speaker in a field or tag (`speaker:ada`), or in a conversation the first tag like a name
    (`FACT, Caroline`)."""
    tags = block.tags if tags is None else tags
    said = [tag.partition(":")[2].strip() for tag in tags if tag.startswith("speaker:")]
    names = [tag for tag in tags if tag.istitle()] if prefix_of(block.id) in TALK else []
    return block.get("Speaker") or next(iter(said), None) or next(iter(names), None)


def links_of(fields: dict[str, Value]) -> tuple[tuple[str, str], ...]:
    """Relations to other blocks in the fields. Ids elsewhere in the text count as mentions."""
    named = [(relation, one_line(fields[name])) for name, relation in RELATIONS.items() if name in fields]
    return tuple(
        (relation, id)
        for relation, text in named
        if text not in PLACEHOLDERS
        for id in dict.fromkeys([*MENTIONED.findall(text), *_SHORT.findall(text)])
    )


def event_ts(value: Value | None) -> int | None:
    """The timestamp of a block's Date, at the start of that day."""
    day = iso_date(value)
    return _start_of(day) if day else None


@lru_cache(maxsize=4096)
def _start_of(day: str) -> int | None:
    try:
        return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return None


def iso_date(value: Value | None) -> str | None:
    """The first date in a field."""
    found = _ISO_DATE.search(one_line(value))
    return found.group() if found else None
