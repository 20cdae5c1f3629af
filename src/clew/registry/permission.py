"""Which workspaces this server may access, which one is its own, and which may be created."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.canonical import Json
from clew.errors import ClewError, suggest
from clew.registry.credentials import Scope
from clew.settings import FILE, PLACE, Settings
from clew.store.database import Database, Row, Transaction
from clew.store.workspaces import find_workspace, last_used_workspaces, workspace_count, workspace_names
from clew.surroundings import clew_command

if TYPE_CHECKING:
    from clew.registry.connection import Connection
    from clew.registry.context import Context

MOST_WORKSPACES = 10_000
"""Stops a loop over wrong names; a person who needs more workspaces uses more than one store."""


def permitted(settings: Settings, workspace: str) -> str:
    """The workspace itself; refused if the server is locked to another one or has a list without it."""
    own, allowed = settings.workspace, settings.workspace_allowlist
    if workspace == own:
        return workspace
    if settings.workspace_lock:
        raise ClewError(
            "WORKSPACE_LOCKED",
            f"this server is locked to workspace {own}; the call names {workspace}",
            f"Leave workspace out, or set it to {own}.",
            suggestions=[suggest("status", "Shows the workspace this server serves.")],
        )
    if allowed and workspace not in allowed:
        raise ClewError(
            "WORKSPACE_NOT_ALLOWED",
            f"workspace {workspace} is not on the allow list",
            f"Use one of {', '.join(sorted({*allowed, own}))}.",
            suggestions=[suggest("status", "Shows the workspaces that are allowed.")],
        )
    return workspace


def narrowed(settings: Settings, workspaces: tuple[str, ...]) -> Settings:
    """The settings for a caller whose token lists these workspaces."""
    allowed = tuple(name for name in workspaces if permits(settings, name))
    if not allowed:
        raise ClewError(
            "WORKSPACE_NOT_ALLOWED",
            f"this token is for {', '.join(workspaces)}, which this server does not serve",
            "Ask whoever made the token for one with the right workspaces.",
        )
    own = settings.workspace if settings.workspace in allowed else allowed[0]
    return replace(settings, workspace=own, workspace_lock=False, workspace_allowlist=allowed)


def check_scope(connection: Connection, writes: bool) -> None:
    """Refuse a call that is outside the scope of its token."""
    scope: Scope = "write" if writes else "read"
    if connection.principal is None or connection.principal.may(scope):
        return
    allowed = ", ".join(sorted(connection.principal.scopes))
    raise ClewError(
        "NOT_ALLOWED",
        f"this token does not allow to {scope}; it allows {allowed or 'nothing'}",
        f"Ask for a token with the scope {scope}.",
        details={"rule": "scope", "scope": scope},
    )


def other_workspaces(ctx: Context, most: int) -> list[Row]:
    """Other non-empty workspaces that the caller may name, the most recently changed first.

    A person at this machine's shell may read the whole store anyway.
    """
    # All, truncated afterwards: those that are not permitted must not displace those that are.
    found = [row for row in last_used_workspaces(ctx.tx, MOST_WORKSPACES) if row["id"] != ctx.workspace]
    return [row for row in found if ctx.connection.local or permits(ctx.settings, row["id"])][:most]


def own_workspace(settings: Settings, database: Database) -> tuple[Settings, bool]:
    """The settings with this project's own workspace, and whether that is final.

    By default the workspace has the name of the project's directory. Two directories may have the same name, so the
    workspace is marked with the path of the project that used it first; the next one gets another name.
    """
    # An explicit workspace or mark is shared on purpose; only a derived name may belong to another project.
    chosen = settings.workspace_chosen or bool(settings.project_guard)
    if chosen and not settings.claims_workspace:
        return settings, True
    with database.read() as tx:
        row = find_workspace(tx, settings.workspace)
    if chosen:
        _check_claim(settings, row)
        return settings, row is not None
    guard = row["project_guard"] if row is not None else None
    if guard is None or not guard.startswith(PLACE):
        return settings, row is not None and guard is not None
    if guard == settings.own_guard:
        return settings, True
    place = settings.own_guard.removeprefix(PLACE)[:8]
    return replace(settings, workspace=f"{settings.workspace[:119]}-{place}"), True


def _check_claim(settings: Settings, row: Row | None) -> None:
    """Refuse a file that came with a clone and names a workspace created from another path: it would read and write
    there."""
    if row is None or row["project_guard"] == settings.place_mark:
        return
    file = settings.project_root / FILE
    raise ClewError(
        "NOT_ALLOWED",
        f"{file} names workspace {settings.workspace}, which another place made, and nobody has trusted the file",
        f"Read the file. If this project is to share that memory: {clew_command('trust')}, in a terminal. Otherwise"
        " remove workspace from it.",
        details={"rule": "trust", "workspace": settings.workspace, "file": str(file)},
    )


def check_room(tx: Transaction) -> None:
    if workspace_count(tx) >= MOST_WORKSPACES:
        raise ClewError(
            "NOT_ALLOWED",
            f"this store has {MOST_WORKSPACES} workspaces, and no more are made",
            "Use one of them, or another store.",
        )


ON_PURPOSE = frozenset({"init", "import_branchmind"})
"""Operations that are meant to create a workspace, whatever its name looks like."""


def check_not_mistyped(tx: Transaction, settings: Settings, name: str, call: tuple[str, Json] | None) -> None:
    """Refuse to write to a new workspace whose name looks like a typo of a known one."""
    operation, arguments = call or ("init", {})
    known = {*workspace_names(tx), settings.workspace} - {name}
    near = next((other for other in sorted(known) if is_slip(name, other) and permits(settings, other)), None)
    if near is None or operation in ON_PURPOSE:
        return
    raise ClewError(
        "UNKNOWN_ID",
        f"there is no workspace {name}; there is {near}",
        f"Name {near}, or make {name} with init if it is meant to be another one.",
        suggestions=[
            suggest(operation, f"The same call in {near}.", "high", **{**arguments, "workspace": near}),
            suggest("init", f"Makes {name} beside {near}.", "low", workspace=name),
        ],
    )


def of_another_project(
    tx: Transaction, settings: Settings, name: str, mark: str, call: tuple[str, Json] | None
) -> ClewError:
    """The refusal of a workspace that another project uses, with the same call in one that this project may use."""
    free = _unmarked(tx, settings, name)
    again = [] if call is None or free is None else [(call[0], {**call[1], "workspace": free})]
    return ClewError(
        "PROJECT_GUARD_MISMATCH",
        f"workspace {name} belongs to {mark}, this server to {settings.own_guard}",
        f"Name another workspace, or set project_guard to {mark} if this is the same project.",
        suggestions=[suggest(target, f"The same call in {free}.", "high", **given) for target, given in again],
    )


def _unmarked(tx: Transaction, settings: Settings, refused: str) -> str | None:
    """The server's own workspace, else a new one named after its mark; None if neither may be used."""
    ending = re.sub(r"[^a-z0-9]+", "-", settings.own_guard.lower()).strip("-")[:24].strip("-") or "other"
    for name in (settings.workspace, f"{refused[:100]}-{ending}"):
        row = find_workspace(tx, name)
        mark = row["project_guard"] if row is not None else None
        if name != refused and mark in (None, settings.own_guard) and permits(settings, name):
            return name
    return None


def permits(settings: Settings, workspace: str) -> bool:
    try:
        return permitted(settings, workspace) == workspace
    except ClewError:
        return False


def is_slip(name: str, other: str) -> bool:
    """Whether one name is a typo of the other: other case or separators, or one letter wrong, missing or swapped.

    Names that differ in a number (v1, v2) differ on purpose, and in a short name one letter is too much.
    """
    one, two = (re.sub(r"[-_./]", "", text.lower()) for text in (name, other))
    if one == two:
        return True
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two) or min(len(one), len(two)) < 4:
        return False
    if len(one) == len(two):
        wrong = [place for place in range(len(one)) if one[place] != two[place]]
        swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1 and sorted(one) == sorted(two)
        return len(wrong) == 1 or swapped
    short, long = sorted((one, two), key=len)
    return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))
