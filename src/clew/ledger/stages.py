"""The gateway's stages: which operation needs which, and how to get there."""

from __future__ import annotations

from clew.errors import ClewError, Suggestion, suggest
from clew.ledger.places import STAGES, Place
from clew.registry.context import Context

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
"""By operation, or by the part before the dot. Everything else is open from the start."""


def needed_stage(wire: str) -> int:
    return NEEDED.get(wire.partition(".")[0], 0)


def check_stage(ctx: Context, wire: str, place: Place, session: str | None) -> None:
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


def _way(ctx: Context, place: Place, needed: int, session: str | None) -> tuple[Suggestion, str]:
    """The next call, which works as it stands from where the caller is."""
    if place.stage == 0 and not ctx.session.durable and session is None:
        advice = "This connection keeps nothing between calls: pass the sessionId that start_new returned."
    elif place.stage == 0:
        advice = "Call the gateway with operation 'start_new' or 'load_context' first."
    else:
        advice = "Call the gateway with operation 'cipher' first."
    if place.stage == 0:
        params = {"operation": "start_new", **({"cipher": True} if needed > 1 else {})}
        return suggest(GATEWAY, "Starts a session.", "high", **params), advice
    handle = {} if ctx.session.durable else {"sessionId": session}
    return suggest(GATEWAY, "Shows the notation and opens thinking.", "high", operation="cipher", **handle), advice
