"""The caller of each call, and the state kept between its calls: its focus, its checkout, and what it has seen.

A caller without an agent id is identified by the client name with its connection number: `claude-code-3`.
`auto` means an id that is generated once and kept in the store, so that leases survive a restart.

State belongs to an agent and its connection, never to the workspace, so that two agents do not move each other.
The family is the agent without the connection number: a new connection of the same client reads the state that its
family left, but never acts on it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from clew.clock import Clock
from clew.registry.connection import Connection
from clew.registry.mcp_sessions import keep_number, number_of
from clew.store.database import Database, DatabaseResource, Transaction
from clew.store.rows import TableRow, find, load
from clew.store.workspaces import keep_meta, next_count, read_meta

if TYPE_CHECKING:
    from clew.registry.context import Context

AUTO = "auto"
_KEY = "default_agent_id"
_UNFIT = re.compile(r"[^a-z0-9._-]+")
_NAME = 48
"""Maximum length of a client name; an agent id has 64 characters, and the number needs some."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def stored_agent(database: Database, clock: Clock) -> str:
    with database.read() as tx:
        known = read_meta(tx, _KEY)
    return known or _make(database, clock)


def _make(database: Database, clock: Clock) -> str:
    made = f"a{base36(clock())}_{base36(os.getpid())}"
    with database.write() as tx:
        return keep_meta(tx, _KEY, made)


def client_family(connection: Connection) -> str:
    """The client name as an agent id, empty if it has none: shared by all of its connections."""
    return _family(connection.client or "")


class ConnectedClients(DatabaseResource):
    """The clients that connected to this process, including those that have not written anything yet."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.names: set[str] = set()

    def note(self, client: str | None) -> None:
        if name := _family(client or ""):
            self.names.add(name)


@lru_cache(maxsize=256)
def _family(client: str) -> str:
    return _UNFIT.sub("-", client.lower()).strip("-._")[:_NAME].strip("-._")


def client_author(database: Database, connection: Connection, writes: bool) -> str | None:
    """The client name, with the connection number once it has written something.

    Numbers come from the store, so that two processes of one client never share one. A read-only call does not
    allocate one: it must not wait for a writer.
    """
    name = client_family(connection)
    # A stateless request over HTTP has no connection that could own a number; all of them share the client name.
    if not name or not connection.durable:
        return name or None
    if connection.number is None and writes:
        with connection.numbering:
            if connection.number is None:
                connection.number = _next_number(database, name, connection.handle)
    return name if connection.number is None else f"{name}-{connection.number}"


def _next_number(database: Database, name: str, session: str | None) -> int:
    with database.write() as tx:
        # An MCP session may move between servers from call to call, and is the same connection on all of them.
        known = number_of(tx, session)
        if known is None:
            known = next_count(tx, "", f"client:{name}")
            keep_number(tx, session, known)
        return known


def base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"


class Caller(NamedTuple):
    """Empty strings for what is unknown: callers without a name share one state."""

    agent: str
    connection: str
    family: str


@dataclass(frozen=True, slots=True)
class CallerState(TableRow):
    TABLE: ClassVar[str] = "caller_state"
    KEY: ClassVar[tuple[str, ...]] = ("agent", "connection")

    agent: str
    connection: str
    family: str
    focus: str | None
    checkout: int | None
    since_seq: int
    last_seen_seq: int
    seen_at_ms: int

    @property
    def since(self) -> int:
        """The event after which everything is new to this connection, however much it has written since."""
        # A connection keeps its start: what others wrote while it worked stays new until it ends. Callers without
        # one have no start, so what was written since their last write is new to them.
        return self.since_seq if self.connection else self.last_seen_seq


def caller_of(ctx: Context) -> Caller:
    connection, agent = ctx.connection, ctx.agent or ""
    family = client_family(connection)
    handle = (connection.handle or "") if connection.durable else ""
    # An id that the caller provided is its own family, whichever client it comes through.
    unnamed = agent in ("", family, f"{family}-{connection.number}")
    return Caller(agent, handle, family if unnamed else agent)


def author_name(ctx: Context) -> str | None:
    """Author of a record: a person, an agent with an id, or the client. Events record which connection it was."""
    return caller_of(ctx).family or ctx.agent


def is_own(ctx: Context, author: str | None) -> bool:
    """Whether something was written by the caller, on this connection or on an earlier one of the same client."""
    if author == ctx.agent:
        return True
    family = client_family(ctx.connection)
    if not family or not author or caller_of(ctx).family != family:
        return False
    name, _, number = author.rpartition("-")
    # `claude-code-3` belongs to `claude-code`, but `claude-code-helper` is another client.
    return author == family or (name == family and number.isdigit())


_SEEN = """
INSERT INTO caller_state (workspace, agent, connection, family, since_seq, last_seen_seq, seen_at_ms)
VALUES (?, ?, ?, ?, COALESCE((SELECT max(last_seen_seq) FROM caller_state WHERE workspace = ? AND family = ?), ?), ?, ?)
ON CONFLICT (workspace, agent, connection)
DO UPDATE SET last_seen_seq = excluded.last_seen_seq, seen_at_ms = excluded.seen_at_ms
"""


def keep_seen(ctx: Context) -> None:
    """Record that the caller was active: one statement per writing transaction, none for reads."""
    # The caller has seen its own events, so they are never new to it.
    caller, seq = caller_of(ctx), ctx.ws.event_seq
    key = (ctx.workspace, caller.agent, caller.connection, caller.family)
    ctx.tx.run(_SEEN, *key, ctx.workspace, caller.family, seq, seq, ctx.now_ms)
    ctx.memo.pop(_OWN, None)
    if not ctx.connection.state.get(_PRUNED):
        ctx.connection.state[_PRUNED] = True
        _prune(ctx)


_OWN = "the caller's own state"
_PRUNED = "callers pruned"
"""Set once a connection has written something: each removes old rows once."""
KEPT_MS = 90 * 86_400_000
"""Callers without a write for three months are forgotten."""
MOST_CALLERS = 500
"""Maximum number of callers kept per workspace, most recent first. Each connection is one."""
_OLD = "DELETE FROM caller_state WHERE workspace = ? AND seen_at_ms < ?"
_MANY = """
DELETE FROM caller_state WHERE workspace = ? AND seen_at_ms < (
    SELECT seen_at_ms FROM caller_state WHERE workspace = ? ORDER BY seen_at_ms DESC LIMIT 1 OFFSET ?
)
"""


def _prune(ctx: Context) -> None:
    ctx.tx.run(_OLD, ctx.workspace, ctx.now_ms - KEPT_MS)
    # OFFSET counts from 0, so this finds the last caller that is kept.
    ctx.tx.run(_MANY, ctx.workspace, ctx.workspace, MOST_CALLERS - 1)


def own_state(ctx: Context) -> CallerState | None:
    """The state of exactly this caller: its agent and its connection."""
    if _OWN not in ctx.memo:
        caller = caller_of(ctx)
        ctx.memo[_OWN] = find(ctx.tx, ctx.workspace, CallerState, caller.agent, caller.connection)
    own: CallerState | None = ctx.memo[_OWN]
    return own


def last_state(ctx: Context) -> CallerState | None:
    """The caller's own state, else the latest of its family. Read-only: acting on it would move another caller."""
    own = own_state(ctx)
    family = caller_of(ctx).family
    if own is not None or not family:
        return own
    row = ctx.tx.one(
        "SELECT * FROM caller_state WHERE workspace = ? AND family = ?"
        " ORDER BY last_seen_seq DESC, seen_at_ms DESC, agent, connection LIMIT 1",
        ctx.workspace,
        family,
    )
    return load(CallerState, row) if row is not None else None


def unseen_since(ctx: Context) -> int | None:
    """The event after which everything is new to this caller; None if no caller of its family was seen before."""
    own = own_state(ctx)
    if own is not None:
        return own.since
    last = last_state(ctx)
    return last.last_seen_seq if last is not None else None


def own_focus(ctx: Context) -> str | None:
    """The plan or task that this caller works on; calls of other agents and connections never change it."""
    named: str | None = ctx.connection.state.get(_NAMED, {}).get(_place(ctx))
    own = own_state(ctx)
    return named or (own.focus if own is not None else None)


def set_own_focus(ctx: Context, id: str | None) -> str | None:
    """Set the caller's own focus; returns the previous one."""
    previous, own = own_focus(ctx), own_state(ctx)
    ctx.connection.state.get(_NAMED, {}).pop(_place(ctx), None)
    if (own.focus if own is not None else None) != id:
        _keep(ctx, "focus", id)
    return previous


def name_focus(ctx: Context, id: str) -> None:
    """Remember the record that a read-only call named last: its focus for as long as the connection lives.

    Nothing is written, so that a reader never waits for a writer, and no other connection ever sees it.
    """
    if ctx.connection.durable:
        ctx.connection.state.setdefault(_NAMED, {})[_place(ctx)] = id


_NAMED = "task named last"


def _place(ctx: Context) -> tuple[str, str]:
    # By family: before its first write a connection has no number, and its agent then has another name.
    return ctx.workspace, caller_of(ctx).family


ACTIVE_MS = 6 * 3_600_000
"""A caller that wrote something within these hours still counts as active."""


def focus_of_all(ctx: Context) -> str | None:
    """The one focus of all active callers; None if they have different ones, or none.

    For a shell: it belongs to one of the agents, but which one cannot be determined.
    """
    rows = ctx.tx.all(
        "SELECT DISTINCT focus FROM caller_state WHERE workspace = ? AND focus IS NOT NULL AND seen_at_ms >= ? LIMIT 2",
        ctx.workspace,
        ctx.now_ms - ACTIVE_MS,
    )
    return rows[0]["focus"] if len(rows) == 1 else None


def own_checkout(ctx: Context) -> int | None:
    """The branch that this caller has checked out, if it has chosen one."""
    own = own_state(ctx)
    return own.checkout if own is not None else None


def set_own_checkout(ctx: Context, branch: int | None) -> None:
    _keep(ctx, "checkout", branch)


def _keep(ctx: Context, column: str, value: str | int | None) -> None:
    caller = caller_of(ctx)
    keep_seen(ctx)
    ctx.tx.run(
        f"UPDATE caller_state SET {column} = ? WHERE workspace = ? AND agent = ? AND connection = ?",
        value,
        ctx.workspace,
        caller.agent,
        caller.connection,
    )
    ctx.memo.pop(_OWN, None)


def recent_foci(ctx: Context, families: Iterable[str], since_ms: int) -> list[str]:
    """The focus of each client whose name has one of these prefixes, since then: distinct, latest first.

    A caller whose token sets a name has that name with any client; it never gets the focus of another caller.
    """
    found: dict[str, None] = {}
    named = ctx.connection.principal.agent if ctx.connection.principal is not None else ""
    rows = ctx.tx.all(
        "SELECT agent, family, focus FROM caller_state WHERE workspace = ? AND seen_at_ms >= ? AND focus IS NOT NULL"
        " ORDER BY seen_at_ms DESC, agent, connection LIMIT 100",
        ctx.workspace,
        since_ms,
    )
    for row in rows:
        if row["agent"] == named if named else row["family"].startswith(tuple(families)):
            found[row["focus"]] = None
    return list(found)


def latest_family(ctx: Context, families: Iterable[str]) -> str | None:
    """The most recently seen of the families whose names have one of these prefixes."""
    rows = ctx.tx.all(
        "SELECT family FROM caller_state WHERE workspace = ? ORDER BY last_seen_seq DESC, agent LIMIT 100",
        ctx.workspace,
    )
    return next((row["family"] for row in rows if row["family"].startswith(tuple(families))), None)


def client_families(tx: Transaction) -> list[str]:
    """Every client that has written to the store."""
    rows = tx.all("SELECT DISTINCT family FROM caller_state WHERE family <> '' ORDER BY family")
    return [row["family"] for row in rows]


CLIENT = "coalesce(nullif(caller_state.family, ''), event.agent)"
BY_CLIENT = "LEFT JOIN caller_state ON caller_state.workspace = event.workspace AND caller_state.agent = event.agent"
"""The client of an event's agent, and the table that maps it."""


def families(ctx: Context) -> dict[str, str]:
    """The client of each agent that wrote here: `claude-code-7` is a connection of `claude-code`."""
    rows = ctx.tx.all("SELECT agent, family FROM caller_state WHERE workspace = ? AND family <> ''", ctx.workspace)
    return {row["agent"]: row["family"] for row in rows}
