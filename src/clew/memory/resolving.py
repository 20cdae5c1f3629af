"""Ways out of contradictions that a scan proposes by itself, as many as the budget allows; a person decides.

Only one side is ever proposed to yield, never one that is an invariant, and never twice: what was rejected stays so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.clock import rfc3339
from clew.memory import blocks, contradictions, proposals, state
from clew.memory.blocks import Block
from clew.memory.ops import Op, fingerprint
from clew.memory.proposals import Staged
from clew.memory.scan import Report
from clew.memory.signatures import signatures
from clew.memory.state import ProposalBudget
from clew.registry.context import Context

MAKER = "scan"
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Limit:
    """How many more may be proposed now, by which rule, and when that ends."""

    room: int
    rule: str
    ends: str


def check(ctx: Context, report: Report) -> None:
    """Stage a resolution for open contradictions that have a clear winner."""
    governance = state.load(ctx).governance
    report.checks["proposed_resolutions"] = []
    if governance.governance_mode == "detect_only":
        return
    wanted = list(_wanted(ctx))
    if not wanted:
        return
    limit = min(_limits(ctx, governance.proposal_budget), key=lambda item: item.room)
    for staged in wanted[: max(0, limit.room)]:
        report.checks["proposed_resolutions"].append(proposals.stage(ctx, staged).id)
    held = len(wanted) - max(0, limit.room)
    if held > 0:
        said = f"{held} more contradictions could be resolved by proposal; rule {limit.rule}; ends {limit.ends}"
        report.find("budget", said, rule=limit.rule.split(":")[0], ends=limit.ends)


def _wanted(ctx: Context) -> Iterator[Staged]:
    """One proposal for each decision that loses, unless one was made for the same reason before."""
    losers = set[str]()
    for entry, sides in contradictions.open_entries(ctx):
        one, other = (sides.get(id) for id in contradictions.objects(entry))
        strategy, _, winner, why, _ = contradictions.advise(one, other)
        loser = other if one is not None and winner == one.id else one
        if strategy != "supersede" or winner is None or loser is None or loser.id in losers or _fixed(loser):
            continue
        staged = _resolution(entry, winner, loser, why)
        if not blocks.with_mark(ctx, "P", fingerprint(staged.type, staged.target, list(staged.ops))):
            losers.add(loser.id)
            yield staged


def _resolution(entry: Block, winner: str, loser: Block, why: str) -> Staged:
    op = Op("set_status", file=loser.file, target=loser.id, status="superseded", history=f"superseded by {winner}")
    said = f"{entry.id}: {loser.id} contradicts {winner}, and {why}"
    return Staged("edit", loser.id, (op,), (entry.id, entry.get("Evidence")), said, by=MAKER)


def _fixed(block: Block) -> bool:
    return any(item.enforcement == "invariant" for item in signatures(block.text))


def _limits(ctx: Context, budget: ProposalBudget) -> Iterator[Limit]:
    staged = blocks.count(ctx, "P", ["staged"])
    made = [block for block in blocks.current(ctx, prefix="P") if block.get("ProposedBy") == MAKER]
    waiting = sum(1 for block in made if block.status == "staged")
    recent = sorted(ts for block in made if (ts := proposals.created_ms(block)) > ctx.now_ms - DAY_MS)
    yield Limit(budget.per_run - waiting, f"per_run: {waiting} of {budget.per_run} wait", "when one is reviewed")
    ends = rfc3339(recent[0] + DAY_MS) if recent else "when per_day is raised"
    yield Limit(budget.per_day - len(recent), f"per_day: {len(recent)} of {budget.per_day} made in 24 hours", ends)
    room = budget.backlog_limit - staged
    yield Limit(room, f"backlog_limit: {staged} proposals wait", f"when fewer than {budget.backlog_limit} wait")
