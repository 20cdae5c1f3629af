"""Output budgets: each result says in which order it gives things up; the counting happens here.

A budget counts characters of the compact JSON of the result without its `budget` field. Steps are tried in order. A
step first gives up as little as is needed; only when its last resort is not enough comes the next one. So a larger
budget never shows less, and the same state and budget give the same bytes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

SMALLEST = 2
LARGEST = 1_000_000
MINIMAL: tuple[dict[str, Any], ...] = ({"signal": "minimal"}, {"signal": "min"}, {"min": True}, {})

Result = dict[str, Any]


@dataclass(frozen=True)
class Follow:
    """A field that may only speak of what a shortened list still holds, such as edges of the nodes shown.

    `mend` gets the field's value before anything was shortened and the result as it is now, and returns the new value.
    """

    path: str
    mend: Callable[[Any, Result], Any]


@dataclass(frozen=True)
class Trim:
    """Shorten a list from one end, keeping at least `floor` items.

    With `page`, the pagination object at that path is made to continue after what was kept: `key` names the field of
    an item that the cursor counts in.
    """

    path: str
    drop: str = "first"
    floor: int = 0
    page: str | None = None
    key: str = "seq"
    follow: Follow | None = None


@dataclass(frozen=True)
class Clip:
    """Cut the strings at a path (`entries[].content`) to a number of characters."""

    path: str
    chars: int


@dataclass(frozen=True)
class Drop:
    """Remove a field."""

    path: str


Step = Trim | Clip | Drop


@dataclass(frozen=True)
class Budget:
    """The default limit of an operation (one number, or one for each toolset) and what it gives up, in order."""

    steps: tuple[Step, ...] = ()
    default: int | dict[str, int] | None = None
    keep: tuple[str, ...] = ()
    """Fields that survive into the minimal answer while they fit."""

    def default_for(self, toolset: str) -> int | None:
        return self.default[toolset] if isinstance(self.default, dict) else self.default


@dataclass(frozen=True)
class Fitted:
    result: Result
    max_chars: int
    used_chars: int
    truncated: bool
    minimal: bool
    clamped: bool
    left_out: dict[str, int]


def size(value: Any) -> int:
    """Unicode characters of the compact JSON."""
    return len(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


def fit(result: Result, budget: Budget, limit: int) -> Fitted:
    """The result within `limit` characters."""
    clamped = limit < SMALLEST
    limit = max(limit, SMALLEST)
    used = size(result)
    if used <= limit:
        return Fitted(result, limit, used, False, False, clamped, {})
    shrunk = copy.deepcopy(result)
    if "truncated" in shrunk:
        shrunk["truncated"] = True
    left_out: dict[str, int] = {}
    for step in budget.steps:
        _give_up(shrunk, step, limit, left_out)
        used = size(shrunk)
        if used <= limit:
            return Fitted(shrunk, limit, used, True, False, clamped, left_out)
    smallest = _minimal(result, budget, limit)
    return Fitted(smallest, limit, size(smallest), True, True, clamped, left_out)


def escalated(default: int, needed: int) -> int:
    """The limit that a caller without a budget gets: doubled until nothing is lost, up to a hard end."""
    limit = default
    while limit < needed and limit < LARGEST:
        limit *= 2
    return min(limit, LARGEST)


def _minimal(result: Result, budget: Budget, limit: int) -> Result:
    kept = {name: result[name] for name in budget.keep if name in result}
    while kept:
        if size({**kept, "truncated": True}) <= limit:
            return {**kept, "truncated": True}
        kept.popitem()
    return next(payload for payload in MINIMAL if size(payload) <= limit)


def _give_up(result: Result, step: Step, limit: int, left_out: dict[str, int]) -> None:
    if isinstance(step, Trim):
        for holder, name in _places(result, step.path):
            _trim(result, holder, name, step, limit, left_out)
    elif isinstance(step, Clip):
        for holder, name in _places(result, step.path):
            _clip(holder, name, step.chars)
    else:
        for holder, name in _places(result, step.path):
            if holder.pop(name, None) is not None:
                left_out[step.path] = 1


def _trim(result: Result, holder: dict[str, Any], name: str, step: Trim, limit: int, left_out: dict[str, int]) -> None:
    items = holder[name]
    if not isinstance(items, list) or len(items) <= step.floor:
        return

    follow = step.follow
    followers = [(place, field, place[field]) for place, field in _places(result, follow.path)] if follow else []

    def keep(count: int) -> None:
        holder[name] = items[len(items) - count :] if step.drop == "first" else items[:count]
        if step.page:
            _repage(result, step, holder[name], len(items))
        for place, field, whole in followers:
            place[field] = follow.mend(whole, result) if follow else whole

    count = _most(len(items), step.floor, lambda count: _fits(result, keep, count, limit))
    keep(count)
    if count < len(items):
        left_out[step.path] = left_out.get(step.path, 0) + len(items) - count


def _fits(result: Result, keep: Callable[[int], None], count: int, limit: int) -> bool:
    keep(count)
    return size(result) <= limit


def _most(high: int, low: int, fits: Callable[[int], bool]) -> int:
    """The largest count from low to high that fits; low when none does."""
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _repage(result: Result, step: Trim, kept: list[Any], total: int) -> None:
    for holder, name in _places(result, step.page or ""):
        page = holder[name]
        page["count"] = len(kept)
        if len(kept) < total:
            page["has_more"] = True
            page["next_cursor"] = _edge(kept, step) if kept else page.get("cursor")


def _edge(kept: list[Any], step: Trim) -> Any:
    return (kept[0] if step.drop == "first" else kept[-1])[step.key]


def _clip(holder: dict[str, Any], name: str, chars: int) -> None:
    text = holder[name]
    if isinstance(text, str) and len(text) > chars:
        holder[name] = text[: max(chars - 3, 0)] + "..."


def _places(result: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every (object, field) that a path such as `memory.cards[].text` names and that exists."""
    head, _, rest = path.partition(".")
    name, many = (head[:-2], True) if head.endswith("[]") else (head, False)
    if not isinstance(result, dict) or name not in result:
        return
    if not rest:
        yield result, name
        return
    children = result[name] if many and isinstance(result[name], list) else [result[name]]
    for child in children:
        yield from _places(child, rest)
