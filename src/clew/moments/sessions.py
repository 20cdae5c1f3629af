"""Sessions of agents as their clients' hooks tell of them, and what each has been told already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clew.registry.callers import recent_foci
from clew.registry.context import Context
from clew.store.rows import TableRow, find, load, upsert
from clew.tasks.plans import Work, find_work
from clew.tasks.views.outlook import OVER

FAMILIES = {
    "claude": ("claude",),
    "codex": ("codex",),
    "cursor": ("cursor",),
    "vscode": ("visual-studio-code", "vscode", "copilot"),
    "gemini": ("gemini",),
    "antigravity": ("antigravity",),
    "windsurf": ("windsurf", "devin"),
    "opencode": ("opencode",),
}
"""What the names begin with under which a client's MCP connections introduce themselves."""
RECENT_MS = 24 * 3_600_000
"""A focus that nobody touched for a day is not what a session works on now."""
TWICE_MS = 10_000
"""Hooks that are installed twice tell the same within seconds; what comes later has happened again."""


@dataclass(frozen=True, slots=True)
class AgentSession(TableRow):
    TABLE: ClassVar[str] = "agent_session"

    id: str
    client: str
    focus: str | None
    prompts: int
    pending: str | None
    checkpoint: str | None
    started_ms: int
    seen_ms: int
    ended_ms: int | None


def find_session(ctx: Context, id: str) -> AgentSession | None:
    return find(ctx.tx, ctx.workspace, AgentSession, id)


def session_of(ctx: Context, id: str, client: str) -> AgentSession:
    """The session as it is known, or a new one; nothing is written."""
    known = find_session(ctx, id)
    return known or AgentSession(id, client, None, 0, None, None, ctx.now_ms, ctx.now_ms, None)


def keep_session(ctx: Context, session: AgentSession) -> None:
    upsert(ctx.tx, ctx.workspace, replace(session, seen_ms=ctx.now_ms))


def session_before(ctx: Context, id: str) -> AgentSession | None:
    """The last other session of the project that left a checkpoint."""
    row = ctx.tx.one(
        "SELECT * FROM agent_session WHERE workspace = ? AND id <> ? AND checkpoint IS NOT NULL"
        " ORDER BY seen_ms DESC, id LIMIT 1",
        ctx.workspace,
        id,
    )
    return load(AgentSession, row) if row is not None else None


def was_told(ctx: Context, session: str, told: str) -> bool:
    sql = "SELECT 1 FROM agent_told WHERE workspace = ? AND session = ? AND told = ?"
    return ctx.tx.value(sql, ctx.workspace, session, told) is not None


def first_time(ctx: Context, session: str, told: str, again_after_ms: int | None = None) -> bool:
    """Whether a session is told something for the first time, which is noted; or again after so many milliseconds.

    Of two hooks that ask at once the second waits for the first one's transaction, so one of them is told no.
    """
    sql = "SELECT ts_ms FROM agent_told WHERE workspace = ? AND session = ? AND told = ?"
    before = ctx.tx.value(sql, ctx.workspace, session, told)
    if before is not None and (again_after_ms is None or ctx.now_ms - before < again_after_ms):
        return False
    ctx.tx.run(
        "INSERT INTO agent_told (workspace, session, told, ts_ms) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (workspace, session, told) DO UPDATE SET ts_ms = excluded.ts_ms",
        ctx.workspace,
        session,
        told,
        ctx.now_ms,
    )
    return True


def told_records(ctx: Context, session: str) -> list[str]:
    """The records that a session has been shown."""
    rows = ctx.tx.all(
        "SELECT told FROM agent_told WHERE workspace = ? AND session = ? AND told LIKE 'record:%'",
        ctx.workspace,
        session,
    )
    return [row["told"].removeprefix("record:") for row in rows]


def task_in_focus(ctx: Context, session: AgentSession) -> Work | None:
    """The open task that a session works on, when that is certain.

    Its own calls of Clew say it best. Else it is what its client's connections have had in focus today, as long as
    they all mean the same task: two sessions at work must not prove each other's steps.
    """
    foci = recent_foci(ctx, FAMILIES.get(session.client, (session.client,)), ctx.now_ms - RECENT_MS)
    candidates = [session.focus] if session.focus else foci or [ctx.ws.focus or ""]
    works = [work for id in candidates if id and (work := find_work(ctx, id)) is not None]
    open_ones = [work for work in works if work.is_task and work.status not in OVER]
    return open_ones[0] if len(open_ones) == 1 else None
