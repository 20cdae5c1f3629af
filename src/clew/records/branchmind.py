"""import_branchmind: the workspaces of a BranchMind store, each in one transaction, with the ids they had."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.ids import check_workspace, confined
from clew.reasoning.adopted_log import Adoption, adopt_log
from clew.reasoning.document_log import REFS, adopt_refs
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.store.sqlite_files import ForeignStore, opened_foreign
from clew.store.workspaces import declare_events
from clew.surroundings import placed
from clew.tasks.adopted_work import HISTORY, adopt_events, adopt_history, adopt_work

FILE = "branchmind_rust.db"
NEEDED = ("workspaces", "doc_entries", "graph_node_versions", "tasks")

TAKEN = {
    *("workspaces", "counters", "branches", "branch_checkout", "documents", "doc_entries", "focus", "reasoning_refs"),
    *("graph_node_versions", "graph_edge_versions", "anchors", "anchor_aliases", "anchor_links", "plans", "tasks"),
    *("steps", "step_criteria", "step_tests", "step_blockers", "plan_checklist", "task_items", "task_nodes"),
    *("evidence_artifacts", "evidence_checks", "evidence_attachments", "checkpoint_evidence", "jobs", "job_events"),
    *REFS,
    *HISTORY,
}
"""Tables that are read; links of anchors and counters follow from the rest."""

declare_events({"workspace_imported": "A workspace was read from the store of another program."})


class ImportBranchmind(Input):
    path: Annotated[
        str,
        Field(min_length=1, max_length=4000, description="The store or its directory; over MCP below .../imports."),
    ]
    only: Annotated[Name | None, Field(description="Only this workspace of it.")] = None
    dry_run: Annotated[bool, Field(description="Only say which workspaces there are.")] = False


@operation(
    "import_branchmind", writes=True, mode="own", workspace=False, example={"path": "branchmind", "dry_run": True}
)
def import_branchmind(ctx: Context, args: ImportBranchmind) -> dict[str, Any]:
    """Import the workspaces of a BranchMind store: branches, notes, trace, graph, cards, plans, tasks, jobs, evidence.

    Each goes to the workspace of the same name, which must not hold anything yet; then every id means the same.
    """
    path = _file(ctx, args.path)
    with opened_foreign(path) as source:
        _check(source, path)
        names = [row["workspace"] for row in source.rows("workspaces", "workspace")]
        wanted = [name for name in names if args.only in (None, name)]
        if not wanted:
            raise ClewError(
                "NOT_FOUND", f"{path} has no workspace {args.only}", f"It has {', '.join(names) or 'none'}."
            )
        reports = [{"workspace": name} if args.dry_run else _imported(ctx, source, name) for name in wanted]
    return {"path": str(path), "dry_run": args.dry_run, "workspaces": reports, "count": len(reports)}


def _file(ctx: Context, given: str) -> Path:
    base = placed(given).resolve() if ctx.connection.local else confined(ctx.settings.home / "imports", given)
    return base / FILE if base.is_dir() else base


def _check(source: ForeignStore, path: Path) -> None:
    missing = [table for table in NEEDED if table not in source.tables]
    if missing:
        raise ClewError(
            "INVALID_INPUT", f"{path} is no store of BranchMind: it has no {', '.join(missing)}", f"Name {FILE}."
        )


def _imported(ctx: Context, source: ForeignStore, name: str) -> dict[str, Any]:
    with ctx.elsewhere(check_workspace(name)).writing() as bound:
        if bound.ws.seq:
            raise ClewError(
                "CONFLICT",
                f"workspace {name} holds something already; numbers of the import would mean other things",
                "Import into a new store, or name another workspace with only.",
                suggestions=[suggest("workspace_list", "Shows what there is.")],
            )
        work = Adoption(source, name)
        adopt_events(bound, work)
        adopt_log(bound, work)
        adopt_refs(bound, work)
        adopt_work(bound, work)
        adopt_history(bound, work)
        bound.emit("system", "workspace_imported", name, {"from": "branchmind", **work.counts})
    return {"workspace": name, **work.counts, "left_out": left_out(work)}


def left_out(work: Adoption) -> dict[str, int]:
    """Tables of the source with rows of this workspace that have no home here, with how many."""
    counts = {table: sum(1 for _ in work.rows(table, "workspace")) for table in _others(work.source)}
    return {table: count for table, count in counts.items() if count}


def _others(source: ForeignStore) -> list[str]:
    return [table for table in source.tables if table not in TAKEN and "workspace" in source.columns(table)]
