"""Sequential thinking: numbered steps of a trace with revisions and branches; checks them and builds their graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

from clew.errors import warning
from clew.registry.budget import Follow

STEP, SEQUENTIAL = "trace_step", "trace_sequential_step"
Metadata = Mapping[str, Any]
Json = dict[str, Any]
Key = tuple[str, int]
Places = dict[int, list[str]]
KEYS = (
    "thoughtNumber",
    "totalThoughts",
    "nextThoughtNeeded",
    "branchFromThought",
    "branchFromBranch",
    "branchId",
    "isRevision",
    "revisesThought",
)
MOST_WARNINGS = 2


def is_number(value: Any) -> TypeGuard[int]:
    """Whether a value is the number of a thought: an integer from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def lint(meta: Metadata | None) -> list[dict[str, str]]:
    """Warnings about a step's sequential metadata, at most MOST_WARNINGS, so that they are read."""
    if not meta or not any(key in meta for key in KEYS):
        return []
    return [_remark(code, text) for code, text in _oddities(meta)][:MOST_WARNINGS]


_FORMS: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "branchFromThought": (is_number, "INVALID_BRANCH_FROM", "the number of a thought"),
    "branchId": (lambda it: isinstance(it, str) and bool(it.strip()), "INVALID_BRANCH_ID", "a non-empty text"),
    "revisesThought": (is_number, "INVALID_REVISES", "the number of a thought"),
    "totalThoughts": (is_number, "INVALID_TOTAL", "a whole number from 1"),
    "nextThoughtNeeded": (lambda it: isinstance(it, bool), "INVALID_NEXT_NEEDED", "true or false"),
}
"""Optional fields: their condition, the error code, and the rule as text."""


def _oddities(meta: Metadata) -> Iterable[tuple[str, str]]:
    number, total = meta.get("thoughtNumber"), meta.get("totalThoughts")
    if number is None:
        yield "MISSING_THOUGHT_NUMBER", "thoughtNumber is missing, so the step has no place in the sequence"
    elif not is_number(number):
        yield "INVALID_THOUGHT_NUMBER", "thoughtNumber must be a whole number from 1"
    for name, (is_valid, code, rule) in _FORMS.items():
        if name in meta and not is_valid(meta[name]):
            yield code, f"{name} must be {rule}"
    if meta.get("isRevision") is True and meta.get("revisesThought") is None:
        yield "REVISION_WITHOUT_REVISES", "isRevision is set, but revisesThought does not say what is revised"
    if is_number(number) and is_number(total) and total < number:
        yield "TOTAL_BELOW_NUMBER", "totalThoughts is smaller than thoughtNumber"


def _remark(code: str, text: str) -> dict[str, str]:
    return warning(f"TRACE_SEQ_META_{code}", text, "Correct the metadata, or use trace_sequential_step.")


def sequential_graph(entries: Iterable[Json]) -> Json | None:
    """The graph of the numbered steps among these entries; None if there are none.

    Most traces number their steps throughout, but a thought session numbers each branch separately. So a step is
    identified by branchId and number together. An edge names the branch it leads to, and the branch it comes from only
    if the number alone is ambiguous.
    """
    steps = {_key(step): step for step in map(_step, entries) if step is not None}
    if not steps:
        return None
    places = _places(steps)
    missing: dict[str, set[int]] = {"branchFromThought": set(), "revisesThought": set()}
    edges = []
    for key in sorted(steps, key=_order):
        for field, rel, origins in _origins(steps[key]):
            found = _first_known(origins, steps, places)
            if found is not None:
                edges.append(_edge(rel, found, key, places))
            else:
                missing[field].add(origins[0][1])
    return {
        "nodes": [steps[key] for key in sorted(steps, key=_order)],
        "edges": edges,
        "missing": {field: sorted(numbers) for field, numbers in missing.items()},
    }


def _key(step: Json) -> Key:
    return str(step.get("branchId") or ""), step["thoughtNumber"]


def _order(key: Key) -> tuple[int, str]:
    return key[1], key[0]


def _places(steps: Iterable[Key]) -> Places:
    """For each number the branches on which it occurs."""
    found: Places = {}
    for branch, number in steps:
        found.setdefault(number, []).append(branch)
    return found


def _first_known(origins: list[Key], steps: Mapping[Key, Json], places: Places) -> Key | None:
    for origin in origins:
        if origin in steps:
            return origin
    # A number that occurs on one branch only is not ambiguous.
    number = origins[0][1]
    return (places[number][0], number) if len(places.get(number, ())) == 1 else None


def _edge(rel: str, origin: Key, target: Key, places: Places) -> Json:
    base = {"fromBranchId": origin[0]} if origin[0] and len(places[origin[1]]) > 1 else {}
    return {"rel": rel, "from": origin[1], "to": target[1], **base, **({"branchId": target[0]} if target[0] else {})}


def _step(entry: Json) -> Json | None:
    meta = entry.get("meta")
    if entry.get("format") not in (STEP, SEQUENTIAL) or not isinstance(meta, dict):
        return None
    if not is_number(meta.get("thoughtNumber")):
        return None
    revision = {"isRevision": meta.get("isRevision") is True, "revisesThought": meta.get("revisesThought")}
    given = {key: meta[key] for key in KEYS if key in meta}
    return {**given, **revision, "seq": entry["seq"], "ts_ms": entry["ts_ms"]}


def _origins(step: Json) -> Iterable[tuple[str, str, list[Key]]]:
    """The thoughts that a step branches from or revises, each with the branches where it may be, likeliest first."""
    if is_number(step.get("branchFromThought")):
        base = str(step.get("branchFromBranch") or "")
        yield "branchFromThought", "branch", [(base, step["branchFromThought"])]
    if step.get("isRevision") is True and is_number(step.get("revisesThought")):
        number = step["revisesThought"]
        own, base = _key(step)[0], str(step.get("branchFromBranch") or "")
        yield "revisesThought", "revision", [(own, number), (base, number), ("", number)]


def following(entries: str, path: str = "sequential") -> Follow:
    """A budget rule: when entries are removed, the graph derived from them is restricted to the rest."""
    *outer, name = entries.split(".")

    def fix(whole: Any, result: Json) -> Any:
        for part in outer:
            result = result[part]
        return None if whole is None else _restricted(whole, {entry["seq"] for entry in result[name]})

    return Follow(path, fix)


def _restricted(graph: Json, seqs: set[int]) -> Json | None:
    every = {_key(node): node for node in graph["nodes"]}
    shown = {key: node for key, node in every.items() if node["seq"] in seqs}
    if not shown:
        return None
    places = _places(every)
    missing = {field: set(numbers) for field, numbers in graph["missing"].items()}
    edges = []
    for edge in graph["edges"]:
        ends = (_end(edge, "from", "fromBranchId", places), _end(edge, "to", "branchId", places))
        if ends[1] in shown and ends[0] in shown:
            edges.append(edge)
        elif ends[1] in shown:
            # The start was removed: it is reported as missing, as if it had never been shown.
            missing["branchFromThought" if edge["rel"] == "branch" else "revisesThought"].add(edge["from"])
    return {
        "nodes": list(shown.values()),
        "edges": edges,
        "missing": {field: sorted(numbers) for field, numbers in missing.items()},
    }


def _end(edge: Json, name: str, branch: str, places: Places) -> Key:
    number = edge[name]
    alone = places[number][0] if len(places[number]) == 1 else ""
    return edge.get(branch, alone), number
