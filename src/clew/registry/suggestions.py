"""Suggestions that fit the listed tools: hidden ones are replaced by a listed equivalent or disclosed first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from annotated_types import Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clew.canonical import Json
from clew.errors import Suggestion, suggest
from clew.registry.budget import Budget, size
from clew.registry.budget_fit import bounded, budget_warnings, escalated
from clew.registry.catalogue import TIERS, Catalogue
from clew.registry.context import Context
from clew.registry.toolsets import tier_of

_INSTEAD = {
    "init": "status",
    "tasks_context": "tasks_snapshot",
    "tasks_resume": "tasks_snapshot",
    "tasks_resume_pack": "tasks_snapshot",
    "tasks_resume_super": "tasks_snapshot",
}
_ONE = frozenset({"task", "plan", "target"})
_PAGES = frozenset({"tasks_cursor", "plans_cursor"})
_KEPT = {
    "tasks_snapshot": frozenset(
        {"workspace", "task", "plan", "target", "max_chars", "read_only", "view"}
        | {f"{part}_cursor" for part in ("notes", "trace", "cards", "graph_diff")}
    ),
    "status": frozenset({"workspace"}),
}


def fitted(suggestions: list[Suggestion], catalogue: Catalogue, toolset: str) -> list[Suggestion]:
    """Each suggestion once, each either listed in this toolset or preceded by the call that lists it."""
    if toolset == "agent":
        return _by_name(suggestions, catalogue)
    result: list[Suggestion] = []
    for suggestion in suggestions:
        swapped = _swapped(suggestion, toolset)
        if swapped not in result:
            result.append(swapped)
    return list(_disclosed(result, catalogue, toolset))


def _disclosed(suggestions: list[Suggestion], catalogue: Catalogue, toolset: str) -> Iterator[Suggestion]:
    """Each suggestion, preceded by the smallest tier that lists it if the toolset does not, and no earlier tier
    does."""
    told = -1
    for suggestion in suggestions:
        if suggestion["action"] == "call_method":
            told = max(told, TIERS.index(suggestion["params"]["toolset"]))
        entry = catalogue.find(suggestion.get("target", ""))
        if entry is not None and not catalogue.lists(toolset, entry) and TIERS.index(entry.tier) > told:
            told = TIERS.index(entry.tier)
            yield disclosure(entry.tier)
        yield suggestion


def _by_name(suggestions: list[Suggestion], catalogue: Catalogue) -> list[Suggestion]:
    """For the toolset `agent`: unlisted operations are called through op_read or op_call."""
    result: list[Suggestion] = []
    for suggestion in suggestions:
        entry = catalogue.find(suggestion.get("target", ""))
        if entry is not None and entry.name == "op_search":
            # An exact name shows its arguments without further options, and `detail` is not listed.
            suggestion = {**suggestion, "params": {"query": suggestion["params"]["query"]}}
        if entry is not None and not (catalogue.lists("agent", entry) and _is_listed(suggestion, catalogue)):
            # Clients may approve op_read once and for all, so reads go through it.
            through = "op_read" if entry.read_only else "op_call"
            suggestion = {
                **suggestion,
                "target": through,
                "params": {"name": entry.name, "arguments": suggestion["params"]},
            }
        if suggestion not in result:
            result.append(suggestion)
    return result


def _is_listed(suggestion: Suggestion, catalogue: Catalogue) -> bool:
    """Whether the tool takes these arguments as `tools/list` publishes it; the operation itself may accept more."""
    target = suggestion["target"]
    shown = next(entry for entry in catalogue.listed("agent") if target in (entry.name, *entry.aliases))
    return set(suggestion["params"]) - {"workspace", "fmt"} <= set(shown.input_schema.get("properties", {}))


def disclosure(tier: str) -> Suggestion:
    return {
        "action": "call_method",
        "method": "tools/list",
        "reason": "Lists the operation that the next suggestion calls.",
        "priority": "high",
        "validated": True,
        "params": {"toolset": tier},
    }


def _swapped(suggestion: Suggestion, toolset: str) -> Suggestion:
    target = suggestion.get("target", "")
    if tier_of(toolset) == "full" or target not in _INSTEAD:
        return suggestion
    given = set(suggestion["params"])
    # A list, or a page of one, cannot be replaced by a read of one record.
    if target == "tasks_context" and (not _ONE & given or given & _PAGES):
        return suggestion
    instead = _INSTEAD[target]
    params: Json = {k: v for k, v in suggestion["params"].items() if k in _KEPT[instead]}
    return {**suggestion, "target": instead, "params": params}


LEAST_ROOM = 1_000
"""The smallest budget that is suggested; larger ones are twice, four times, ... as large."""


class PartBudget(NamedTuple):
    """The budget of a part: the caller's, else a default that grows as needed."""

    budget: Budget
    given: int | None
    default: int | None


def with_room(target: str, whole: int, own: Json, reason: str = "The same with a larger budget.") -> Suggestion:
    """The call with a budget that fits a response of so many characters, also when it has grown by a quarter."""
    kept = {name: value for name, value in own.items() if name != "context_budget"}
    return suggest(target, reason, "medium", **(kept | {"max_chars": escalated(LEAST_ROOM, whole + whole // 4)}))


def bounded_part(ctx: Context, whole: Json, limit: PartBudget, target: str, own: Json) -> Json:
    """A part of a response with a budget of its own.

    A warning reports what did not fit, and the call that shows all of it comes first: the operation itself is complete.
    """
    shown, fitted = bounded(whole, limit.budget, [] if limit.given is None else [limit.given], limit.default)
    if fitted is not None:
        ctx.remarks.warnings.extend(budget_warnings(fitted))
        if fitted.truncated:
            ctx.remarks.suggestions.insert(0, with_room(target, size(whole), own, "Gives all of it."))
    return shown


def next_page(shown: Json, model: type[BaseModel], own: Json) -> Json | None:
    """The arguments for the next page, whatever the operation calls them; None if there are no more items."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    parts = _next_parts(shown, fields, own)
    if parts:
        return parts
    page = shown["pagination"] if isinstance(shown.get("pagination"), dict) else shown
    more = _has_more(page) or _has_more(shown)
    if more and page.get("next_cursor") is not None:
        cursors = [name for name in ("cursor", "since", "before", "after") if name in fields]
        return {cursors[0]: page["next_cursor"]} if cursors else None
    if not more and shown.get("next_offset") is None and not shown.get("truncated"):
        return None
    count = shown.get("count", page.get("count"))
    return _next_place(shown, list(fields), own, count, more) or _longer_lists(model, own)


def _next_place(shown: Json, fields: list[str], own: Json, count: object, more: bool) -> Json | None:
    # A result that contains the cursor names it after the argument: next_after_seq, next_before_seq.
    places = {name: shown[f"next_{name}"] for name in fields if shown.get(f"next_{name}") is not None}
    # A cursor stays valid while records are added before it, an offset does not.
    for name in ("after", "offset"):
        if name in places:
            return {name: places[name]}
    if more and not places and "offset" in fields and isinstance(count, int):
        return {"offset": own.get("offset", 0) + count}
    return places if more else None


def _has_more(page: Json) -> bool:
    return any(page.get(name) for name in ("has_more", "hasMore", "has_more_events"))


def leads_to(following: Json) -> str:
    """Description of what `next_page` returns: most lists have pages, the others grow."""
    grows = all(name == "limit" or name.startswith("limit_") or name.endswith("_limit") for name in following)
    return "The same with a longer list." if grows else "The next page."


def _next_parts(shown: Json, fields: Mapping[str, FieldInfo], own: Json) -> Json:
    """For a response with several lists: the next page of each, or a higher limit if it cannot be paged."""
    following: Json = {}
    for name, page in _parts(shown):
        cursor, limit = f"{name}_cursor", f"{name}_limit"
        if cursor in fields and page.get("next_cursor") is not None:
            following[cursor] = page["next_cursor"]
        elif limit in fields and isinstance(now := own.get(limit, page.get("limit")), int):
            following |= _longer(fields[limit], limit, now)
    return following


def _parts(shown: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """The nested pagination objects that have more, by the name of their list: notes.pagination, cards_pagination."""
    for key, value in shown.items():
        if not isinstance(value, dict):
            continue
        if key != "pagination" and not key.endswith("_pagination"):
            yield from _parts(value, key)
        elif value.get("has_more") and (named := name if key == "pagination" else key.removesuffix("_pagination")):
            yield named, value


def _longer_lists(model: type[BaseModel], own: Json) -> Json | None:
    """For lists that cannot be paged: each of their limits doubled."""
    longer: Json = {}
    for name, field in model.model_fields.items():
        now = own.get(name, field.default)
        if (name == "limit" or name.startswith("limit_")) and isinstance(now, int):
            longer |= _longer(field, name, now)
    return longer or None


def _longer(field: FieldInfo, name: str, now: int) -> Json:
    """Double the limit, up to the argument's maximum; empty if it is there already."""
    most = next((rule.le for rule in field.metadata if isinstance(rule, Le)), None)
    longer = 2 * max(now, 1) if most is None else min(2 * max(now, 1), int(str(most)))
    return {name: longer} if longer > now else {}
