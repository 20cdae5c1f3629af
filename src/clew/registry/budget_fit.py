"""Fitting a result into its budget: what is given up in which order, what is said of it, and what is left at least."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from clew.canonical import canonical
from clew.errors import warning
from clew.registry.budget import LARGEST, SMALLEST, Budget, Clip, Pick, Result, Step, Trim

MINIMAL: tuple[dict[str, Any], ...] = ({"signal": "minimal"}, {"signal": "min"}, {"min": True}, {})

UNDECLARED = 200_000
"""Most characters of an answer whose operation declares no budget: some 50,000 tokens, already too much for a model."""


class Fitted(NamedTuple):
    result: Result
    max_chars: int
    used_chars: int
    truncated: bool
    minimal: bool
    clamped: bool
    left_out: dict[str, int]


def size(value: Any) -> int:
    """Unicode characters of the compact JSON."""
    return len(canonical(value))


def fit(result: Result, budget: Budget, limit: int) -> Fitted:
    """The result within `limit` characters."""
    clamped = limit < SMALLEST
    limit = max(limit, SMALLEST)
    used = size(result)
    if used <= limit:
        return Fitted(result, limit, used, False, False, clamped, {})
    # A copy, because steps change it in place, and a minimal answer starts again from what the operation returned.
    shrunk = copy.deepcopy(result)
    # Before anything is counted: `true` is one character shorter than `false`, and the sizes must be those that are
    # sent.
    if "truncated" in shrunk:
        shrunk["truncated"] = True
    left_out: dict[str, int] = {}
    for step in budget.steps:
        _give_up(shrunk, step, limit, left_out, budget.report)
        used = size(shrunk)
        if used <= limit:
            return Fitted(shrunk, limit, used, True, False, clamped, left_out)
    # Fields that a step dropped come back as candidates for the minimal answer: there `keep` decides, not the order of
    # steps.
    smallest = _minimal({**result, **shrunk}, budget, limit, list(shrunk))
    return Fitted(smallest, limit, size(smallest), True, True, clamped, left_out)


def bounded(result: Result, budget: Budget, given: list[int], default: int | None) -> tuple[Result, Fitted | None]:
    """The result within the smallest limit given, else within the default grown to fit; with its `budget` object.

    Whoever may be cut says whether it was; an operation that cuts by itself has said so already.
    """
    result = {"truncated": False, **result}
    if not given and default is None:
        return result, None
    # A caller who names no limit never loses anything because of the default, only because of the hard end.
    limit = min(given) if given else escalated(default or 0, size(result))
    fitted = fit(result, budget, limit)
    described: Result = {
        "max_chars": fitted.max_chars,
        "used_chars": fitted.used_chars,
        "truncated": fitted.truncated,
    }
    # Handles are what a caller needs to ask for the rest, so even the smallest budget leaves them.
    described.update({name: result[name] for name in budget.handles if name in result})
    return {**fitted.result, "budget": described}, fitted


def cut(result: Result, limit: int = UNDECLARED) -> tuple[Result, dict[str, str]]:
    """A result that no budget describes, within the limit; and what the caller is told."""
    fitted = fit(result, _general_budget(result), limit)
    left = ", ".join(_descriptions(fitted.left_out)) or "long texts"
    told = warning(
        "BUDGET_TRUNCATED",
        f"Left out to keep the answer below {limit} characters: {left}",
        "Ask for less: smaller limits, or one thing at a time.",
    )
    return {**fitted.result, "truncated": True}, told


def _general_budget(result: Result) -> Budget:
    """What such a result gives up: the ends of its longest lists, then the ends of its longest texts.

    Lists inside of list items are left alone: trying out how much fits costs a look at the whole result for each.
    """
    lists, texts = _weights(result)
    longest = [path for path, _ in sorted(lists.items(), key=lambda item: (-item[1], item[0]))]
    heaviest = [path for path, _ in sorted(texts.items(), key=lambda item: (-item[1], item[0]))][:20]
    small = tuple(name for name, value in result.items() if not isinstance(value, (dict, list)) and size(value) < 1000)
    return Budget(
        (
            *(Trim(path, drop="last", floor=20) for path in longest),
            *(Clip(path, chars) for chars in (100_000, 20_000, 2_000, 200) for path in heaviest),
            *(Trim(path, drop="last") for path in longest),
        ),
        keep=small,
    )


def _weights(result: Result) -> tuple[dict[str, int], dict[str, int]]:
    """Characters in each list that is reached through objects only, and in the long texts at each path."""
    lists: dict[str, int] = {}
    texts: dict[str, int] = {}

    def walk(value: Any, path: str) -> None:
        if isinstance(value, str) and len(value) > 200:
            texts[path] = texts.get(path, 0) + len(value)
        elif isinstance(value, dict):
            for name, item in value.items():
                # Names like these would read as paths, so what is below them cannot be addressed by a step.
                if "." not in name and not name.endswith("[]"):
                    walk(item, f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            if "[]" not in path:
                lists[path] = size(value)
            for item in value:
                if isinstance(item, dict):
                    walk(item, f"{path}[]")

    walk(result, "")
    return lists, texts


def budget_warnings(fitted: Fitted) -> list[dict[str, str]]:
    """What a caller is told about what was left out."""
    found = []
    if fitted.clamped:
        found.append(warning("BUDGET_MIN_CLAMPED", f"max_chars raised to {SMALLEST}", "Give a larger max_chars."))
    if fitted.minimal:
        message = "The answer did not fit; only a signal is left"
        found.append(warning("BUDGET_MINIMAL", message, "Give a larger max_chars."))
    elif fitted.truncated:
        message = f"Left out to fit max_chars: {', '.join(_descriptions(fitted.left_out)) or 'long texts'}"
        found.append(warning("BUDGET_TRUNCATED", message, "Give a larger max_chars or smaller limits."))
    return found


def _descriptions(left_out: dict[str, int]) -> list[str]:
    """How many items of a list, or just the name of what lost something inside."""
    told = {path.split(".")[0].removesuffix("[]"): "" for path in sorted(left_out)}
    told |= {path: f"{count} of " for path, count in left_out.items() if "." not in path and count > 1}
    return [f"{count}{name}" for name, count in told.items()]


def escalated(default: int, needed: int) -> int:
    """The limit that a caller without a budget gets: doubled until nothing is lost, up to a hard end."""
    limit = default
    # Doubled, not set to what is needed: the limit that is shown stays the same while the answer grows a little.
    while limit < needed and limit < LARGEST:
        limit *= 2
    return min(limit, LARGEST)


def _minimal(result: Result, budget: Budget, limit: int, left: Sequence[str]) -> Result:
    """What the budget keeps, and as much as fits of what the steps have left: an emptied list tells what was asked for.

    An object of the first kind that does not fit is given with its plain fields, as many as fit; any other only whole,
    for half of a pagination would mislead."""
    kept: Result = {}
    for name in dict.fromkeys([*(name for name in budget.keep if name in result), *left]):
        # It is always added at the end; as a candidate it would take its room twice.
        if name == "truncated":
            continue
        # What is left for the value itself, after its key, the colon and a comma.
        room = limit - size({**kept, "truncated": True}) - len(canonical(name)) - 2
        value = result[name]
        if size(value) > room:
            value = _slim(value, room) if name in budget.keep and name != "pagination" else None
        if value is not None and size({**kept, name: value, "truncated": True}) <= limit:
            kept[name] = value
    if kept:
        return {**kept, "truncated": True}
    return next(payload for payload in MINIMAL if size(payload) <= limit)


def _slim(value: Any, room: int) -> Result | None:
    """The plain fields of an object, in their order, as far as there is room; None where there are none."""
    if not isinstance(value, dict):
        return None
    shown: Result = {}
    for name, item in value.items():
        if isinstance(item, str | int | float | bool) and size({**shown, name: item}) <= room:
            shown[name] = item
    return shown or None


def _give_up(result: Result, step: Step, limit: int, left_out: dict[str, int], report: str | None) -> None:
    for holder, name in list(_places(result, step.path)):
        if isinstance(step, Trim):
            _trim(result, holder, name, step, limit, left_out, report)
        elif isinstance(step, Clip):
            if _clip(holder, name, step.chars):
                _tell(result, report, step.path, True)
        elif isinstance(step, Pick):
            if isinstance(holder[name], dict):
                holder[name] = {key: value for key, value in holder[name].items() if key in step.names}
                _tell(result, report, step.path, True)
        elif holder.pop(name, None) is not None:
            left_out[step.path] = 1
            _tell(result, report, step.path, True)


def _tell(result: Result, report: str | None, path: str, given_up: bool) -> None:
    """Keep the list of what was given up in step with the result, so that it is counted like the rest.

    Two levels of a path say enough, and a whole section stands for its parts.
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


def _trim(
    result: Result,
    holder: dict[str, Any],
    name: str,
    step: Trim,
    limit: int,
    left_out: dict[str, int],
    report: str | None,
) -> None:
    items = holder[name]
    if not isinstance(items, list) or len(items) <= step.floor:
        return

    # What depends on the length of the list is written anew for each length that is tried, from its state before the
    # first try. So the size that is measured is the size of the answer as it would be sent, and the largest count that
    # fits can be found by halving: the answer only grows with the count.
    follow = step.follow
    followers = [(place, field, place[field]) for place, field in _places(result, follow.path)] if follow else []
    pages = [(place, field, dict(place[field])) for place, field in _places(result, step.page)] if step.page else []
    counts = list(_places(result, step.count)) if step.count else []
    mores = [(place, field, bool(place[field])) for place, field in _places(result, step.more)] if step.more else []
    before = _is_reported(result, report, step.path)

    def keep(count: int) -> None:
        holder[name] = items[len(items) - count :] if step.drop == "first" else items[:count]
        for place, field, page in pages:
            place[field] = _repaged(page, step, items, count)
        for place, field, whole in followers:
            place[field] = follow.mend(whole, result) if follow else whole
        for place, field in counts:
            place[field] = count
        for place, field, already in mores:
            place[field] = already or count < len(items)
        _tell(result, report, step.path, before or count < len(items))

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


def _clip(holder: dict[str, Any], name: str, chars: int) -> bool:
    text = holder[name]
    if not isinstance(text, str) or len(text) <= chars:
        return False
    holder[name] = text[: max(chars - 3, 0)] + "..."
    return True


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
