"""Resolving contradictions: the advice of `list_contradictions`, and proposals that a scan makes by itself.

A scan proposes that one side is withdrawn, as often as the budget allows; a person decides. It never
proposes this for an invariant and never twice for the same reason, so what was rejected stays rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from clew.clock import rfc3339
from clew.errors import ClewError, suggest
from clew.kinds import statuses
from clew.memory import block_lists, blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.assertions import statement_of
from clew.memory.contradictions.entries import MAKER, PREFIX, endings, objects
from clew.memory.contradictions.signatures import signatures
from clew.memory.contradictions.worker import catch_up
from clew.memory.files.markdown import listed
from clew.memory.files.sync import sync
from clew.memory.governance import policy, proposals
from clew.memory.governance.patches import Op, digest
from clew.memory.governance.policy import ProposalBudget
from clew.memory.governance.proposals import Staged
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, operation

if TYPE_CHECKING:
    from clew.memory.scan import ScanReport

MOST_ENTRIES = 10_000
DAY_MS = 86_400_000
SCANNER = "maintenance/intel-report.txt"
"""The source that Mind-Mem's scanner writes into its proposals."""


@dataclass(frozen=True)
class Limit:
    """How many more may be proposed now, under which rule, and when that ends."""

    room: int
    rule: str
    ends: str


def check(ctx: Context, report: ScanReport) -> None:
    """Withdraw resolutions that Mind-Mem staged and that are no longer needed; stage those for open
    contradictions that have a clear winner."""
    _withdraw_theirs(ctx)
    governance = policy.load(ctx).governance
    report.checks["proposed_resolutions"] = []
    if governance.governance_mode == "detect_only":
        return
    wanted = list(_wanted(ctx))
    if not wanted:
        return
    limit = min(_limits(ctx, governance.proposal_budget), key=lambda item: item.room)
    for staged in wanted[: max(0, limit.room)]:
        try:
            report.checks["proposed_resolutions"].append(proposals.stage(ctx, staged).id)
        except ClewError as problem:  # tried on a copy before anything is written; other findings are still reported
            said = f"That {staged.target} yields cannot be proposed: {problem.message}"
            report.find("validator", said, block_id=staged.target)
    held = len(wanted) - max(0, limit.room)
    if held > 0:
        said = f"{held} more contradictions could be resolved by proposal; rule {limit.rule}; ends {limit.ends}"
        report.find("budget", said, rule=limit.rule.split(":")[0], ends=limit.ends)


def _withdraw_theirs(ctx: Context) -> None:
    for proposal in blocks.current(ctx, prefix="P", status=statuses.STAGED, field="Sources"):
        over = outlived(ctx, proposal)
        if over:
            proposals.mark_status(ctx, proposal, statuses.EXPIRED, Reason=f"{over} is resolved")


def outlived(ctx: Context, proposal: Block) -> str | None:
    """The contradiction that a proposal of Mind-Mem's scanner was to resolve, if it is over: the
    proposal would revoke a decision that no longer conflicts with anything.

    Such a proposal names no entry. Its evidence is the reason of the contradiction, which is the
    statement of the entry.
    """
    if SCANNER not in listed(proposal.fields.get("Sources")):
        return None
    entries = blocks.current(ctx, prefix=PREFIX)
    reason, target = proposal.get("Evidence"), proposal.get("TargetBlock")
    about = [entry for entry in entries if entry.get("Statement") == reason and target in objects(entry)]
    # Another entry may be about the same pair, so the pairs are compared.
    lasting = {objects(entry) for entry in entries if entry.status in (statuses.OPEN, statuses.DEFERRED)}
    return about[0].id if about and lasting.isdisjoint(map(objects, about)) else None


def _wanted(ctx: Context) -> Iterator[Staged]:
    """One proposal for each decision that loses, unless one is open or was made for the same reason before."""
    waiting = _awaiting(ctx)
    losers = set[str]()
    for entry, sides in open_entries(ctx):
        one, other = (sides.get(id) for id in objects(entry))
        strategy, _, winner, why, _ = advise(one, other)
        loser = other if one is not None and winner == one.id else one
        if strategy != "supersede" or winner is None or loser is None or loser.id in losers or _fixed(loser):
            continue
        # One side that may be withdrawn is enough: with both approved, nothing would be left.
        if not waiting.isdisjoint((winner, loser.id)):
            continue
        staged = _yielding(entry, winner, loser, why)
        if not blocks.with_mark(ctx, "P", digest(staged.type, staged.target, list(staged.ops))):
            losers.add(loser.id)
            yield staged


def _awaiting(ctx: Context) -> set[str]:
    """The decisions whose status an open proposal would change. A second one, with another winner, adds
    nothing: to Mind-Mem, whose fingerprint leaves the winner out, the two are the same, and it then
    applies neither."""
    waiting = blocks.current(ctx, prefix="P", status=proposals.OPEN)
    return {proposal.get("TargetBlock") for proposal in waiting if proposals.changes_status(proposal)}


def _yielding(entry: Block, winner: str, loser: Block, why: str) -> Staged:
    history = f"superseded by {winner}"
    op = Op("set_status", file=loser.file, target=loser.id, status=statuses.SUPERSEDED, history=history)
    said = f"{entry.id}: {loser.id} contradicts {winner}, and {why}"
    return Staged("edit", loser.id, (op,), (entry.id, entry.get("Evidence")), said, by=MAKER)


def _fixed(block: Block) -> bool:
    return any(item.enforcement == "invariant" for item in signatures(block.text))


def _limits(ctx: Context, budget: ProposalBudget) -> Iterator[Limit]:
    staged = blocks.count(ctx, "P", ["staged"])
    made = [block for block in blocks.current(ctx, prefix="P") if block.get("ProposedBy") == MAKER]
    waiting = sum(1 for block in made if block.status == statuses.STAGED)
    recent = sorted(ts for block in made if (ts := proposals.created_ms(block)) > ctx.now_ms - DAY_MS)
    yield Limit(budget.per_run - waiting, f"per_run: {waiting} of {budget.per_run} wait", "when one is reviewed")
    ends = rfc3339(recent[0] + DAY_MS) if recent else "when per_day is raised"
    yield Limit(budget.per_day - len(recent), f"per_day: {len(recent)} of {budget.per_day} made in 24 hours", ends)
    room = budget.backlog_limit - staged
    yield Limit(room, f"backlog_limit: {staged} proposals wait", f"when fewer than {budget.backlog_limit} wait")


class ListContradictions(Input):
    limit: Annotated[int, Field(ge=1, le=1000, description="Most to show; the count is of all.")] = 100


@operation("list_contradictions", mode="own", view=BARE)
def list_contradictions(ctx: Context, args: ListContradictions) -> dict[str, Any]:
    """List the contradictions between live decisions, each with both sides, the reason and a way to resolve it."""
    sync(ctx)
    catch_up(ctx)
    with ctx.reading() as bound:
        over = {ending.entry.id for ending in endings(bound, None)}
        found = [_resolution(entry, sides) for entry, sides in open_entries(bound) if entry.id not in over]
    if not found:
        return {"status": "clean", "contradictions": 0, "message": "No contradictions found."}
    shown = found[: args.limit]
    _suggest_a_way(ctx, shown)
    left_out = {"left_out": len(found) - len(shown)} if len(found) > len(shown) else {}
    return {"status": "contradictions_found", "contradictions": len(found), "resolutions": shown, **left_out}


def _suggest_a_way(ctx: Context, resolutions: list[dict[str, Any]]) -> None:
    first = next((item for item in resolutions if item["strategy"] == "supersede"), None)
    if first is not None:
        op = {"op": "set_status", "target": first["loser_id"], "status": statuses.SUPERSEDED}
        why = f"{first['contradiction_id']}: {first['rationale']}"
        ctx.suggest(suggest("propose_edit", "Proposes that the weaker side yields.", ops=[op], rationale=why))


def open_entries(ctx: Context, most: int = MOST_ENTRIES) -> list[tuple[Block, dict[str, Block]]]:
    """The open entries about two decisions, oldest first, each with the sides that can be found."""
    entries = [entry for entry in block_lists.oldest(ctx, PREFIX, (statuses.OPEN,), most) if len(objects(entry)) == 2]
    ids = [id for entry in entries for id in objects(entry)]
    sides = {block.id: block for block in blocks.current(ctx, ids=ids)} if ids else {}
    return [(entry, {id: sides[id] for id in objects(entry) if id in sides}) for entry in entries]


def _resolution(entry: Block, sides: dict[str, Block]) -> dict[str, Any]:
    first, second = objects(entry)
    one, other = sides.get(first), sides.get(second)
    strategy, detail, winner, why, sure = advise(one, other)
    return {
        "contradiction_id": entry.id,
        "block_a": first,
        "block_b": second,
        "statement_a": statement_of(one) if one else "",
        "statement_b": statement_of(other) if other else "",
        "reason": entry.get("Evidence"),
        "severity": entry.get("Severity"),
        "detected_confidence": float(entry.get("Confidence") or 0.5),
        "strategy": strategy,
        "detail": detail,
        "confidence": sure,
        "winner_id": winner,
        "loser_id": (second if winner == first else first) if winner else None,
        "rationale": why,
    }


def advise(one: Block | None, other: Block | None) -> tuple[str, str, str | None, str, float]:
    """Strategy, its detailed name, the winner, the reason and the confidence of the advice."""
    if one is None or other is None:
        return "manual", "manual_review", None, "one side cannot be found", 0.3
    first, second = _priority(one), _priority(other)
    if abs(first - second) >= 2:
        winner = one if first > second else other
        return "supersede", "confidence_priority", winner.id, f"{winner.id} has the higher priority", 0.85
    if _breadth(one) != _breadth(other):
        narrow = one if _breadth(one) > _breadth(other) else other
        return "merge", "scope_priority", narrow.id, f"{narrow.id} is more specific; let it be the exception", 0.65
    if _date(one) != _date(other):
        newer = one if _date(one) > _date(other) else other
        return "supersede", "timestamp_priority", newer.id, f"{newer.id} is newer", 0.7
    return "manual", "manual_review", None, "same priority, scope and date: somebody has to decide", 0.4


def _priority(block: Block) -> int:
    named = {"P0": 10, "P1": 9, "P2": 7, "P3": 5}.get(block.get("Priority").upper(), 0)
    return max([named, *(item.priority for item in signatures(block.text))])


def _breadth(block: Block) -> int:
    return 0 if block.get("Scope").lower() in {"", "global"} else 1


def _date(block: Block) -> str:
    return block.get("Date") or block.id
