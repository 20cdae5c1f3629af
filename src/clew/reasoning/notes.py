"""Notes and documents for callers: append, show, list, diff, and merge notes from one branch into another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import orjson
from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, suggest
from clew.ids import check_name
from clew.reasoning.branches import (
    Branch,
    BranchPart,
    branch_by_id,
    branch_json,
    branch_named,
    chain,
    check_out,
    checked_out,
    create_branch,
    find_branch,
)
from clew.reasoning.documents import NOTES, Range, append, difference, entries_json, entry_json, tail, view
from clew.reasoning.scope import Target, resolve_scope
from clew.reasoning.sequential import following, sequential_graph
from clew.registry.blank_forms import NOTE_FORMS
from clew.registry.budget import Budget, Trim, shrinking
from clew.registry.context import Context
from clew.registry.envelope import command, page_json
from clew.registry.operation import Bounded, Input, Meta, Name, Text, Title, View, operation
from clew.store.database import Row


def note_from_template(name: str, goal: str | None = None) -> str:
    """The template's headings, with the goal under the first one."""
    if name not in NOTE_FORMS:
        known = ", ".join(sorted(NOTE_FORMS))
        raise invalid("template", f"no template is called {name[:60]!r}", f"Use one of {known}.", kind="choice")
    parts = list(NOTE_FORMS[name])
    if goal and goal.strip():
        parts[0] = (parts[0][0], goal.strip())
    return "\n\n".join(f"## {heading}\n{body}" for heading, body in parts)


_ENTRIES = Trim("entries", page="pagination", follow=following("entries"))
ENTRIES_BUDGET = Budget(shrinking("entries[].content", (2000, 200), _ENTRIES), 16_000, keep=("branch", "doc"))

Cursor = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="Show entries before this seq.")]
Limit = Annotated[int, Field(ge=0, le=200, description="Most entries to show; 0 counts as 1.")]


class NotesCommit(Input):
    content: Annotated[Text, Field(min_length=1, description="The note.")]
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to write to; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Document to write to; default notes.")] = None
    title: Title | None = None
    format: Annotated[Name | None, Field(description="Such as text or markdown.")] = None
    meta: Meta | None = None
    agent_id: Name | None = None


@operation("notes_commit", writes=True, example={"content": "SQLite keeps one writer; batch the inserts."})
def notes_commit(ctx: Context, args: NotesCommit) -> Json:
    """Append a note to a task's, a plan's or a branch's notes."""
    if not args.content.strip():
        raise invalid("content", "must not be empty", "Write what should be remembered.", kind="non_empty")
    scope = resolve_scope(ctx, args.target, args.branch, notes=args.doc, doc_field="doc")
    said = picked(args, "content", "title", "format", "meta")
    row = append(ctx, scope.branch.id, scope.notes, **said)
    ref = f"{scope.notes}@{row['seq']}"
    ctx.emit("reasoning", "note_committed", ref, {"branch": scope.branch.name, "title": args.title})
    return {"workspace": ctx.workspace, "entry": entry_json(ctx, row)}


class Show(Bounded):
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to read; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Document to read; not beside target.")] = None
    doc_kind: Annotated[Literal["notes", "trace"], Field(description="Which document of the target or branch.")] = (
        "trace"
    )
    cursor: Cursor = None
    limit: Limit = 20
    as_of: Annotated[int | None, Field(ge=0, le=2**53 - 1, description="Show the state after this seq.")] = None


@operation("show", budget=ENTRIES_BUDGET)
def show(ctx: Context, args: Show) -> Json:
    """Read a document from its newest entry backwards, inherited entries included."""
    notes = args.doc if args.doc_kind == "notes" else None
    trace = args.doc if args.doc_kind == "trace" else None
    scope = resolve_scope(ctx, args.target, args.branch, notes=notes, trace=trace, doc_field="doc")
    doc = scope.notes if args.doc_kind == "notes" else scope.trace
    limit = max(args.limit, 1)
    part = tail(ctx, view(ctx, scope.branch, args.as_of), doc, args.cursor, limit)
    entries = entries_json(ctx, part.entries)
    shown: Json = {"entries": entries, "pagination": part.page(args.cursor, limit)}
    if args.doc_kind == "trace":
        shown["sequential"] = sequential_graph(entries)
    return {"workspace": ctx.workspace, "branch": scope.branch.name, "doc": doc, **shown}


class DocsList(Bounded):
    ref: Annotated[Name | None, Field(description="Branch; default: the checkout.")] = None


@operation(
    "docs_list",
    budget=Budget((Trim("docs", drop="last", count="count"),), 16_000, keep=("workspace", "branch", "count")),
)
def docs_list(ctx: Context, args: DocsList) -> Json:
    """List the documents that a branch shows."""
    branch = branch_named(ctx, args.ref, "ref") if args.ref else checked_out(ctx)
    docs: dict[str, Json] = {}
    for link in chain(ctx, branch):
        for row in ctx.tx.all(_DOCS, ctx.workspace, link.branch, ctx.workspace, link.branch, link.cutoff):
            # The nearest branch comes first, so its dates are shown for a document that several branches have.
            docs.setdefault(row["doc"], row)
    listed = [docs[name] for name in sorted(docs)]
    place = {"workspace": ctx.workspace, "ref": branch.name, "branch": branch.name}
    return {**place, "docs": listed, "count": len(listed)}


_DOCS = (
    "SELECT doc, kind, created_at_ms, updated_at_ms FROM document WHERE workspace = ? AND branch = ? AND EXISTS"
    " (SELECT 1 FROM entry WHERE entry.workspace = ? AND entry.branch = ? AND entry.doc = document.doc"
    " AND entry.seq <= ?)"
)


class Diff(Bounded):
    from_: Annotated[Name, Field(alias="from", description="Branch to compare with.")]
    to: Annotated[Name, Field(description="Branch whose additional entries are shown.")]
    doc: Annotated[Name, Field(description="Document to compare.")] = NOTES
    cursor: Cursor = None
    limit: Limit = 20


@operation("diff", budget=ENTRIES_BUDGET, example={"from": "main", "to": "main"})
def diff(ctx: Context, args: Diff) -> Json:
    """Show the entries that one branch's document has and another's has not."""
    base, other = branch_named(ctx, args.from_, "from"), branch_named(ctx, args.to, "to")
    doc, limit = check_name(args.doc, "doc"), max(args.limit, 1)
    part = tail(ctx, difference(chain(ctx, other), chain(ctx, base)), doc, args.cursor, limit)
    return {
        "workspace": ctx.workspace,
        "from": base.name,
        "to": other.name,
        "doc": doc,
        "entries": entries_json(ctx, part.entries),
        "pagination": part.page(args.cursor, limit),
    }


class MacroBranchNote(Input):
    content: Annotated[Text | None, Field(description="The note; or give template.")] = None
    name: Annotated[Name | None, Field(description="Branch to write to; created when it does not exist.")] = None
    from_: Annotated[
        Name | None, Field(alias="from", description="Base of a new branch; without name: the branch to check out.")
    ] = None
    doc: Annotated[Name, Field(description="Document to write to.")] = NOTES
    template: Annotated[Name | None, Field(description="Write this skeleton: initiative or decision.")] = None
    goal: Annotated[Title | None, Field(description="What the template is about.")] = None
    title: Title | None = None
    format: Annotated[Name | None, Field(description="Such as text or markdown.")] = None
    meta: Meta | None = None
    agent_id: Name | None = None


def note_lines(result: Json, default_workspace: str) -> list[str]:
    branch, checkout, note = result["branch"], result["checkout"], result["note"]
    committed = f"note committed {note['doc']}@{note['seq']}"
    if branch["created"]:
        state = f"branch {branch['name']} from {branch['base_branch']}@{branch['base_seq']} | {committed}"
    elif checkout["previous"] != checkout["current"]:
        state = f"checkout {checkout['previous']} -> {checkout['current']} | {committed}"
    else:
        state = f"{committed} on {branch['name']}"
    return [state, command("status", {"workspace": result["workspace"]}, default_workspace)]


@operation(
    "macro_branch_note",
    writes=True,
    example={"content": "Try WAL mode first."},
    view=View(in_lines=True, lines=note_lines),
)
def macro_branch_note(ctx: Context, args: MacroBranchNote) -> Json:
    """Append a note, creating or checking out its branch on the way."""
    content, doc = _content(args), check_name(args.doc, "doc")
    format = args.format or ("markdown" if args.template is not None else None)
    branch, created = _branch(ctx, args)
    previous = check_out(ctx, branch)
    row = append(ctx, branch.id, doc, content=content, title=args.title, format=format, meta=args.meta)
    ctx.emit("reasoning", "note_committed", f"{doc}@{row['seq']}", {"branch": branch.name, "title": args.title})
    return {
        "workspace": ctx.workspace,
        "branch": {**branch_json(ctx, branch), "created": created},
        "checkout": {"previous": previous, "current": branch.name},
        "note": entry_json(ctx, row),
    }


def _content(args: MacroBranchNote) -> str:
    written = (args.content or "").strip()
    if args.template is None and not written:
        raise ClewError(
            "INVALID_INPUT",
            "content: a note needs content or a template",
            "Give content, or template=initiative or decision.",
            [{"kind": "missing_required", "field": "content"}],
            [suggest("macro_branch_note", "Writes the skeleton of a decision.", "medium", template="decision")],
        )
    skeleton = note_from_template(args.template, args.goal) if args.template is not None else ""
    return "\n\n".join(part for part in (skeleton, args.content if written else "") if part)


def _branch(ctx: Context, args: MacroBranchNote) -> tuple[Branch, bool]:
    """The branch to write to, and whether it is new. An existing branch is used as it is, whatever `from` says."""
    found = find_branch(ctx, check_name(args.name, "name")) if args.name is not None else None
    if found is not None:
        return found, False
    base = branch_named(ctx, args.from_, "from") if args.from_ is not None else checked_out(ctx)
    return (base, False) if args.name is None else (create_branch(ctx, args.name, base), True)


PAGE = 200


class Merge(Input):
    from_: Annotated[Name, Field(alias="from", description="Branch to take notes from.")]
    into: Annotated[Name | None, Field(description="Branch to copy into; default: the base of from.")] = None
    doc: Annotated[Name, Field(description="Document to merge.")] = NOTES
    cursor: Annotated[int | None, Field(ge=0, le=2**53 - 1, description="next_cursor of the call before.")] = None
    limit: Annotated[int, Field(ge=1, le=PAGE, description="Most notes to copy in this call.")] = PAGE
    dry_run: Annotated[bool, Field(description="Only count; write nothing.")] = False
    merge_to_base: Annotated[bool, Field(description="Merge into the base of from.")] = False


@operation("merge", writes=True, idempotent=True, example={"from": "what-if"})
def merge(ctx: Context, args: Merge) -> Json:
    """Copy the notes of a branch into another; repeating it copies nothing twice."""
    source = branch_named(ctx, args.from_, "from")
    into = destination(ctx, source, args.into, args.merge_to_base)
    doc = check_name(args.doc, "doc")
    view = chain(ctx, into)
    notes, has_more = _candidates(ctx, difference(chain(ctx, source), view), doc, args.cursor, args.limit)
    fresh = _once(row for row in notes if not _merged_before(ctx, view, doc, origin(row)))
    if not args.dry_run:
        for row in fresh:
            _copy(ctx, row, source, into, doc)
        if fresh:
            payload = {"from": source.name, "into": into.name, "doc": doc, "merged": len(fresh)}
            ctx.emit("reasoning", "notes_merged", into.name, payload)
    return {
        "workspace": ctx.workspace,
        "from": source.name,
        "into": into.name,
        "doc": doc,
        "merged": len(fresh),
        "skipped": len(notes) - len(fresh),
        "pagination": page_json(args.cursor, args.limit, len(notes), notes[-1]["seq"] if has_more else None),
    }


def destination(ctx: Context, source: Branch, into: str | None, to_base: bool) -> Branch:
    """The branch to merge into: the named one, else the base, else the checkout."""
    base = branch_by_id(ctx, source.base_id) if source.base_id is not None else None
    chosen = branch_named(ctx, into, "into") if into is not None else base or checked_out(ctx)
    if to_base and base is None:
        raise _refused(f"branch {source.name} has no base to merge into", "merge_to_base")
    if to_base and base is not None and chosen.id != base.id:
        raise _refused(f"merge_to_base means {base.name}, but into says {chosen.name}", "into")
    if chosen.id == source.id:
        raise _refused(f"branch {source.name} cannot be merged into itself", "into")
    return chosen


def origin(row: Row) -> str:
    """The key by which copies of a note are recognised: a copy of a copy keeps the key of the original."""
    key = row["source"] or ""
    # A seq is unique in its workspace, whatever branch the note is on.
    return key if key.startswith("merge:") else f"merge:{row['seq']}"


def _once(rows: Iterable[Row]) -> list[Row]:
    """The first of several copies of each note."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(origin(row), row)
    return list(found.values())


def _candidates(ctx: Context, ranges: list[Range], doc: str, cursor: int | None, limit: int) -> tuple[list[Row], bool]:
    """Notes in the order they were written, so that their copies keep this order."""
    rows: list[Row] = []
    # Ranges are newest first, but copies are written oldest first.
    for span in reversed(ranges):
        rows += ctx.tx.all(
            "SELECT * FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND kind = 'note'"
            " AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            ctx.workspace,
            span.branch,
            doc,
            max(span.low, cursor or 0),
            span.high,
            limit + 1 - len(rows),
        )
    return rows[:limit], len(rows) > limit


def _merged_before(ctx: Context, view: list[BranchPart], doc: str, key: str) -> bool:
    """Whether the destination already shows the note, as a copy or as the original."""
    sql = "SELECT 1 FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND seq <= ? AND (source = ? OR seq = ?)"
    # Every branch that the destination shows is queried: its base may have got the note by another merge.
    first = int(key.removeprefix("merge:"))
    return any(ctx.tx.value(sql, ctx.workspace, link.branch, doc, link.cutoff, key, first) is not None for link in view)


def _copy(ctx: Context, row: Row, source: Branch, into: Branch, doc: str) -> None:
    meta = orjson.loads(row["meta"]) if row["meta"] else {}
    # For people to read; copies are recognised by `source`.
    meta["_merge"] = {"from": source.name, "from_seq": row["seq"], "from_ts_ms": row["ts_ms"]}
    said = {name: row[name] for name in ("content", "title", "format")}
    append(ctx, into.id, doc, meta=meta, source=origin(row), **said)


def _refused(message: str, field: str) -> ClewError:
    recovery = "Name another branch in into."
    ways = [suggest("branch_list", "Shows the branches and their bases.")]
    return ClewError("INVALID_INPUT", message, recovery, [{"kind": "value", "field": field}], ways)
