"""Agent sessions as reported by the hooks of their clients: the task each works on, the records already shown to it,
and its actions (commands with their exit codes, and edits).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from typing import ClassVar

from clew.hook_events.failures import names_in, read_failure
from clew.memory.guards.shell import simple_commands
from clew.private_parts import without_private
from clew.registry.callers import recent_foci
from clew.registry.context import Context
from clew.registry.record import FileEdit, file_edits
from clew.secrets import screened
from clew.store.rows import TableRow, find, find_many, insert, load, upsert
from clew.tasks.plans import Work, find_work

FAMILIES = {
    "claude": ("claude",),
    "codex": ("codex",),
    "cursor": ("cursor",),
    "vscode": ("visual-studio-code", "vscode", "copilot"),
    "copilot": ("copilot",),
    "gemini": ("gemini",),
    "antigravity": ("antigravity",),
    "windsurf": ("windsurf", "devin"),
    "opencode": ("opencode",),
}
"""Prefixes of the names that a client's MCP connections send in the handshake."""
RECENT_MS = 24 * 3_600_000
"""A focus that was not used for a day is no longer the current task of a session."""
TWICE_MS = 10_000
"""Hooks that are installed twice report the same event within seconds; a later report is a new event."""


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
    """The stored session, or a new one; nothing is written."""
    known = find_session(ctx, id)
    return known or AgentSession(id, client, None, 0, None, None, ctx.now_ms, ctx.now_ms, None)


def keep_session(ctx: Context, session: AgentSession) -> None:
    upsert(ctx.tx, ctx.workspace, replace(session, seen_ms=ctx.now_ms))


def session_before(ctx: Context, id: str) -> AgentSession | None:
    """The last other session of the project that left a checkpoint or did something."""
    row = ctx.tx.one(
        "SELECT * FROM agent_session WHERE workspace = ? AND id <> ? AND (checkpoint IS NOT NULL OR EXISTS"
        " (SELECT 1 FROM agent_deed WHERE agent_deed.workspace = agent_session.workspace"
        " AND agent_deed.session = agent_session.id)) ORDER BY seen_ms DESC, id LIMIT 1",
        ctx.workspace,
        id,
    )
    return load(AgentSession, row) if row is not None else None


def was_shown(ctx: Context, session: str, told: str) -> bool:
    sql = "SELECT 1 FROM agent_told WHERE workspace = ? AND session = ? AND told = ?"
    return ctx.tx.value(sql, ctx.workspace, session, told) is not None


def first_time(ctx: Context, session: str, told: str, again_after_ms: int | None = None) -> bool:
    """Whether a session is shown something for the first time (this is recorded), or again after so many milliseconds.

    Of two concurrent hooks the second waits for the first one's transaction, so only one of them gets true.
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


def shown_records(ctx: Context, session: str) -> list[str]:
    """The records that a session has been shown."""
    rows = ctx.tx.all(
        "SELECT told FROM agent_told WHERE workspace = ? AND session = ? AND told LIKE 'record:%'",
        ctx.workspace,
        session,
    )
    return [row["told"].removeprefix("record:") for row in rows]


def task_in_focus(ctx: Context, session: AgentSession) -> Work | None:
    """The open task that a session works on, if it is unambiguous.

    The session's own calls of Clew take precedence. The fallback is the focus of its client's connections of today, if
    all have the same task: two sessions at work must not prove each other's steps.
    """
    foci = recent_foci(ctx, FAMILIES.get(session.client, (session.client,)), ctx.now_ms - RECENT_MS)
    candidates = [session.focus] if session.focus else foci or [ctx.ws.focus or ""]
    works = [work for id in candidates if id and (work := find_work(ctx, id)) is not None]
    open_ones = [work for work in works if work.is_task and work.is_open]
    return open_ones[0] if len(open_ones) == 1 else None


RUN, EDIT = "run", "edit"
KEPT_MS = 30 * 86_400_000
MOST_READ = 400
"""Actions that are searched backwards: more than occur between a failure and its fix."""
LONGEST_SUBJECT = 500

_REDIRECTED = re.compile(r"\s*\d?>&\d\s*")


@dataclass(frozen=True, slots=True)
class AgentAction(TableRow):
    TABLE: ClassVar[str] = "agent_deed"
    KEY: ClassVar[tuple[str, ...]] = ("number",)
    LISTS: ClassVar[frozenset[str]] = frozenset({"names"})

    number: int
    session: str
    kind: str
    subject: str
    exit_code: int | None
    error: str | None
    error_key: str | None
    place: str | None
    names: tuple[str, ...]
    ts_ms: int

    @property
    def failed(self) -> bool:
        return self.kind == RUN and self.exit_code not in (None, 0)

    @property
    def passed(self) -> bool:
        return self.kind == RUN and self.exit_code == 0


def public(text: str) -> str:
    """Text that may be stored and searched: without passages marked as private, and without secrets."""
    return screened(without_private(text))[0]


def bare_command(command: str, root_names: tuple[str, ...] = ()) -> str:
    """A command line as it would be typed in the project: without a leading `cd` and `2>&1`."""
    line = _REDIRECTED.sub(" ", command.strip()).strip()
    while line.startswith("cd "):
        place, sign, rest = line[3:].partition("&&")
        if not sign or place.strip().strip("'\"").rstrip("/") not in root_names:
            break
        line = rest.strip()
    return " ".join(line.split())


def keep_run(ctx: Context, session: str, command: str, exit_code: int, output: str) -> AgentAction:
    failure = read_failure(public(output)) if exit_code else None
    return _keep(
        ctx,
        AgentAction(
            ctx.ws.count("agent_deed"),
            session,
            RUN,
            # Redacted before it is truncated, because half a secret would not be recognised.
            public(command)[:LONGEST_SUBJECT],
            exit_code,
            failure.line if failure else None,
            failure.key if failure else None,
            failure.place if failure else None,
            failure.names if failure else (),
            ctx.now_ms,
        ),
    )


def keep_edit(ctx: Context, session: str, path: str, text: str) -> AgentAction:
    names = tuple(dict.fromkeys((posixpath.basename(path), *names_in(public(text)))))
    number = ctx.ws.count("agent_deed")
    subject = public(path)[:LONGEST_SUBJECT]
    return _keep(ctx, AgentAction(number, session, EDIT, subject, None, None, None, None, names, ctx.now_ms))


def _keep(ctx: Context, action: AgentAction) -> AgentAction:
    insert(ctx.tx, ctx.workspace, action)
    return action


def actions_since_success(ctx: Context, command: str, before: int) -> list[AgentAction]:
    """The actions in the project since a command last succeeded, up to the action `before`, oldest first."""
    last = ctx.tx.value(
        "SELECT max(number) FROM agent_deed WHERE workspace = ? AND subject = ? AND exit_code = 0 AND number < ?",
        ctx.workspace,
        command,
        before,
    )
    rows = ctx.tx.all(
        "SELECT * FROM agent_deed WHERE workspace = ? AND number > ? AND number <= ? ORDER BY number DESC LIMIT ?",
        ctx.workspace,
        last or 0,
        before,
        MOST_READ,
    )
    return [load(AgentAction, row) for row in reversed(rows)]


MOST_EDITS = 40


@file_edits("hooks")
def edits_reported(ctx: Context, since_ms: int) -> list[FileEdit]:
    """The files that sessions edited since a time, the last edited first, by their path in the project."""
    rows = ctx.tx.all(
        "SELECT subject, max(number) AS last FROM"
        " (SELECT * FROM agent_deed WHERE workspace = ? ORDER BY number DESC LIMIT ?) AS latest"
        " WHERE kind = ? AND ts_ms >= ? GROUP BY subject ORDER BY last DESC LIMIT ?",
        ctx.workspace,
        MOST_READ,
        EDIT,
        since_ms,
        MOST_EDITS,
    )
    numbers = [row["last"] for row in rows]
    if not numbers:
        return []
    clients = {row["id"]: row["client"] for row in ctx.tx.all(_CLIENTS, ctx.workspace)}
    actions = find_many(ctx.tx, ctx.workspace, AgentAction, numbers, "number")
    base = f"{ctx.project}/" if ctx.project is not None else ""
    return [
        FileEdit(action.subject.removeprefix(base), action.session, clients.get(action.session, ""), action.ts_ms)
        for action in sorted(actions, key=lambda action: -action.number)
    ]


_CLIENTS = "SELECT id, client FROM agent_session WHERE workspace = ? ORDER BY seen_ms DESC LIMIT 100"


def actions_of(ctx: Context, session: str) -> list[AgentAction]:
    """The last actions of a session, oldest first."""
    rows = ctx.tx.all(
        "SELECT * FROM agent_deed WHERE workspace = ? AND session = ? ORDER BY number DESC LIMIT ?",
        ctx.workspace,
        session,
        MOST_READ,
    )
    return [load(AgentAction, row) for row in reversed(rows)]


def last_edit(ctx: Context, session: str) -> int:
    """The number of a session's last edit of a file; 0 before the first."""
    found = ctx.tx.value(
        "SELECT max(number) FROM agent_deed WHERE workspace = ? AND session = ? AND kind = ?",
        ctx.workspace,
        session,
        EDIT,
    )
    return found or 0


def drop_old(ctx: Context) -> None:
    ctx.tx.run("DELETE FROM agent_deed WHERE workspace = ? AND ts_ms < ?", ctx.workspace, ctx.now_ms - KEPT_MS)
    ctx.tx.run("DELETE FROM agent_told WHERE workspace = ? AND ts_ms < ?", ctx.workspace, ctx.now_ms - KEPT_MS)


def programs(command: str) -> list[list[str]]:
    """The commands of a line, each as its words; the program by its name alone."""
    return [command.line.split() for command in simple_commands(command) if command.words]
