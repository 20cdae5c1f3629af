"""Applies the steps of a budget to a result: what is shortened, and which fields are updated to match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clew.registry.budget import Clip, Drop, Pick, Result, Step, Trim, size
from clew.registry.short_form import short_forms


def give_up(
    result: Result, step: Step, limit: int, left_out: dict[str, int], report: str | None, least: bool = False
) -> None:
    """Apply one step, as far as is needed. With `least`, a list keeps its first item in a short form."""
    for holder, name in list(places(result, step.path)):
        if isinstance(step, Trim):
            _trim(ListCut(result, holder, name, step, report), limit, left_out, least)
        elif isinstance(step, Clip):
            if _clip(holder, name, step):
                _tell(result, report, step.path, True)
        elif isinstance(step, Pick):
            if isinstance(holder[name], dict):
                holder[name] = {key: value for key, value in holder[name].items() if key in step.names}
                _tell(result, report, step.path, True)
        elif holder.pop(name, None) is not None:
            left_out[step.path] = 1
            _tell(result, report, step.path, True)


def _tell(result: Result, report: str | None, path: str, given_up: bool) -> None:
    """Update the list of truncated fields in the result, so that it is counted like the rest.

    Two levels of a path are enough, and a whole section replaces its parts.
    """
    holder = result.get(report) if report is not None else None
    if isinstance(holder, dict):
        name = _section(path)
        known = [item for item in holder["truncated_fields"] if item != name and not item.startswith(f"{name}.")]
        covered = any(name.startswith(f"{item}.") for item in known)
        holder["truncated_fields"] = [*known, name] if given_up and not covered else known


def _section(path: str) -> str:
    return ".".join(path.replace("[]", "").split(".")[:2])


def _is_reported(result: Result, report: str | None, path: str) -> bool:
    holder = result.get(report) if report is not None else None
    return isinstance(holder, dict) and _section(path) in holder["truncated_fields"]


class ListCut:
    """One list of a result while it is shortened, with the fields that depend on its length.

    These are computed again for each length that is tried, from their original state. So the size that is
    measured is the size of the response as it would be sent.
    """

    def __init__(self, result: Result, holder: dict[str, Any], name: str, step: Trim, report: str | None) -> None:
        self.result, self.holder, self.name, self.step, self.report = result, holder, name, step, report
        self.items: Any = holder[name]
        self._followers = [(follow, found) for follow in step.follows for found in self._fields(follow.path)]
        self._pages = self._fields(step.page)
        self._counts = self._fields(step.count)
        self._mores = self._fields(step.more)
        self._told = _is_reported(result, report, step.path)

    def _fields(self, path: str | None) -> list[tuple[dict[str, Any], str, Any]]:
        return [(place, field, place[field]) for place, field in places(self.result, path)] if path else []

    @property
    def foremost(self) -> Any:
        """The most important item: lists are truncated from the other end."""
        return self.items[self._first_of(1)]

    def keep(self, count: int) -> None:
        first = self._first_of(count)
        self.show(self.items[first : first + count])

    def _first_of(self, count: int) -> int:
        """Start index of a slice of this many items. Each larger slice contains all smaller ones."""
        room = len(self.items) - count
        if self.step.around is not None:
            return min(max(self._middle() - count // 2, 0), room)
        return room if self.step.drop == "first" else 0

    def _middle(self) -> int:
        """The index of the requested item; of the next one, if it is not in the list itself."""
        wanted = next((place[field] for place, field in places(self.result, self.step.around or "")), 0)
        found = (place for place, item in enumerate(self.items) if item[self.step.key] >= wanted)
        return next(found, len(self.items) - 1)

    def show(self, shown: list[Any], shortened: bool = False) -> None:
        count, whole = len(shown), len(self.items)
        self.holder[self.name] = shown
        for place, field, page in self._pages:
            place[field] = _repaged(dict(page), self.step, self.items, count)
        for follow, (place, field, before) in self._followers:
            place[field] = follow.fix(before, self.result)
        for place, field, _ in self._counts:
            place[field] = count
        for place, field, already in self._mores:
            place[field] = bool(already) or count < whole
        _tell(self.result, self.report, self.step.path, self._told or shortened or count < whole)

    def remove(self) -> None:
        """Remove the list; its counts and pagination then show that nothing of it was returned."""
        self.show([])
        del self.holder[self.name]

    def forms(self) -> list[Result]:
        """The first item in its short forms, the longest first."""
        return list(short_forms(self.foremost, *self.step.needed))


def _trim(cut: ListCut, limit: int, left_out: dict[str, int], least: bool) -> None:
    items, path = cut.items, cut.step.path
    if not isinstance(items, list) or len(items) <= cut.step.floor:
        return

    def fits(count: int) -> bool:
        cut.keep(count)
        return size(cut.result) <= limit

    # Binary search for the largest count that fits: the response only grows with the count.
    count = _most(len(items), cut.step.floor, fits)
    cut.keep(count)
    if count == 0 and _shorten(cut, limit, least):
        count, left_out[f"{path}[]"] = 1, 1
    if count < len(items):
        left_out[path] = left_out.get(path, 0) + len(items) - count


def _shorten(cut: ListCut, limit: int, least: bool) -> bool:
    """Show the first item in the longest short form that fits; returns whether there is one."""
    # The last form is the name alone; of a list that must be kept it is used when nothing else can be removed.
    forms = cut.forms()[:-1] if least else cut.forms()
    for form in forms:
        cut.show([form], shortened=True)
        if size(cut.result) <= limit:
            return True
    if not (forms and least):
        # An empty list would mean that there are no items.
        cut.remove()
    return bool(forms and least)


def keeps_a_list(step: Step, later: Sequence[Step]) -> bool:
    """Whether a step may empty a list that no later step removes: then the list was requested by the caller."""
    if not isinstance(step, Trim) or step.floor:
        return False
    return not any(isinstance(other, Drop) and f"{step.path}.".startswith(f"{other.path}.") for other in later)


def _most(high: int, low: int, fits: Callable[[int], bool]) -> int:
    """The largest count from low to high that fits; low if none does."""
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _repaged(page: dict[str, Any], step: Trim, items: list[Any], count: int) -> dict[str, Any]:
    """The pagination object for the first or last `count` of the items."""
    page = {**page, "count": count}
    if count < len(items):
        page["has_more"] = True
        page["next_cursor"] = _cursor(page, step, items, count)
    return page


def _cursor(page: dict[str, Any], step: Trim, items: list[Any], count: int) -> Any:
    first = step.drop == "first"
    kept = items[len(items) - count :] if first else items[:count]
    if step.mixed:
        dropped = items[: len(items) - count] if first else items[count:]
        newest = 1 + max(item[step.key] for item in dropped)
        return max(newest, page.get("next_cursor") or 0)
    if not kept:
        return page.get("cursor")
    return (kept[0] if first else kept[-1])[step.key]


def _clip(holder: dict[str, Any], name: str, step: Clip) -> bool:
    text = holder[name]
    if not isinstance(text, str) or len(text) <= step.chars:
        return False
    if step.whole_lines:
        holder[name] = text[: step.chars + 1].rpartition("\n")[0] or text.partition("\n")[0]
    else:
        holder[name] = text[: max(step.chars - 3, 0)] + "..."
    return True


def places(result: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
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
        yield from places(child, rest)
