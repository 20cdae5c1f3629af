"""Sequential steps of a trace: their metadata, what may be wrong with it, and the graph that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from clew.errors import warning
from clew.registry.budget import Follow

STEP, SEQUENTIAL = "trace_step", "trace_sequential_step"
KEYS = (
    "thoughtNumber",
    "totalThoughts",
    "nextThoughtNeeded",
    "branchFromThought",
    "branchId",
    "isRevision",
    "revisesThought",
)
MOST_WARNINGS = 2

Meta = Mapping[str, Any]
Json = dict[str, Any]


def is_number(value: Any) -> TypeGuard[int]:
    """A thought's number: a whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def lint(meta: Meta | None) -> list[dict[str, str]]:
    """What is odd about a step's sequential metadata; a few remarks at most, so that they are read."""
    if not meta or not any(key in meta for key in KEYS):
        return []
    return [_remark(code, text) for code, text in _oddities(meta)][:MOST_WARNINGS]


def _oddities(meta: Meta) -> Iterable[tuple[str, str]]:
    number, total = meta.get("thoughtNumber"), meta.get("totalThoughts")
    if number is None:
        yield "MISSING_THOUGHT_NUMBER", "thoughtNumber is missing, so the step has no place in the sequence"
    elif not is_number(number):
        yield "INVALID_THOUGHT_NUMBER", "thoughtNumber must be a whole number from 1"
    if "branchFromThought" in meta and not is_number(meta["branchFromThought"]):
        yield "INVALID_BRANCH_FROM", "branchFromThought must be the number of a thought"
    if "branchId" in meta and not (isinstance(meta["branchId"], str) and meta["branchId"].strip()):
        yield "INVALID_BRANCH_ID", "branchId must be a non-empty text"
    if "revisesThought" in meta and not is_number(meta["revisesThought"]):
        yield "INVALID_REVISES", "revisesThought must be the number of a thought"
    if "totalThoughts" in meta and not is_number(total):
        yield "INVALID_TOTAL", "totalThoughts must be a whole number from 1"
    if "nextThoughtNeeded" in meta and not isinstance(meta["nextThoughtNeeded"], bool):
        yield "INVALID_NEXT_NEEDED", "nextThoughtNeeded must be true or false"
    if meta.get("isRevision") is True and meta.get("revisesThought") is None:
        yield "REVISION_WITHOUT_REVISES", "isRevision is set, but revisesThought does not say what is revised"
    if is_number(number) and is_number(total) and total < number:
        yield "TOTAL_BELOW_NUMBER", "totalThoughts is smaller than thoughtNumber"


def _remark(code: str, text: str) -> dict[str, str]:
    return warning(f"TRACE_SEQ_META_{code}", text, "Correct the metadata, or use trace_sequential_step.")


def sequential_graph(entries: Iterable[Json]) -> Json | None:
    """The branching that the entries shown make visible; None when none of them is a numbered step."""
    steps = {step["thoughtNumber"]: step for step in map(_step, entries) if step is not None}
    if not steps:
        return None
    missing: dict[str, set[int]] = {"branchFromThought": set(), "revisesThought": set()}
    edges = []
    for number in sorted(steps):
        for field, rel, origin in _origins(steps[number]):
            if origin in steps:
                edges.append({"rel": rel, "from": origin, "to": number})
            else:
                missing[field].add(origin)
    return {
        "nodes": [steps[number] for number in sorted(steps)],
        "edges": edges,
        "missing": {field: sorted(numbers) for field, numbers in missing.items()},
    }


def _step(entry: Json) -> Json | None:
    meta = entry.get("meta")
    if entry.get("format") not in (STEP, SEQUENTIAL) or not isinstance(meta, dict):
        return None
    if not is_number(meta.get("thoughtNumber")):
        return None
    return {**{key: meta[key] for key in KEYS if key in meta}, "seq": entry["seq"]}


def _origins(step: Json) -> Iterable[tuple[str, str, int]]:
    if is_number(step.get("branchFromThought")):
        yield "branchFromThought", "branch", step["branchFromThought"]
    if step.get("isRevision") is True and is_number(step.get("revisesThought")):
        yield "revisesThought", "revision", step["revisesThought"]


def following(entries: str, path: str = "sequential") -> Follow:
    """For budgets: the graph shrinks with the entries that it was derived from."""
    *outer, name = entries.split(".")

    def mend(whole: Any, result: Json) -> Any:
        for part in outer:
            result = result[part]
        return None if whole is None else _restricted(whole, {entry["seq"] for entry in result[name]})

    return Follow(path, mend)


def _restricted(graph: Json, seqs: set[int]) -> Json | None:
    shown = {node["thoughtNumber"]: node for node in graph["nodes"] if node["seq"] in seqs}
    if not shown:
        return None
    missing = {field: set(numbers) for field, numbers in graph["missing"].items()}
    edges = []
    for edge in graph["edges"]:
        if edge["to"] in shown and edge["from"] in shown:
            edges.append(edge)
        elif edge["to"] in shown:
            missing["branchFromThought" if edge["rel"] == "branch" else "revisesThought"].add(edge["from"])
    return {
        "nodes": list(shown.values()),
        "edges": edges,
        "missing": {field: sorted(numbers) for field, numbers in missing.items()},
    }
