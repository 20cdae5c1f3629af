"""What is kept of a caller between its calls: its focus, its checkout, and what it has seen.

It belongs to an agent and its connection, never to the workspace, so that two agents do not move each other. The family
is the agent without the number of its connection: a new connection of the same client reads what its family left
behind, but never acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clew.registry.agents import client_family
from clew.store.rows import Record, find, load

if TYPE_CHECKING:
    from clew.registry.context import Context


@dataclass(frozen=True, slots=True)
class Caller:
    """Empty strings where nothing is known: callers without a name share one state."""

    agent: str
    connection: str
    family: str


@dataclass(frozen=True, slots=True)
class CallerState(Record):
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
        """The event after which everything is news to this connection, however much it has written since."""
        return self.since_seq if self.connection else self.last_seen_seq


def caller_of(ctx: Context) -> Caller:
    session, agent = ctx.session, ctx.agent or ""
    family = client_family(session)
    connection = (session.handle or "") if session.durable else ""
    unnamed = agent in ("", family, f"{family}-{session.number}")
    return Caller(agent, connection, family if unnamed else agent)


_SEEN = """
INSERT INTO caller_state (workspace, agent, connection, family, since_seq, last_seen_seq, seen_at_ms)
VALUES (?, ?, ?, ?, COALESCE((SELECT max(last_seen_seq) FROM caller_state WHERE workspace = ? AND family = ?), ?), ?, ?)
ON CONFLICT (workspace, agent, connection)
DO UPDATE SET last_seen_seq = excluded.last_seen_seq, seen_at_ms = excluded.seen_at_ms
"""


def keep_seen(ctx: Context) -> None:
    """Note that the caller was here; once for each transaction that wrote something, without a question before it."""
    caller, seq = caller_of(ctx), ctx.ws.event_seq
    key = (ctx.workspace, caller.agent, caller.connection, caller.family)
    ctx.tx.run(_SEEN, *key, ctx.workspace, caller.family, seq, seq, ctx.now_ms)


def own_state(ctx: Context) -> CallerState | None:
    """What is kept of exactly this caller: its agent and its connection."""
    caller = caller_of(ctx)
    return find(ctx.tx, ctx.workspace, CallerState, caller.agent, caller.connection)


def last_state(ctx: Context) -> CallerState | None:
    """The caller's own state, else the last one of its family. For reading only: acting on it would move another."""
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
    """The event after which everything is news to this caller; None when nobody of its family was ever here."""
    own = own_state(ctx)
    if own is not None:
        return own.since
    last = last_state(ctx)
    return last.last_seen_seq if last is not None else None


def own_focus(ctx: Context) -> str | None:
    """The plan or task that this caller works on; calls of other agents and connections never move it."""
    own = own_state(ctx)
    return own.focus if own is not None else None


def set_own_focus(ctx: Context, id: str | None) -> str | None:
    """Move the caller's own focus; returns where it was."""
    previous = own_focus(ctx)
    if previous != id:
        _keep(ctx, "focus", id)
    return previous


def own_checkout(ctx: Context) -> int | None:
    """The branch that this caller has checked out, where it has chosen one."""
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
