"""Where a caller stands: its session, and how far it has come. A stage belongs to a handle.

On a connection with a handshake the handle is the connection, and its place lives in memory as long as that. On the
stateless protocol the handle is the `sessionId` argument, and the place is stored with that session.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from clew.canonical import canonical
from clew.ledger.sessions import WORK, LedgerSession, find_session, session_named
from clew.registry.context import Context

STAGES = ("entry", "init_complete", "cipher_loaded", "domain_active")


@dataclass(frozen=True)
class Place:
    session: str | None = None
    started: bool = False
    cipher: bool = False
    domain: str | None = None
    root: str | None = None
    work: dict[str, str] = field(default_factory=dict)

    @property
    def stage(self) -> int:
        if not self.started:
            return 0
        if not self.cipher:
            return 1
        return 3 if self.domain else 2

    @property
    def stage_name(self) -> str:
        return STAGES[self.stage]


@dataclass
class Seat:
    """The place of a connection, and the lock under which its first thought starts a session."""

    places: dict[str, Place] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def seat(ctx: Context) -> Seat:
    found = ctx.session.state.setdefault("ledger", Seat())
    assert isinstance(found, Seat)
    return found


def place_of(ctx: Context, session: str | None) -> Place:
    """Where the caller stands; opens no transaction of its own."""
    if ctx.session.durable:
        return seat(ctx).places.get(ctx.workspace, Place())
    found = find_session(ctx, session) if session else None
    return place_from(found) if found else Place()


def peek_place(ctx: Context, session: str | None) -> Place:
    """The same, for a caller that has no transaction; a handle that leads nowhere is an error."""
    if ctx.session.durable or not session:
        return place_of(ctx, None)
    with ctx.reading() as bound:
        return place_from(session_named(bound, session))


def place_from(session: LedgerSession) -> Place:
    kept = session.place
    return Place(
        session=session.id,
        started=True,
        cipher=bool(kept.get("cipher")),
        domain=kept.get("domain"),
        root=kept.get("root"),
        work=session.work,
    )


def keep_place(ctx: Context, place: Place) -> None:
    """Remember a place: in the connection once the transaction is durable, else with the session."""
    if ctx.session.durable:
        places, workspace = seat(ctx).places, ctx.workspace
        ctx.after_commit(lambda: places.__setitem__(workspace, place))
    elif place.session is not None:
        ctx.tx.run(
            "UPDATE ledger_session SET place = ? WHERE workspace = ? AND id = ?",
            canonical(stored(place)),
            ctx.workspace,
            place.session,
        )


def stored(place: Place) -> dict[str, Any]:
    return {"cipher": place.cipher, "domain": place.domain, "root": place.root}


def moved(place: Place, session: LedgerSession, **changes: Any) -> Place:
    """The place of someone who goes on in this session."""
    work = {name: value for name, value in session.work.items() if name in WORK}
    return replace(place, session=session.id, started=True, work=work, **changes)
