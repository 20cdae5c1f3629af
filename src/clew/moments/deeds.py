"""What an agent did, as the hooks of its client saw it: commands with their exit codes, and edits."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import ClassVar

from clew.memory.guards.shell import simple_commands
from clew.memory.screening import screened
from clew.moments.failures import names_in, read_failure
from clew.registry.context import Context
from clew.store.rows import TableRow, insert, load

RUN, EDIT = "run", "edit"
KEPT_MS = 30 * 86_400_000
MOST_READ = 400
"""Deeds that are looked back over: more than lie between a failure and its end."""
LONGEST_SUBJECT = 500

_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
_REDIRECTED = re.compile(r"\s*\d?>&\d\s*")


@dataclass(frozen=True, slots=True)
class AgentDeed(TableRow):
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
    """Text that may be kept and looked up: without what a user marked as private, and without secrets."""
    return screened(_PRIVATE.sub("", text))[0]


def bare_command(command: str, root_names: tuple[str, ...] = ()) -> str:
    """A line as it would be typed in the project: without going there first, and without joining its outputs."""
    line = _REDIRECTED.sub(" ", command.strip()).strip()
    while line.startswith("cd "):
        place, sign, rest = line[3:].partition("&&")
        if not sign or place.strip().strip("'\"").rstrip("/") not in root_names:
            break
        line = rest.strip()
    return " ".join(line.split())


def keep_run(ctx: Context, session: str, command: str, exit_code: int, output: str) -> AgentDeed:
    failure = read_failure(public(output)) if exit_code else None
    return _keep(
        ctx,
        AgentDeed(
            ctx.ws.count("agent_deed"),
            session,
            RUN,
            public(command)[:LONGEST_SUBJECT],
            exit_code,
            failure.line if failure else None,
            failure.key if failure else None,
            failure.place if failure else None,
            failure.names if failure else (),
            ctx.now_ms,
        ),
    )


def keep_edit(ctx: Context, session: str, path: str, text: str) -> AgentDeed:
    names = tuple(dict.fromkeys((posixpath.basename(path), *names_in(public(text)))))
    number = ctx.ws.count("agent_deed")
    subject = path[:LONGEST_SUBJECT]
    return _keep(ctx, AgentDeed(number, session, EDIT, subject, None, None, None, None, names, ctx.now_ms))


def _keep(ctx: Context, deed: AgentDeed) -> AgentDeed:
    insert(ctx.tx, ctx.workspace, deed)
    return deed


def deeds_since_success(ctx: Context, command: str, before: int) -> list[AgentDeed]:
    """What was done in the project since a command last succeeded, up to the deed `before`, oldest first."""
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
    return [load(AgentDeed, row) for row in reversed(rows)]


def deeds_of(ctx: Context, session: str, most: int = MOST_READ) -> list[AgentDeed]:
    """The last deeds of a session, oldest first."""
    rows = ctx.tx.all(
        "SELECT * FROM agent_deed WHERE workspace = ? AND session = ? ORDER BY number DESC LIMIT ?",
        ctx.workspace,
        session,
        most,
    )
    return [load(AgentDeed, row) for row in reversed(rows)]


def drop_old(ctx: Context) -> None:
    ctx.tx.run("DELETE FROM agent_deed WHERE workspace = ? AND ts_ms < ?", ctx.workspace, ctx.now_ms - KEPT_MS)
    ctx.tx.run("DELETE FROM agent_told WHERE workspace = ? AND ts_ms < ?", ctx.workspace, ctx.now_ms - KEPT_MS)


def programs(command: str) -> list[list[str]]:
    """The commands of a line, each as its words; the program by its name alone."""
    return [command.line.split() for command in simple_commands(command) if command.words]
