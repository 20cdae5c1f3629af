"""macro_branch_note: a note in one call, on a new, another or the present branch."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.ids import check_name
from clew.reasoning.branches import (
    Branch,
    branch_json,
    branch_named,
    check_out,
    checked_out,
    create_branch,
    find_branch,
)
from clew.reasoning.documents import NOTES, append, entry_json
from clew.reasoning.note_templates import note_from_template
from clew.registry.context import Context
from clew.registry.lines import command
from clew.registry.operation import Input, Meta, Name, Text, Title, operation


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


def note_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    branch, checkout, note = result["branch"], result["checkout"], result["note"]
    committed = f"note committed {note['doc']}@{note['seq']}"
    if branch["created"]:
        state = f"branch {branch['name']} from {branch['base_branch']}@{branch['base_seq']} | {committed}"
    elif checkout["previous"] != checkout["current"]:
        state = f"checkout {checkout['previous']} -> {checkout['current']} | {committed}"
    else:
        state = f"{committed} on {branch['name']}"
    return [state, command("status", {"workspace": result["workspace"]}, default_workspace)]


@operation("macro_branch_note", writes=True, portal=True, lines=note_lines, example={"content": "Try WAL mode first."})
def macro_branch_note(ctx: Context, args: MacroBranchNote) -> dict[str, Any]:
    """Append a note, creating or checking out its branch on the way."""
    content = _content(args)
    doc = check_name(args.doc, "doc")
    branch, created = _branch(ctx, args)
    previous = check_out(ctx, branch)
    row = append(ctx, branch.id, doc, content=content, title=args.title, format=_format(args), meta=args.meta)
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


def _format(args: MacroBranchNote) -> str | None:
    return args.format or ("markdown" if args.template is not None else None)


def _branch(ctx: Context, args: MacroBranchNote) -> tuple[Branch, bool]:
    """The branch to write to, and whether it is new. A name that exists is taken as it is, whatever `from` says."""
    if args.name is None:
        return (branch_named(ctx, args.from_, "from") if args.from_ is not None else checked_out(ctx)), False
    found = find_branch(ctx, check_name(args.name, "name"))
    if found is not None:
        return found, False
    base = branch_named(ctx, args.from_, "from") if args.from_ is not None else checked_out(ctx)
    return create_branch(ctx, args.name, base), True
