"""import_branchmind: the workspaces of a BranchMind store, each in one transaction, with the ids they had."""

from __future__ import annotations

from itertools import chain, count, islice
from pathlib import Path
from typing import Annotated

from pydantic import Field

from clew.canonical import Json
from clew.contracts.branchmind.adopted_log import REFS, Adoption, adopt_log, adopt_refs
from clew.contracts.branchmind.adopted_work import HISTORY, adopt_events, adopt_history, adopt_work
from clew.contracts.branchmind.import_offer import found_store, import_command, note_import
from clew.errors import ClewError, shorten, suggest
from clew.ids import check_workspace, confined, real_path
from clew.index.item_reads import items_by_ref
from clew.original_store import FILE, USUAL
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.registry.permission import MOST_WORKSPACES, permits
from clew.store.sqlite_files import ForeignStore, opened_foreign
from clew.store.workspaces import declare_events, last_used_workspaces
from clew.surroundings import placed

NEEDED = ("workspaces", "doc_entries", "graph_node_versions", "tasks")

TAKEN = {
    *("workspaces", "counters", "branches", "branch_checkout", "documents", "doc_entries", "focus", "reasoning_refs"),
    *("graph_node_versions", "graph_edge_versions", "anchors", "anchor_aliases", "anchor_links", "plans", "tasks"),
    *("steps", "step_criteria", "step_tests", "step_blockers", "plan_checklist", "task_items", "task_nodes"),
    *("evidence_artifacts", "evidence_checks", "evidence_attachments", "checkpoint_evidence", "jobs", "job_events"),
    *REFS,
    *HISTORY,
}
"""Tables that are read; links of anchors are derived from the rest."""

declare_events({"workspace_imported": "A workspace was read from the store of another program."})


class ImportBranchmind(Input):
    names_workspace = False

    path: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=4000,
            description="The store or its directory; over MCP below .../imports. Default: the one in the data"
            " directory, else in the project's .agents/mcp/.branchmind.",
        ),
    ] = None
    only: Annotated[Name | None, Field(description="Only this workspace of it.")] = None
    into: Annotated[Name | None, Field(description="Where it goes; default: the workspace of the same name.")] = None
    dry_run: Annotated[bool, Field(description="Only say which workspaces there are.")] = False


@operation("import_branchmind", writes=True, mode="own", example={"path": "branchmind", "dry_run": True})
def import_branchmind(ctx: Context, args: ImportBranchmind) -> Json:
    """Import the workspaces of a BranchMind store: branches, notes, trace, graph, cards, plans, tasks, jobs, evidence.

    Each goes to the workspace of the same name, or to `into`, which must not hold anything yet; then every id means the
    same.
    """
    path = _file(ctx, args.path)
    with opened_foreign(path) as source:
        _check(source, path)
        names = [row["workspace"] for row in source.rows("workspaces", "workspace")]
        wanted = _wanted(ctx, args, path, names)
        reports = [{"workspace": name} if args.dry_run else _imported(ctx, args, source, name) for name in wanted]
    left = [name for name in names if name not in wanted]
    return {"path": str(path), "dry_run": args.dry_run, "workspaces": reports, "count": len(reports), "left": left}


def _file(ctx: Context, given: str | None) -> Path:
    if given is None:
        return _found(ctx)
    base = real_path(placed(given)) if ctx.connection.local else confined(ctx.settings.home / "imports", given)
    return base / FILE if base.is_dir() else base


def _found(ctx: Context) -> Path:
    found = found_store(ctx.settings)
    if found is None:
        usual = ctx.settings.project_root / USUAL
        raise ClewError("NOT_FOUND", f"there is no {FILE} in {ctx.settings.home} nor in {usual}", "Name its path.")
    return found


def _wanted(ctx: Context, args: ImportBranchmind, path: Path, names: list[str]) -> list[str]:
    """The workspaces to import. By default all that this server may access."""
    chosen = [name for name in names if args.only in (None, name)]
    if not chosen:
        raise ClewError("NOT_FOUND", f"{path} has no workspace {args.only}", f"It has {', '.join(names) or 'none'}.")
    if args.into is not None and len(chosen) > 1:
        raise ClewError("INVALID_INPUT", "into: takes one workspace", f"Name one with only: {', '.join(names)}.")
    if args.only is not None or args.into is not None or ctx.connection.local:
        return chosen
    return [name for name in chosen if permits(ctx.settings, name)] or _refuse_all(ctx, names)


def _refuse_all(ctx: Context, names: list[str]) -> list[str]:
    """This server may access none of them, so the solution is to import one under the server's own name."""
    own = ctx.settings.workspace
    raise ClewError(
        "WORKSPACE_NOT_ALLOWED",
        f"the store has the workspaces {', '.join(names)}; this server may be asked about none of them",
        f"Import one of them into {own}.",
        suggestions=[suggest("import_branchmind", f"Imports it as {own}.", "high", only=names[0], into=own)],
    )


def _check(source: ForeignStore, path: Path) -> None:
    missing = [table for table in NEEDED if table not in source.tables]
    if missing:
        raise ClewError(
            "INVALID_INPUT", f"{path} is no store of BranchMind: it has no {', '.join(missing)}", f"Name {FILE}."
        )


def _imported(ctx: Context, args: ImportBranchmind, source: ForeignStore, name: str) -> Json:
    target = check_workspace(args.into or name)
    with ctx.elsewhere(target).writing() as bound:
        work = Adoption(source, name)
        if bound.ws.seq:
            raise _taken(bound, args, work)
        adopt_events(bound, work)
        adopt_log(bound, work)
        adopt_refs(bound, work)
        adopt_work(bound, work)
        adopt_history(bound, work)
        note_import(bound.tx, source.path)
        bound.emit("system", "workspace_imported", target, {"from": "branchmind", **work.counts})
    named = {} if target == name else {"into": target}
    return {"workspace": name, **named, **work.counts, "left_out": left_out(work)}


def _taken(ctx: Context, args: ImportBranchmind, work: Adoption) -> ClewError:
    """Notes, events and ids keep their numbers, and a workspace that is in use has allocated the low ones already."""
    both = sorted(row["ref"] for row in items_by_ref(ctx.tx, ctx.workspace, _ids(work)))
    named = f"; {shorten(', '.join(both), 200)} would mean two things" if both else ""
    free = _free_name(ctx, work.workspace)
    way = {**args.model_dump(exclude_defaults=True), "only": work.workspace, "into": free}
    ways = [suggest("import_branchmind", f"Imports it as {free}.", "high", **way)]
    line = import_command(ctx.settings, work.source.path, "--only", work.workspace, "--into", free)
    return ClewError(
        "CONFLICT",
        f"workspace {ctx.workspace} holds something already{named}",
        f"Import it into a workspace of its own and name that one in calls and settings; in a shell: {line}",
        # A server that is bound to its workspaces can neither create nor show another; a person at the shell can.
        suggestions=ways if ctx.connection.local or permits(ctx.settings, free) else (),
    )


def _ids(work: Adoption) -> list[str]:
    """Some of the ids that people know: enough to show that they are taken."""
    rows = (row for table in ("plans", "tasks", "jobs") for row in work.rows(table, "id"))
    return [str(row["id"]) for row in islice(rows, 300)]


def _free_name(ctx: Context, name: str) -> str:
    """An empty workspace; one that this server may access, if there is one."""
    used = {row["id"] for row in last_used_workspaces(ctx.tx, MOST_WORKSPACES)}
    made = (f"{name[:100]}-branchmind{f'-{number}' if number > 1 else ''}" for number in count(1))
    return next(tried for tried in chain(ctx.settings.workspace_allowlist, made) if tried not in used)


def left_out(work: Adoption) -> dict[str, int]:
    """Tables of the source whose rows in this workspace cannot be imported, with their counts."""
    counts = {table: sum(1 for _ in work.rows(table, "workspace")) for table in _others(work.source)}
    return {table: count for table, count in counts.items() if count}


def _others(source: ForeignStore) -> list[str]:
    return [table for table in source.tables if table not in TAKEN and "workspace" in source.columns(table)]
