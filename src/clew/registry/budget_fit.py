"""Fits a result into its budget: what is removed in which order, how it is reported, and what is always kept."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from clew.errors import warning
from clew.registry.budget import LARGEST, SMALLEST, Budget, Clip, Result, Trim, size
from clew.registry.budget_steps import ListCut, give_up, keeps_a_list, places
from clew.registry.short_form import NAMES, named

MINIMAL: tuple[dict[str, Any], ...] = ({"signal": "minimal"}, {"signal": "min"}, {"min": True}, {})

UNDECLARED = 200_000
"""Maximum characters of a response without a declared budget: some 50,000 tokens, already too much for a model."""


class Fitted(NamedTuple):
    result: Result
    max_chars: int
    used_chars: int
    truncated: bool
    minimal: bool
    clamped: bool
    left_out: dict[str, int]


def fit(result: Result, budget: Budget, limit: int) -> Fitted:
    """The result within `limit` characters."""
    clamped = limit < SMALLEST
    limit = max(limit, SMALLEST)
    used = size(result)
    if used <= limit:
        return Fitted(result, limit, used, False, False, clamped, {})
    # A copy, because steps change it in place, and a minimal response starts again from the original result.
    shrunk = copy.deepcopy(result)
    # Before anything is counted: `true` is one character shorter than `false`, and the sizes must be those that are
    # sent.
    if "truncated" in shrunk:
        shrunk["truncated"] = True
    left_out: dict[str, int] = {}
    for place, step in enumerate(budget.steps):
        give_up(shrunk, step, limit, left_out, budget.report, keeps_a_list(step, budget.steps[place + 1 :]))
        used = size(shrunk)
        if used <= limit:
            return Fitted(shrunk, limit, used, True, False, clamped, left_out)
    for step in asked_for(budget):
        _name_only(shrunk, step)
    smallest = _minimal(result, shrunk, budget, limit)
    left_out |= {name: len(items) - len(smallest.get(name, ())) for name, items in _lists(result).items()}
    return Fitted(smallest, limit, size(smallest), True, True, clamped, left_out)


def _lists(result: Result) -> dict[str, list[Any]]:
    return {name: items for name, items in result.items() if isinstance(items, list)}


def asked_for(budget: Budget) -> list[Trim]:
    """The lists that are never emptied while the name of an item fits; the most important one comes last."""
    found: dict[str, Trim] = {}
    for place, step in enumerate(budget.steps):
        if isinstance(step, Trim) and keeps_a_list(step, budget.steps[place + 1 :]):
            found[step.path] = step
    return list(found.values())


def _name_only(result: Result, step: Trim) -> None:
    for holder, name in places(result, step.path):
        items = holder[name]
        if isinstance(items, list) and len(items) == 1 and isinstance(items[0], dict):
            holder[name] = [named(items[0], *step.needed)]


def bounded(result: Result, budget: Budget, given: list[int], default: int | None) -> tuple[Result, Fitted | None]:
    """The result within the smallest limit given, else within the default grown to fit; with its `budget` object.

    The object reports whether anything was truncated; an operation that truncates by itself has reported it already.
    """
    result = {"truncated": False, **result}
    if not given and default is None:
        return result, None
    # A caller without a limit loses nothing to the default, only to the hard maximum.
    limit = min(given) if given else escalated(default or 0, size(result))
    fitted = fit(result, budget, limit)
    described: Result = {
        "max_chars": fitted.max_chars,
        "used_chars": fitted.used_chars,
        "truncated": fitted.truncated,
    }
    # Handles are needed to request the rest, so even the smallest budget keeps them.
    described.update({name: result[name] for name in budget.handles if name in result})
    return {**fitted.result, "budget": described}, fitted


def cut(result: Result, limit: int = UNDECLARED) -> tuple[Result, dict[str, str]]:
    """A result without a declared budget, truncated to the limit; and the fields for the report to the caller."""
    fitted = fit(result, _general_budget(result), limit)
    left = ", ".join(_descriptions(fitted.left_out)) or "long texts"
    told = warning(
        "BUDGET_TRUNCATED",
        f"Left out to keep the answer below {limit} characters: {left}",
        "Ask for less: smaller limits, or one thing at a time.",
    )
    return {**fitted.result, "truncated": True}, told


def _general_budget(result: Result) -> Budget:
    """The steps for such a result: the ends of its longest lists, then the ends of its longest texts.

    Lists inside of list items are skipped: trying out how much fits would serialize the whole result for each.
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
                # Names like these would read as paths, so no step can address what is below them.
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
    """Warnings about what was left out."""
    found = []
    if fitted.clamped:
        found.append(warning("BUDGET_MIN_CLAMPED", f"max_chars raised to {SMALLEST}", "Give a larger max_chars."))
    if fitted.minimal:
        found.append(warning("BUDGET_MINIMAL", f"The answer did not fit; {_left(fitted)}", "Give a larger max_chars."))
    elif fitted.truncated:
        message = f"Left out to fit max_chars: {', '.join(_descriptions(fitted.left_out)) or 'long texts'}"
        found.append(warning("BUDGET_TRUNCATED", message, "Give a larger max_chars or smaller limits."))
    return found


def _left(fitted: Fitted) -> str:
    names = [name for name in fitted.result if name != "truncated"]
    if fitted.result in MINIMAL or not names:
        return "only a signal is left"
    shown = {name: len(fitted.result[name]) for name in names if isinstance(fitted.result[name], list)}
    of = {name: f" ({count} of {count + fitted.left_out.get(name, 0)})" for name, count in shown.items()}
    return f"left of it: {', '.join(name + of.get(name, '') for name in names)}"


def _descriptions(left_out: dict[str, int]) -> list[str]:
    """Per list the number of items left out, else just the name of the field that was shortened."""
    told = {path.split(".")[0].removesuffix("[]"): "" for path in sorted(left_out)}
    told |= {path: f"{count} of " for path, count in left_out.items() if "." not in path and count > 1}
    return [f"{count}{name}" for name, count in told.items()]


def escalated(default: int, needed: int) -> int:
    """The limit of a caller without a budget: doubled until nothing is lost, up to a hard maximum."""
    limit = default
    # Doubled, not set to what is needed: the limit that is shown stays the same while the response grows a little.
    while limit < needed and limit < LARGEST:
        limit *= 2
    return min(limit, LARGEST)


def _minimal(result: Result, shrunk: Result, budget: Budget, limit: int) -> Result:
    """The minimal response if no step is enough: each candidate that still fits, in order."""
    kept: Result = {}
    for name, value in _candidates(result, shrunk, budget, kept):
        fitting = _as_fits(name, value, budget, limit - size({**kept, name: 0, "truncated": True}) + 1)
        if fitting is not None:
            kept[name] = fitting
    if kept:
        return {**kept, "truncated": True}
    return next(payload for payload in MINIMAL if size(payload) <= limit)


def _candidates(result: Result, shrunk: Result, budget: Budget, kept: Result) -> Iterator[tuple[str, Any]]:
    """Fields that a minimal response may show, the most important first; a later value of a field is a fuller one.

    The name of the requested record, the list that is truncated last with one item, the counts and pagination of that
    list, the fields that the budget keeps, a label for the item, and whatever else the steps have left. Fields that a
    step dropped come back as candidates: here `keep` decides. `kept` is what was shown so far.
    """
    subject, last = _subject(result, budget), _last_trim(budget)
    yield from subject.items()
    yield from _last_list(shrunk, last).items()
    listed = kept.keys() - subject.keys()
    if listed:
        yield from _named(last.dependents(), shrunk)
    dependents = {"truncated"}.union(*(step.dependents() for step in asked_for(budget)))
    keeps = [name for name in budget.keep if name not in dependents | listed]
    yield from _named(keeps, {**result, **shrunk})
    labelled = listed & _lists(shrunk).keys()
    for name in labelled:
        cut = ListCut(result, result, name, last, None)
        yield from ((name, [form]) for form in reversed(cut.forms()))
    yield from _named([name for name in shrunk if name not in dependents.union(keeps, labelled)], shrunk)


def _named(names: Iterable[str], values: Result) -> Iterator[tuple[str, Any]]:
    return ((name, values[name]) for name in names if name in values)


def _as_fits(name: str, value: Any, budget: Budget, room: int) -> Any:
    """A value that fits the room; None if it does not fit.

    An object that the budget keeps is returned with as many scalar fields as fit; any other only whole, because half
    of a pagination object would mislead.
    """
    if size(value) <= room:
        return value
    return _slim(value, room) if name in budget.keep and name != "pagination" else None


def _subject(result: Result, budget: Budget) -> Result:
    """The subject of a response, by its name alone: the first field that the budget keeps, if that is an object."""
    field = budget.keep[0] if budget.keep else ""
    thing = result.get(field)
    called = _called(thing) if isinstance(thing, dict) else {}
    return {field: called} if called else {}


def _called(thing: Result) -> Result:
    """The fields that name a record, if it has an id."""
    name = next((name for name in NAMES if isinstance(thing.get(name), str)), None)
    return {} if name is None else {name: thing[name]}


def _last_trim(budget: Budget) -> Trim:
    """The step that would empty the most important list."""
    last = budget.steps[-1] if budget.steps else None
    return last if isinstance(last, Trim) and not last.floor else Trim("")


def _last_list(shrunk: Result, step: Trim) -> Result:
    """The list that the last step would empty, alone at its path; empty if the list is empty."""
    for holder, name in places(shrunk, step.path):
        value: Any = holder[name]
        for part in reversed(step.path.split(".")):
            value = {part: value}
        return dict(value) if holder[name] else {}
    return {}


def _slim(value: Any, room: int) -> Result | None:
    """An object without its lists, in its order, as far as it fits; None if nothing is left.

    Its name comes first, and without its name nothing else is included.
    """
    if not isinstance(value, dict):
        return None
    shown = _called(value)
    if size(shown) > room:
        return None
    for name, item in value.items():
        left = room - size({**shown, name: 0}) + 1
        part = item if isinstance(item, str | int | float | bool) else _slim(item, left)
        if part is not None and size(part) <= left:
            shown[name] = part
    return shown or None
