"""Short forms of a list item that does not fit: an empty list would say that there is nothing.

The first form keeps every field and clips the texts, so that whoever reads items finds what it looks for. The others
keep what tells the thing from others and how to ask for it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew.canonical import Json
from clew.errors import shorten

NAMES = (
    *(
        "id",
        "_id",
        "ref",
        "name",
        "event_id",
        "job_id",
        "step_id",
        "block_id",
        "proposal_id",
        "conflict_id",
        "canonical_id",
    ),
    *("runner_id", "sessionId", "thoughtNumber"),
)
"""Fields by which a thing is asked for again. The first that an item has names it."""
PLACE = "seq"
"""Where an item stands, beside its name: cursors count in it, and so do fields that follow a list."""
ELSE = ("from", "doc", "workspace", "agent", "file", "code", "task", "path")
"""What names an item that has neither an id nor a place."""
KINDS = ("event_type", "type", "kind", "intent", "severity")
STATES = ("status", "state")
TEXTS = (
    *("title", "label", "summary", "message", "statement", "says", "thought", "content", "text", "excerpt"),
    *("description", "snippet"),
)
WIDTHS = (240, 120, 60)
"""Characters of the text in a short form, the roomier ones first."""


def short_forms(item: Any, *needed: str) -> Iterator[Any]:
    """The item in fewer and fewer characters. `needed` fields stand in every form of an object."""
    if not isinstance(item, dict):
        yield from (_short(item, width) for width in (*WIDTHS, WIDTHS[-1]) if isinstance(item, str))
        return
    yield _clipped(item)
    for width in WIDTHS:
        yield labelled(item, *needed, width=width)
    yield named(item, *needed)


def labelled(item: Json, *needed: str, width: int = WIDTHS[-1]) -> Json:
    """Its name, of which kind it is, how it stands, and the beginning of what it says."""
    fields = [field for group in (KINDS, STATES) for field in _first(item, group)]
    return named(item, *needed) | {field: _short(item[field], width) for field in fields} | _words(item, width)


def _words(item: Json, width: int) -> Json:
    """The beginning of what an item says; of a message that is an object, what that says."""
    for field in TEXTS:
        value = item.get(field)
        if isinstance(value, str | int) and value != "":
            return {field: _short(value, width)}
        if isinstance(value, dict) and (told := _words(value, width)):
            return {field: told}
    return {}


def named(item: Json, *needed: str) -> Json:
    fields = _first(item, NAMES)
    if not fields and PLACE not in item:
        fields = _first(item, ELSE) or _first(item, tuple(item))
        # An edge is named by its two ends.
        fields += ["rel", "to"] if fields == ["from"] else []
    # An id is never clipped: half of it opens nothing.
    return {field: item[field] for field in (*fields, PLACE, *needed) if field in item}


def _first(item: Json, names: tuple[str, ...]) -> list[str]:
    """The first of the fields that holds something plain."""
    plain = (name for name in names if isinstance(item.get(name), str | int) and item[name] != "")
    return [name for name, _ in zip(plain, range(1), strict=False)]


def _short(value: Any, width: int) -> Any:
    return shorten(value, width) if isinstance(value, str) else value


def _clipped(value: Any) -> Any:
    if isinstance(value, dict):
        # Ids and addresses may be longer than a label, and are of no use in part.
        return {name: item if name in (*NAMES, *ELSE) else _clipped(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_clipped(item) for item in value]
    return _short(value, WIDTHS[-1])
