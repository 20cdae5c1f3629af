"""The operations on traces: append steps, show the newest ones, validate their numbering."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import invalid
from clew.reasoning.documents import TRACE, append, entries_json, entry_json, tail, view
from clew.reasoning.notes import ENTRIES_BUDGET
from clew.reasoning.scope import Scope, Target, resolve_scope
from clew.reasoning.sequential import SEQUENTIAL, STEP, is_number, lint, sequential_graph
from clew.registry.arguments import check_inner
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import MAX_NUMBER, Bounded, Input, Meta, Name, Names, Text, Title, operation
from clew.store.workspaces import declare_events

declare_events({"trace_step_added": "A step was appended to a trace."})

SCANNED = 5000
"""How many entries one validation reads."""

Thought = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
MetaText = Annotated[Meta | Text, Field(description="A JSON object, or its text.")]
Doc = Annotated[Name | None, Field(description="Trace document; default trace.")]
Ref = Annotated[Name | None, Field(description="Branch; default: the checkout. Not beside target.")]
OneOrMore = Annotated[Name | Names, Field(description="One id or a list of ids.")]


class TracePlace(Input):
    target: Target = None
    ref: Ref = None
    doc: Doc = None


class TraceStep(TracePlace):
    step: Annotated[Text, Field(min_length=1, description="What was done or thought.")]
    message: Annotated[Title | None, Field(description="One line that says why.")] = None
    mode: Name | None = None
    base: Name | None = None
    supports: OneOrMore | None = None
    blocks: OneOrMore | None = None
    checkpoint_every: Annotated[int | None, Field(ge=0, le=MAX_NUMBER)] = None
    meta: MetaText | None = None
    agent_id: Name | None = None


@operation("trace_step", writes=True, example={"step": "Measured the insert path: 0.2 ms a row."})
def trace_step(ctx: Context, args: TraceStep) -> Json:
    """Append a step to a trace; sequential metadata is checked, never refused."""
    own = picked(args, "mode", "base", "supports", "blocks", "checkpoint_every")
    own |= {name: [own[name]] for name in ("supports", "blocks") if isinstance(own[name], str)}
    meta = {**_object(args.meta), **{key: value for key, value in own.items() if value is not None}}
    return _append_step(ctx, args, STEP, args.step, args.message, meta)


class TraceSequentialStep(TracePlace):
    thought: Annotated[Text, Field(min_length=1, description="The thought.")]
    thoughtNumber: Annotated[Thought, Field(description="Its number, from 1.")]
    totalThoughts: Annotated[Thought, Field(description="How many are expected.")]
    nextThoughtNeeded: Annotated[bool, Field(description="Whether another one follows.")]
    isRevision: bool | None = None
    revisesThought: Thought | None = None
    branchFromThought: Thought | None = None
    branchId: Name | None = None
    needsMoreThoughts: bool | Name | None = None
    confidence: Name | float | None = None
    goal: Title | None = None
    message: Title | None = None
    meta: MetaText | None = None
    agent_id: Name | None = None


SEQUENTIAL_EXAMPLE = {"thought": "Start small.", "thoughtNumber": 1, "totalThoughts": 3, "nextThoughtNeeded": True}


@operation("trace_sequential_step", writes=True, example=SEQUENTIAL_EXAMPLE)
def trace_sequential_step(ctx: Context, args: TraceSequentialStep) -> Json:
    """Append a numbered thought to a trace, with its branches and revisions."""
    rest = {"thought", "message", "meta", "agent_id"} | TracePlace.model_fields.keys()
    own = args.model_dump(exclude=rest, exclude_none=True)
    return _append_step(ctx, args, SEQUENTIAL, args.thought, args.message, {**_object(args.meta), **own})


def _append_step(ctx: Context, args: Any, format: str, text: str, title: str | None, meta: Json) -> Json:
    if not text.strip():
        raise invalid("step" if format == STEP else "thought", "must not be empty", kind="non_empty")
    scope = _scope(ctx, args)
    ctx.remarks.warnings += lint(meta)
    said: Json = {"content": text, "title": title, "format": format, "meta": meta or None}
    row = append(ctx, scope.branch.id, scope.trace, doc_kind=TRACE, item_source="note", **said)
    ref = f"{scope.trace}@{row['seq']}"
    ctx.emit("reasoning", "trace_step_added", ref, {"branch": scope.branch.name, "format": format})
    return {**_in_trace(ctx, scope), "entry": entry_json(ctx, row)}


def _in_trace(ctx: Context, scope: Scope) -> Json:
    return {"workspace": ctx.workspace, "branch": scope.branch.name, "doc": scope.trace}


def _scope(ctx: Context, args: Any) -> Scope:
    return resolve_scope(ctx, args.target, args.ref, trace=args.doc, branch_field="ref", doc_field="doc")


def _object(meta: Json | str | None) -> Json:
    if meta is None or isinstance(meta, dict):
        return meta or {}
    try:
        parsed = orjson.loads(meta)
    except orjson.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict):
        raise invalid("meta", "is not the text of a JSON object", 'Write {"key": "value"}.', kind="type")
    return dict(check_inner(parsed, "meta"))


class TraceHydrate(TracePlace, Bounded):
    limit_steps: Annotated[int, Field(ge=0, le=200, description="Most entries to show; 0 shows none.")] = 50
    statement_max_bytes: Annotated[
        int | None, Field(ge=1, le=MAX_NUMBER, description="Cut each entry's text to this many bytes.")
    ] = None
    cursor: Annotated[int | None, Field(ge=0, le=MAX_NUMBER, description="Show entries before this seq.")] = None


@operation("trace_hydrate", budget=ENTRIES_BUDGET)
def trace_hydrate(ctx: Context, args: TraceHydrate) -> Json:
    """Show the newest part of a trace, with the branching of its numbered thoughts."""
    scope = _scope(ctx, args)
    part = tail(ctx, view(ctx, scope.branch), scope.trace, args.cursor, args.limit_steps)
    entries = entries_json(ctx, part.entries)
    for entry in entries:
        if args.statement_max_bytes is not None and entry.get("content"):
            entry["content"] = cut_bytes(entry["content"], args.statement_max_bytes)
    return {
        **_in_trace(ctx, scope),
        "entries": entries,
        "sequential": sequential_graph(entries),
        "pagination": part.page(args.cursor, args.limit_steps),
    }


def cut_bytes(text: str, limit: int) -> str:
    """The text truncated to `limit` UTF-8 bytes, never inside of a character."""
    raw = text.encode()
    return text if len(raw) <= limit else raw[:limit].decode(errors="ignore")


class TraceValidate(TracePlace, Bounded):
    pass


VALIDATE_BUDGET = Budget((Trim("errors", drop="last"),), 16_000, keep=("ok", "branch", "doc", "checked"))


@operation("trace_validate", budget=VALIDATE_BUDGET)
def trace_validate(ctx: Context, args: TraceValidate) -> Json:
    """Check the numbered thoughts of a trace: required fields, order, and that what they refer to exists."""
    scope = _scope(ctx, args)
    part = tail(ctx, view(ctx, scope.branch), scope.trace, None, SCANNED)
    steps = [entry for entry in entries_json(ctx, part.entries) if entry.get("format") == SEQUENTIAL]
    errors = _errors(steps, whole=not part.has_more)
    return {
        **_in_trace(ctx, scope),
        "ok": not errors,
        "checked": len(steps),
        "errors": errors,
        "has_more": part.has_more,
    }


def _errors(steps: list[Json], whole: bool) -> list[Json]:
    found: list[Json] = []
    last: dict[str, int] = {}
    known: set[int] = set()
    for step in steps:
        meta = step["meta"] or {}
        place = {"seq": step["seq"], "ref": f"{step['doc']}@{step['seq']}"}
        problems = _problems(meta, last, known, whole)
        found += [{"code": code, "message": text, **place} for code, text in problems]
        if is_number(meta.get("thoughtNumber")):
            known.add(meta["thoughtNumber"])
            last[_line(meta)] = meta["thoughtNumber"]
    return found


def _problems(meta: Json, last: dict[str, int], known: set[int], whole: bool) -> list[tuple[str, str]]:
    number, total, found = meta.get("thoughtNumber"), meta.get("totalThoughts"), []
    found += [("MISSING_FIELD", f"{name} is missing or invalid") for name in _missing(meta)]
    if is_number(number) and number <= last.get(_line(meta), 0) and not meta.get("isRevision"):
        found.append(("OUT_OF_ORDER", f"thought {number} comes after thought {last[_line(meta)]}"))
    if is_number(number) and is_number(total) and total < number:
        found.append(("TOTAL_BELOW_NUMBER", f"thought {number} of {total}"))
    if meta.get("isRevision") and meta.get("revisesThought") is None:
        found.append(("REVISION_WITHOUT_REVISES", "a revision must say which thought it revises"))
    return found + _unknown_origins(meta, known, whole)


def _unknown_origins(meta: Json, known: set[int], whole: bool) -> list[tuple[str, str]]:
    found = []
    for field in ("branchFromThought", "revisesThought"):
        origin = meta.get(field)
        if origin is None or origin in known:
            continue
        # If older entries were not read, a reference to a smaller number may be right.
        if whole or (known and origin >= min(known)):
            found.append(("UNKNOWN_THOUGHT", f"{field} names thought {origin}, which does not come before"))
    return found


def _missing(meta: Json) -> list[str]:
    bad = [name for name in ("thoughtNumber", "totalThoughts") if not is_number(meta.get(name))]
    return bad + ([] if isinstance(meta.get("nextThoughtNeeded"), bool) else ["nextThoughtNeeded"])


def _line(meta: Json) -> str:
    """The sequence within which numbers increase: the branch of the thought."""
    return str(meta.get("branchId") or "")
