"""Cursors for lists that are ordered by change: the next page continues there, whatever was added since."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, shorten
from clew.registry.budget import Follow
from clew.store.conditions import Position

MOST_AFTER = 300
After = Annotated[
    str | None,
    Field(max_length=MOST_AFTER, description="Continue behind this place: next_after of the page before; not offset."),
]


def position(after: str | None) -> Position | None:
    """Parse the cursor that a caller sent back as `after`."""
    if after is None:
        return None
    seq, colon, id = after.partition(":")
    if not (colon and seq.isdecimal() and len(seq) < 19 and id):
        said = f"after: {shorten(after, 60)!r} is no place in a list"
        raise ClewError("INVALID_INPUT", said, "Send next_after of the page before, or leave it out.")
    return Position(int(seq), id)


def following(offset: int | None, shown: int, total: int) -> int | None:
    """The offset of the next page; None after the last record, or if pages use a cursor."""
    return offset + shown if offset is not None and offset + shown < total else None


def next_after(records: list[Json], id_name: str, more: bool) -> str | None:
    """The cursor of the last record that is shown; None if there are no more."""
    return str(Position(records[-1]["seq"], records[-1][id_name])) if records and more else None


def follow_after(list_name: str, id_name: str) -> Follow:
    """For a budget that truncates the list: more records follow those that are kept."""
    return Follow("next_after", lambda _whole, result: next_after(result[list_name], id_name, more=True))
