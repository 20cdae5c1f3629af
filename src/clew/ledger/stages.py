"""The stage of a caller in the seed's protocol, and the stage that each operation of the gateway needs.

A stage belongs to a connection or a session id, never to the workspace, so callers do not move each other.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from clew.canonical import Json, canonical
from clew.errors import ClewError, Suggestion, suggest
from clew.ledger.sessions import WORK, LedgerSession, change_columns, find_session, session_named
from clew.registry.context import Context

STAGES = ("entry", "init_complete", "cipher_loaded", "domain_active")


DOMAINS: dict[str, tuple[str, ...]] = {
    "debugging": ("rubber-duck", "five-whys"),
    "planning": (
        "pre-mortem", "assumption-surfacing", "fermi-estimation", "decomposition", "time-horizon-shifting",
        "impact-effort-grid", "inversion",
    ),
    "architecture": ("trade-off-matrix", "abstraction-laddering", "decomposition", "constraint-relaxation"),
    "decision-making": ("steelmanning", "trade-off-matrix", "opportunity-cost", "time-horizon-shifting"),
    "risk-management": ("pre-mortem", "adversarial-thinking", "inversion"),
    "development": ("rubber-duck", "five-whys", "decomposition"),
    "research": ("assumption-surfacing", "fermi-estimation", "abstraction-laddering"),
    "problem-solving": (),
    "analysis": (),
}  # fmt: skip
"""Domains of work with their mental models; models tagged with the domain belong to it too."""
LEFT = "none"
"""The value that leaves the chosen domain."""


def checked_domain(domain: str | None) -> str | None:
    if domain is None or domain in DOMAINS or domain == LEFT:
        return domain
    raise ClewError(
        "INVALID_INPUT",
        f"domain: there is no domain {domain[:60]!r}",
        f"Use one of {', '.join(DOMAINS)}, or {LEFT} to leave it.",
        [{"kind": "choice", "field": "domain", "allowed": [*DOMAINS, LEFT]}],
        details={"availableDomains": list(DOMAINS)},
    )


@dataclass(frozen=True)
class StageOfCaller:
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
class LedgerSeat:
    """The stages of a connection by workspace, and the lock under which its first thought starts a session."""

    places: dict[str, StageOfCaller] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def seat(ctx: Context) -> LedgerSeat:
    found = ctx.connection.state.setdefault("ledger", LedgerSeat())
    assert isinstance(found, LedgerSeat)
    return found


def place_of(ctx: Context, session: str | None) -> StageOfCaller:
    """The stage of the caller, read within the open transaction."""
    if ctx.connection.durable:
        return seat(ctx).places.get(ctx.workspace, StageOfCaller())
    found = find_session(ctx, session) if session else None
    return place_from(found) if found else StageOfCaller()


def peek_place(ctx: Context, session: str | None) -> StageOfCaller:
    """The same without an open transaction; an unknown session is refused."""
    if ctx.connection.durable or not session:
        return place_of(ctx, None)
    with ctx.reading() as bound:
        return place_from(session_named(bound, session))


def place_from(session: LedgerSession) -> StageOfCaller:
    kept = session.place or {}
    return StageOfCaller(
        session=session.id,
        started=True,
        cipher=bool(kept.get("cipher")),
        domain=kept.get("domain"),
        root=kept.get("root"),
        work=session.work,
    )


def keep_place(ctx: Context, place: StageOfCaller) -> None:
    """Store a stage: in the connection after the commit, or in the session row if the connection keeps nothing."""
    if ctx.connection.durable:
        places, workspace = seat(ctx).places, ctx.workspace
        ctx.after_commit(lambda: places.__setitem__(workspace, place))
    elif place.session is not None:
        change_columns(ctx, place.session, place=canonical(stored(place)))


def own_session(ctx: Context) -> str | None:
    """The session that this connection thinks in."""
    return seat(ctx).places.get(ctx.workspace, StageOfCaller()).session


def leave_session(ctx: Context) -> str | None:
    """Forget the session of this connection, which is no longer in the store; returns its id."""
    places = seat(ctx).places
    place = places.get(ctx.workspace, StageOfCaller())
    places[ctx.workspace] = replace(place, session=None)
    return place.session


def stored(place: StageOfCaller) -> Json:
    return {"cipher": place.cipher, "domain": place.domain, "root": place.root}


def moved(place: StageOfCaller, session: LedgerSession, **changes: Any) -> StageOfCaller:
    """The stage of a caller who continues in this session."""
    work = {name: value for name, value in session.work.items() if name in WORK}
    return replace(place, session=session.id, started=True, work=work, **changes)


GATEWAY = "thoughtbox_gateway"

NEEDED = {
    "cipher": 1,
    "session": 1,
    "deep_analysis": 1,
    "thought": 2,
    "read_thoughts": 2,
    "get_structure": 2,
    "notebook": 2,
    "mental_models": 2,
    "knowledge": 2,
}
"""The needed stage by operation, or by the part before the dot. Other operations need none."""


def needed_stage(wire: str) -> int:
    return NEEDED.get(wire.partition(".")[0], 0)


def check_stage(ctx: Context, wire: str, place: StageOfCaller, session: str | None) -> None:
    needed = needed_stage(wire)
    if place.stage >= needed:
        return
    way, advice = _way(ctx, place, needed, session)
    raise ClewError(
        "STAGE_REQUIREMENT_NOT_MET",
        f"Operation '{wire}' requires stage {STAGES[needed]}, but current stage is {place.stage_name}",
        advice,
        [{"kind": "stage", "field": "operation", "current": place.stage_name, "required": STAGES[needed]}],
        [way],
        {"currentStage": place.stage_name, "requiredStage": STAGES[needed]},
    )


def _way(ctx: Context, place: StageOfCaller, needed: int, session: str | None) -> tuple[Suggestion, str]:
    """The call that leads to the next stage, and the advice for it."""
    if place.stage == 0 and not ctx.connection.durable and session is None:
        advice = "This connection keeps nothing between calls: pass the sessionId that start_new returned."
    elif place.stage == 0:
        advice = "Call the gateway with operation 'start_new' or 'load_context' first."
    else:
        advice = "Call the gateway with operation 'cipher' first."
    if place.stage == 0:
        params = {"operation": "start_new", **({"cipher": True} if needed > 1 else {})}
        return suggest(GATEWAY, "Starts a session.", "high", **params), advice
    handle = {} if ctx.connection.durable else {"sessionId": session}
    return suggest(GATEWAY, "Shows the notation and opens thinking.", "high", operation="cipher", **handle), advice
