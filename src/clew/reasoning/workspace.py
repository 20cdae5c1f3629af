"""The operations on workspaces: init, status, list, use, reset."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew import __version__
from clew.canonical import Json
from clew.clock import rfc3339
from clew.errors import ClewError, invalid, suggest
from clew.ids import check_workspace
from clew.index.item_reads import count_items, index_gaps, vector_lags
from clew.memory.contradictions.queue import count as waiting_comparisons
from clew.reasoning.branches import branch_by_id
from clew.reasoning.documents import GRAPH, NOTES, TRACE
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.catalogue import TIERS, catalogue
from clew.registry.context import Context
from clew.registry.envelope import argument, command, item_lines
from clew.registry.operation import Bounded, Input, Verbosity, View, operation
from clew.registry.permission import MOST_WORKSPACES, other_workspaces
from clew.store.events import last_of_topic
from clew.store.workspaces import MAIN

DEFAULTS = {"branch": MAIN, "docs": {"notes": NOTES, "graph": GRAPH, "trace": TRACE}}

GOLDEN_PATH = [
    {"tool": "tasks_macro_start", "purpose": "start a task with steps"},
    {"tool": "tasks_snapshot", "purpose": "see where you are and what is next"},
    {"tool": "think_card", "purpose": "keep a hypothesis, test, evidence or decision"},
    {"tool": "tasks_macro_close_step", "purpose": "close the step with its proof"},
    {"tool": "recall", "purpose": "find what is already known"},
]


@operation("init", writes=True, idempotent=True)
def init(ctx: Context, args: Input) -> Json:
    """Make sure that the workspace exists, with its default branch checked out."""
    if ctx.ws.checkout is None:
        # The default branch always has the number MAIN_ID, which is 1.
        ctx.ws.checkout = 1
    ctx.suggest(suggest("think_card", "Keeps a first thought.", "low", card={"type": "note", "text": "First note."}))
    return {
        "workspace": ctx.workspace,
        "storage_dir": storage(ctx),
        "schema_version": schema_version(ctx),
        "checkout": checkout_name(ctx),
        "defaults": DEFAULTS,
    }


class Status(Bounded):
    verbosity: Annotated[Verbosity, Field(description="compact leaves out what rarely changes.")] = None


def status_lines(result: Json, default_workspace: str) -> list[str]:
    """The status as lines. A tight budget may have removed any field."""
    policy, server = result.get("workspace_policy", {}), result.get("server", {})
    facts = {
        "checkout": result.get("checkout"),
        "workspace": result.get("workspace"),
        "mode": policy.get("workspace_mode"),
        "lock": policy.get("workspace_lock") or None,
        "version": server.get("version"),
    }
    return [
        " ".join(["ready", *(f"{key}={argument(value)}" for key, value in facts.items() if value)]) + _last(result),
        command("tasks_snapshot", {"workspace": result.get("workspace")}, default_workspace),
    ]


def _last(result: Json) -> str:
    event, entry = result.get("last_task_event"), result.get("last_doc_entry")
    parts = [f"task_event={event['event_id']}"] if event else []
    parts += [f"doc={entry['doc']}@{entry['seq']}"] if entry else []
    return f" | last {' '.join(parts)}" if parts else ""


MOST_ITEMS = 10_000
"""Items of the index are counted up to this number."""
# The default sizes are those of BranchMind's contract.
STATUS_BUDGET = Budget(
    (Drop("portals"), Drop("golden_path"), Drop("defaults"), Drop("index"), Drop("last_event")),
    {"core": 20_000, "daily": 40_000, "full": 60_000},
    keep=("workspace", "checkout", "server", "workspace_policy"),
)


@operation("status", budget=STATUS_BUDGET, view=View(in_lines=True, lines=status_lines))
def status(ctx: Context, args: Status) -> Json:
    """Say which workspace and branch are in use, what happened last and how to go on."""
    result = {
        "server": {"name": "clew", "version": __version__},
        "workspace": ctx.workspace,
        "workspace_exists": True,
        "schema_version": schema_version(ctx),
        "toolset": ctx.connection.toolset,
        "checkout": checkout_name(ctx),
        "focus": ctx.ws.focus,
        "workspace_policy": policy(ctx),
        "last_task_event": (last := _last_task_event(ctx)),
        "last_event": last,
        "last_doc_entry": _last_entry(ctx),
    }
    if ctx.is_compact(args.verbosity):
        return {**result, "next_action": {"tool": "tasks_snapshot", "args": {}}}
    return {
        **result,
        "defaults": DEFAULTS,
        "store": {"engine": ctx.tx.engine, "place": storage(ctx)},
        "index": {
            **_items(ctx),
            "lag": index_gaps(ctx.tx, ctx.workspace),
            "vector_lag": vector_lags(ctx.tx, ctx.workspace),
            "uncompared": waiting_comparisons(ctx),
        },
        "golden_path": [item for item in GOLDEN_PATH if catalogue().find(item["tool"])],
        "portals": {tier: [entry.name for entry in catalogue().listed(tier)] for tier in TIERS[:2]},
    }


class WorkspaceList(Bounded):
    limit: Annotated[int, Field(ge=1, le=1000, description="Most workspaces to list, the last changed first.")] = 50


def list_lines(result: Json, default_workspace: str) -> list[str]:
    shown = item_lines(result, result.get("workspaces", ()), _workspace_line)
    left = result.get("count", 0) - len(shown)
    more = [f"and {left} more: raise limit or max_chars"] if left > 0 else []
    return [*shown, *more] or ["no workspace holds anything yet"]


def _workspace_line(row: Json) -> str:
    mark = " (in use)" if row["current"] else ""
    return f"{row['workspace']}{mark}: {row['events']} events, changed {row['changed'][:10]}"


@operation(
    "workspace_list",
    budget=Budget((Trim("workspaces", drop="last"),), 16_000, keep=("count",)),
    view=View(in_lines=True, lines=list_lines),
)
def workspace_list(ctx: Context, args: WorkspaceList) -> Json:
    """List the workspaces that hold something and that you may name, the last changed first."""
    others = other_workspaces(ctx, MOST_WORKSPACES)
    own = [{"id": ctx.workspace, "events": ctx.ws.event_seq, "updated_at_ms": ctx.ws.updated_at_ms}]
    found = sorted([*(own if ctx.ws.event_seq else []), *others], key=lambda row: (-row["updated_at_ms"], row["id"]))
    return {
        "workspaces": [
            {
                "workspace": row["id"],
                "current": row["id"] == ctx.workspace,
                "events": row["events"],
                "changed": rfc3339(row["updated_at_ms"]),
            }
            for row in found[: args.limit]
        ],
        "count": len(found),
        "truncated": False,
    }


def use_lines(result: Json, default_workspace: str) -> list[str]:
    cleared = " override=cleared" if result["override_cleared"] else ""
    return [f"workspace now={result['workspace']}{_previous(result)}{cleared}", "status"]


@operation("workspace_use", writes=True, idempotent=True, view=View(in_lines=True, lines=use_lines))
def workspace_use(ctx: Context, args: Input) -> Json:
    """Make the named workspace the default of this connection."""
    if args.workspace is None:
        recovery = "Name the workspace to use."
        ways = [suggest("workspace_list", "Lists the workspaces that hold something.", "high")]
        raise invalid("workspace", "is required", recovery, ways, kind="missing_required")
    previous = _durable(ctx).workspace_override or ctx.settings.workspace
    wanted = check_workspace(args.workspace)
    cleared = wanted == ctx.settings.workspace and ctx.connection.workspace_override is not None
    ctx.connection.workspace_override = None if wanted == ctx.settings.workspace else wanted
    return {**_choice_json(ctx, wanted, previous), "override_cleared": cleared}


class WorkspaceReset(Input):
    names_workspace = False


def reset_lines(result: Json, default_workspace: str) -> list[str]:
    return [f"workspace auto={result['workspace']}{_previous(result)}", "status"]


def _previous(result: Json) -> str:
    return f" prev={result['previous']}" if result["previous"] != result["workspace"] else ""


class Storage(Input):
    names_workspace = False


@operation("storage")
def storage_place(ctx: Context, args: Storage) -> Json:
    """Say where the store lies."""
    return {"storage_dir": storage(ctx)}


@operation("workspace_reset", writes=True, idempotent=True, view=View(in_lines=True, lines=reset_lines))
def workspace_reset(ctx: Context, args: WorkspaceReset) -> Json:
    """Go back to the server's own default workspace."""
    previous = _durable(ctx).workspace_override or ctx.settings.workspace
    ctx.connection.workspace_override = None
    return _choice_json(ctx, ctx.settings.workspace, previous)


def policy(ctx: Context) -> Json:
    settings, override = ctx.settings, ctx.connection.workspace_override
    allowed = settings.workspace_allowlist
    explicit = settings.origins.get("workspace", "default") != "default"
    return {
        "default_workspace": settings.workspace,
        "workspace_override": override,
        "workspace_effective": override or settings.workspace,
        "workspace_mode": "allowlist" if allowed else "explicit" if explicit else "auto",
        "workspace_allowlist": list(allowed[:20]),
        "workspace_allowlist_count": len(allowed),
        "workspace_allowlist_truncated": len(allowed) > 20,
        "workspace_lock": settings.workspace_lock,
        "project_guard_configured": settings.project_guard is not None,
        "project_guard_stored": ctx.ws.project_guard is not None,
        "default_agent_id": ctx.connection.agent_id or settings.agent_id,
    }


def checkout_name(ctx: Context) -> str | None:
    return branch_by_id(ctx, ctx.ws.checkout).name if ctx.ws.checkout is not None else None


def schema_version(ctx: Context) -> str:
    from clew.store.migrations import latest

    return f"v{latest()}"


def storage(ctx: Context) -> str:
    return "postgresql" if ctx.settings.database_url else str(ctx.settings.home)


def _durable(ctx: Context) -> Any:
    if not ctx.connection.durable:
        raise ClewError(
            "NOT_ALLOWED",
            "this connection keeps no state between calls, so a default workspace would be forgotten",
            "Give `workspace` in each call.",
            suggestions=[suggest("status", "Shows the workspace of this call.")],
        )
    return ctx.connection


def _choice_json(ctx: Context, workspace: str, previous: str) -> Json:
    names = ("default_workspace", "workspace_override", "workspace_mode")
    chosen = policy(ctx)
    return {"workspace": workspace, "previous": previous, **{name: chosen[name] for name in names}}


def _last_task_event(ctx: Context) -> Json | None:
    event = last_of_topic(ctx.tx, ctx.workspace, "tasks")
    return {"event_id": event.id, "ts": rfc3339(event.ts_ms), "ts_ms": event.ts_ms} if event is not None else None


def _last_entry(ctx: Context) -> Json | None:
    row = ctx.tx.one(
        "SELECT seq, ts_ms, (SELECT name FROM branch WHERE branch.workspace = entry.workspace"
        " AND branch.id = entry.branch) AS branch, doc, kind FROM entry WHERE workspace = ? ORDER BY seq DESC LIMIT 1",
        ctx.workspace,
    )
    return {**row, "ts": rfc3339(row["ts_ms"])} if row else None


def _items(ctx: Context) -> Json:
    found = count_items(ctx.tx, ctx.workspace, MOST_ITEMS + 1)
    return {"items": min(found, MOST_ITEMS), "items_has_more": found > MOST_ITEMS}
