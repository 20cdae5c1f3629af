"""Mode `enforce`: low-risk proposals are applied without waiting, within a budget, and the answer says so."""

from __future__ import annotations

from typing import Any

from clew.clock import rfc3339
from clew.memory import receipts, state, watchers
from clew.memory.blocks import Block
from clew.memory.draft import Draft, drafted
from clew.memory.proposals import ops_of
from clew.memory.state import Governance
from clew.registry.context import Context

DAY_MS = 86_400_000


def apply_if_allowed(ctx: Context, proposal: Block, confidence: str) -> dict[str, Any]:
    """Fields for the answer: the receipt of an automatic apply, or why there was none. Empty in other modes."""
    governance = state.load(ctx).governance
    if governance.governance_mode != "enforce":
        return {}
    draft = drafted(ctx, ops_of(proposal))
    reason = _obstacle(ctx, proposal, draft, confidence, governance)
    if reason:
        return {"auto_applied": False, "auto_apply_refused": reason}
    receipt = receipts.apply(ctx, proposal, draft, automatic=True)
    return {
        "auto_applied": True,
        "receipt_ts": receipt.ts,
        "safety": "Mode enforce: this low-risk proposal was applied by itself. rollback_proposal takes it back.",
        "next_step": f"To take it back: rollback_proposal receipt_ts={receipt.ts}.",
    }


def _obstacle(ctx: Context, proposal: Block, draft: Draft, confidence: str, governance: Governance) -> str | None:
    if proposal.get("Risk") != "low":
        return f"rule risk: {proposal.get('Risk')} risk waits for approval"
    if confidence == "low":
        return "rule confidence: low confidence waits for approval"
    done = receipts.automatic_since(ctx, ctx.now_ms - DAY_MS)
    budget = governance.proposal_budget.per_day
    if len(done) >= budget:
        ends = rfc3339(done[budget - 1]["created_at_ms"] + DAY_MS) if budget else "when per_day is raised"
        return f"rule per_day: {budget} automatic applies in 24 hours are used up; ends {ends}"
    pause = governance.no_touch_minutes * 60_000
    if done and ctx.now_ms - done[0]["created_at_ms"] < pause:
        return f"rule no_touch: ends {rfc3339(done[0]['created_at_ms'] + pause)}"
    objections = watchers.objections(ctx, draft)
    return f"rule objection: {objections[0]}" if objections else None
