"""Output budgets: each result declares in which order it is truncated; `budget_fit` does the counting.

A budget counts characters of the compact JSON of the result without its `budget` field. Steps are applied in order. A
step first removes as little as is needed; the next one runs only when its last resort is not enough. So a larger
budget never shows less, and the same state and budget give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from clew.canonical import Json, canonical
from clew.errors import Suggestion
from clew.registry.toolsets import tier_of

SMALLEST = 2
LARGEST = 1_000_000

Result = Json


def size(value: Any) -> int:
    """Unicode characters of the compact JSON."""
    return len(canonical(value))


class Follow(NamedTuple):
    """A field that may only refer to what a shortened list still contains, such as edges of the nodes shown.

    `mend` gets the field's value before truncation and the current result, and returns the new value.
    """

    path: str
    fix: Callable[[Any, Result], Any]


@dataclass(frozen=True)
class Trim:
    """Shorten a list from one end, keeping at least `floor` items.

    With `around`, it is shortened from both ends: that path of the result contains the `key` of the requested item,
    which is removed last.

    With `page`, the pagination object at that path is updated to continue after what was kept: `key` names the item
    field that the cursor counts in. A list without such an object may name the equivalent fields: `count`
    is set to the number of items left, `more` to true when something was left out.
    """

    path: str
    drop: str = "first"
    floor: int = 0
    page: str | None = None
    key: str = "seq"
    follow: Follow | None = None
    also_follow: Follow | None = None
    count: str | None = None
    more: str | None = None
    mixed: bool = False
    """The list is not sorted by the key: the cursor is placed right above the newest item that was left out. A reader
    who pages on may see an item twice and misses none."""
    around: str | None = None

    @property
    def follows(self) -> list[Follow]:
        return [follow for follow in (self.follow, self.also_follow) if follow is not None]

    @property
    def needed(self) -> tuple[str, ...]:
        """The fields kept in every short form of an item, because something outside of the list refers to them."""
        return (self.key,) if self.mixed or self.around else ()

    def dependents(self) -> list[str]:
        """The fields of the result that depend on the length of the list."""
        paths = [self.page, self.count, self.more, *(follow.path for follow in self.follows)]
        return [path.split(".")[0] for path in paths if path is not None]


class Clip(NamedTuple):
    """Truncate the strings at a path (`entries[].content`) to a number of characters."""

    path: str
    chars: int
    whole_lines: bool = False
    """Truncate at the end of a line, and never in the first, so that what is left can be pasted."""


class Drop(NamedTuple):
    """Remove a field."""

    path: str


class Pick(NamedTuple):
    """Keep only some fields of an object: those that identify it and retrieve it again."""

    path: str
    names: tuple[str, ...]


Step = Trim | Clip | Drop | Pick


def drops(*paths: str, of: str = "") -> tuple[Drop, ...]:
    """Remove several fields, one after the other; `of` is the prefix of their paths."""
    return tuple(Drop(of + path) for path in paths)


def shrinking(text: str, cuts: tuple[int, int], rows: Trim, *between: Step) -> tuple[Step, ...]:
    """Shorten the texts of a list, keep one item, shorten its text, and finally remove it."""
    first, last = (Clip(text, chars) for chars in cuts)
    return (first, replace(rows, floor=1), last, *between, rows)


class Budget(NamedTuple):
    """The default limit of an operation (one number, or one per toolset) and the truncation steps, in order."""

    steps: tuple[Step, ...] = ()
    default: int | dict[str, int] | None = None
    keep: tuple[str, ...] = ()
    """Fields that are kept in the minimal response while they fit."""
    report: str | None = None
    """Object whose `truncated_fields` lists what was removed, as long as the object itself is kept."""
    handles: tuple[str, ...] = ()
    """Fields that no budget removes: they are returned next to the numbers in `budget`, which are not counted."""
    once: tuple[str, ...] = ()
    """Arguments with side effects. A call that is suggested again to read its response leaves them out."""
    rest: Callable[[Result], Suggestion] | None = None
    """Maps the whole result to the read that shows what was left out, for a call that must not be repeated."""

    def default_for(self, toolset: str) -> int | None:
        return self.default[tier_of(toolset)] if isinstance(self.default, dict) else self.default
