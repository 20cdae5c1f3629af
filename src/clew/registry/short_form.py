"""Short forms of a list item that does not fit: an empty list would mean that there are no items.

The first form keeps every field and truncates the texts, so that readers find the expected fields. The others
keep the fields that identify the item and retrieve it again.
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
"""Fields by which an item is retrieved. The first that it has is its name."""
PLACE = "seq"
"""The position of an item, in addition to its name: cursors count in it, as do fields that follow a list."""
ELSE = ("from", "doc", "workspace", "agent", "file", "code", "task", "path")
"""The name of an item that has neither an id nor a position."""
KINDS = ("event_type", "type", "kind", "intent", "severity")
STATES = ("status", "state")
TEXTS = (
    *("title", "label", "summary", "message", "statement", "says", "thought", "content", "text", "excerpt"),
    *("description", "snippet"),
)
WIDTHS = (240, 120, 60)
"""Characters of the text in a short form, largest first."""


def short_forms(item: Any, *needed: str) -> Iterator[Any]:
    """The item in ever fewer characters. `needed` fields are kept in every form of an object."""
    if not isinstance(item, dict):
        yield from (_short(item, width) for width in (*WIDTHS, WIDTHS[-1]) if isinstance(item, str))
        return
    yield _clipped(item)
    for width in WIDTHS:
        yield labelled(item, *needed, width=width)
    yield named(item, *needed)


def labelled(item: Json, *needed: str, width: int = WIDTHS[-1]) -> Json:
    """Its name, kind, status, and the beginning of its text."""
    fields = [field for group in (KINDS, STATES) for field in _first(item, group)]
    return named(item, *needed) | {field: _short(item[field], width) for field in fields} | _words(item, width)


def _words(item: Json, width: int) -> Json:
    """The beginning of an item's text; of a message that is an object, the text of that."""
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
    # An id is never truncated: half of it retrieves nothing.
    return {field: item[field] for field in (*fields, PLACE, *needed) if field in item}


def _first(item: Json, names: tuple[str, ...]) -> list[str]:
    """The first of the fields that has a scalar value."""
    plain = (name for name in names if isinstance(item.get(name), str | int) and item[name] != "")
    return [name for name, _ in zip(plain, range(1), strict=False)]


def _short(value: Any, width: int) -> Any:
    return shorten(value, width) if isinstance(value, str) else value


def _clipped(value: Any) -> Any:
    if isinstance(value, dict):
        # Ids and addresses may be longer than a label, and are useless in part.
        return {name: item if name in (*NAMES, *ELSE) else _clipped(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_clipped(item) for item in value]
    return _short(value, WIDTHS[-1])
