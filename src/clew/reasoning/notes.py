"""Notes and the reads of any document: append, show, list, diff."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import invalid
from clew.ids import check_name
from clew.reasoning.branches import branch_named, chain, checked_out
from clew.reasoning.documents import NOTES, append, difference, entries_json, entry_json, tail, view
from clew.reasoning.scope import Target, resolve_scope
from clew.reasoning.sequential import following, sequential_graph
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Input, Meta, Name, Text, Title, operation

_SEQUENTIAL = following("entries")
ENTRIES_BUDGET = Budget(
    (
        Clip("entries[].content", 2000),
        Trim("entries", drop="first", floor=1, page="pagination", follow=_SEQUENTIAL),
        Clip("entries[].content", 200),
        Trim("entries", drop="first", page="pagination", follow=_SEQUENTIAL),
    ),
    16_000,
    keep=("branch", "doc"),
)

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
def notes_commit(ctx: Context, args: NotesCommit) -> dict[str, Any]:
    """Append a note to a task's, a plan's or a branch's notes."""
    if not args.content.strip():
        raise invalid("content", "must not be empty", "Write what should be remembered.", kind="non_empty")
    scope = resolve_scope(ctx, args.target, args.branch, notes=args.doc, doc_field="doc")
    row = append(
        ctx,
        scope.branch.id,
        scope.notes,
        content=args.content,
        title=args.title,
        format=args.format,
        meta=args.meta,
    )
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
def show(ctx: Context, args: Show) -> dict[str, Any]:
    """Read a document from its newest entry backwards, inherited entries included."""
    notes = args.doc if args.doc_kind == "notes" else None
    trace = args.doc if args.doc_kind == "trace" else None
    scope = resolve_scope(ctx, args.target, args.branch, notes=notes, trace=trace, doc_field="doc")
    doc = scope.notes if args.doc_kind == "notes" else scope.trace
    limit = max(args.limit, 1)
    part = tail(ctx, view(ctx, scope.branch, args.as_of), doc, args.cursor, limit)
    entries = entries_json(ctx, part.entries)
    shown = {"entries": entries, "pagination": part.page(args.cursor, limit), "truncated": False}
    if args.doc_kind == "trace":
        shown["sequential"] = sequential_graph(entries)
    return {"workspace": ctx.workspace, "branch": scope.branch.name, "doc": doc, **shown}


class DocsList(Bounded):
    ref: Annotated[Name | None, Field(description="Branch; default: the checkout.")] = None


@operation(
    "docs_list",
    budget=Budget((Trim("docs", drop="last", count="count"),), 16_000, keep=("workspace", "branch", "count")),
)
def docs_list(ctx: Context, args: DocsList) -> dict[str, Any]:
    """List the documents that a branch shows."""
    branch = branch_named(ctx, args.ref, "ref") if args.ref else checked_out(ctx)
    docs: dict[str, dict[str, Any]] = {}
    for link in chain(ctx, branch):
        for row in ctx.tx.all(_DOCS, ctx.workspace, link.branch, ctx.workspace, link.branch, link.cutoff):
            docs.setdefault(row["doc"], row)
    listed = [docs[name] for name in sorted(docs)]
    return {
        "workspace": ctx.workspace,
        "ref": branch.name,
        "branch": branch.name,
        "docs": listed,
        "count": len(listed),
        "truncated": False,
    }


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
def diff(ctx: Context, args: Diff) -> dict[str, Any]:
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
        "truncated": False,
    }
