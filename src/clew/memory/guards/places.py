"""Guards apply to a place: the project's directory, whatever workspace its settings currently name.

A file in the project may name another workspace, and an agent can write that file. So an action is
checked against the guards of every workspace that was used from the project's directory, and hooks find
them through `guarded_places`.
"""

from __future__ import annotations

from clew.guarded_places import mark_of, note_place, read_place
from clew.memory.guards.check import RESPONSES, stored_check
from clew.registry.context import Context
from clew.registry.permission import permits
from clew.settings import PLACE
from clew.store.database import placeholders
from clew.store.workspaces import workspaces_marked

GUARDS = "memory.guards"
"""The key under which a caller on another machine finds the data for its hooks."""


def guarding_workspaces(ctx: Context) -> list[str]:
    """The workspaces whose guards apply to this project, its own first."""
    place = ctx.connection.place
    if place is not None:
        named = [name for name in place.workspaces if permits(ctx.settings, name)]
        return list(dict.fromkeys((ctx.workspace, *named)))
    root = str(ctx.settings.project_root)
    marked = workspaces_marked(ctx.tx, f"{PLACE}{mark_of(root)}")
    noted = read_place(str(ctx.settings.home), root)
    return list(dict.fromkeys((ctx.workspace, *marked, *(noted.workspaces if noted is not None else ()))))


def note_guards(ctx: Context) -> None:
    """Record the strictest guard action of this project for its hooks."""
    names = guarding_workspaces(ctx)
    if ctx.connection.place is not None:
        ctx.connection.returned[GUARDS] = {"strictest": _strictest(ctx, names), "workspaces": names}
        return
    note_place(str(ctx.settings.home), str(ctx.settings.project_root), _strictest(ctx, names), names)


def _strictest(ctx: Context, names: list[str]) -> str:
    """The strictest action of any guard in these workspaces; empty without a guard."""
    sql = f"SELECT fields FROM guard WHERE workspace IN ({placeholders(len(names))})"
    found = {stored_check(row["fields"]).action for row in ctx.tx.all(sql, *names)}
    return max(found, key=RESPONSES.index, default="")
