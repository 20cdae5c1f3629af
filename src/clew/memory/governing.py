"""The governance settings as an operation: who may apply what, and how much."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.memory import state
from clew.memory.state import Count, Mode
from clew.memory.sync import sync
from clew.memory.writing import governed
from clew.registry.context import Context
from clew.registry.operation import Input, operation


class GovernanceInput(Input):
    mode: Annotated[Mode | None, Field(description="detect_only: nothing is applied; propose; enforce.")] = None
    per_run: Annotated[Count | None, Field(description="Proposals a scan may make.")] = None
    per_day: Annotated[Count | None, Field(description="Automatic proposals and applies in 24 hours.")] = None
    backlog_limit: Annotated[Count | None, Field(description="Waiting proposals above which none is made.")] = None
    defer_cooldown_days: Annotated[Count | None, Field(description="How long a deferral lasts.")] = None
    no_touch_minutes: Annotated[Count | None, Field(description="Pause between automatic applies.")] = None


@operation("governance", writes=True, mode="own", idempotent=True, bare=lambda result: result)
def governance(ctx: Context, args: GovernanceInput) -> dict[str, Any]:
    """Show or change the governance mode, budgets and waiting times."""
    given = args.model_dump(exclude_none=True, exclude={"workspace"})
    if not given:
        sync(ctx)
        with ctx.reading() as bound:
            return _shown(state.load(bound))
    with governed(ctx) as bound:
        known = state.load(bound).governance.model_dump()
        budget = {**known["proposal_budget"], **{k: v for k, v in given.items() if k in known["proposal_budget"]}}
        rest = {k: v for k, v in given.items() if k in known}
        mode = {"governance_mode": given["mode"]} if "mode" in given else {}
        state.save(bound, state.Governance.model_validate({**known, **rest, **mode, "proposal_budget": budget}))
        return _shown(state.load(bound))


def _shown(loaded: state.Loaded) -> dict[str, Any]:
    shown = loaded.governance.model_dump()
    return {**shown, "problem": loaded.problem} if loaded.problem else shown
