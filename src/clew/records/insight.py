"""insight: metrics on the use of a workspace's memory, from data in the stores."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from clew.clock import rfc3339
from clew.index.item_reads import growth_by_day, never_used
from clew.memory import blocks
from clew.memory.files.sync import sync
from clew.memory.governance.proposals import proposer
from clew.recall.figures import ASKED, SILENT, figures_since, newest_unanswered
from clew.recall.tallies import flush_tallies
from clew.recall.uses import used_refs
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.proofs import STATES, states_of_done_steps

DAY_MS = 86_400_000
CHARACTERS_PER_TOKEN = 4
SHOWN = 20
NEWEST_PROPOSALS = 500
BUDGET = Budget(
    (
        Trim("unanswered", drop="last", floor=5),
        Trim("never_used.items", drop="last", floor=5),
        Trim("growth", drop="first", floor=7),
        Trim("agents", drop="last", floor=5),
    ),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace", "days"),
)


class Insight(Bounded):
    days: Annotated[int, Field(ge=1, le=366, description="How far back the figures go.")] = 30


@operation("insight", mode="own", budget=BUDGET)
def insight(ctx: Context, args: Insight) -> dict[str, Any]:
    """Show how memory does: growth, questions left unanswered, what was told to agents, acceptance, proof, disuse."""
    sync(ctx)
    flush_tallies(ctx.database)
    with ctx.reading() as bound:
        since_ms = bound.now_ms - args.days * DAY_MS
        rows = figures_since(bound, rfc3339(since_ms)[:10])
        unused, total = never_used(bound.tx, bound.workspace, used_refs(bound), SHOWN)
        return {
            "workspace": bound.workspace,
            "days": args.days,
            "growth": growth_by_day(bound.tx, bound.workspace, since_ms),
            "recall": _questions(rows),
            "unanswered": [dict(row) for row in newest_unanswered(bound, SHOWN)],
            "told": _context_use(rows),
            "agents": _acceptance(bound),
            "proofs": _proofs(bound),
            "never_used": {"items": unused, "total": total},
            "truncated": False,
        }


def _questions(rows: list[dict[str, Any]]) -> dict[str, Any]:
    by_day: dict[str, dict[str, int]] = {}
    for row in rows:
        if row["name"] in (ASKED, SILENT):
            by_day.setdefault(row["day"], {ASKED: 0, SILENT: 0})[row["name"]] += int(row["times"])
    asked, silent = (sum(day[name] for day in by_day.values()) for name in (ASKED, SILENT))
    return {ASKED: asked, SILENT: silent, "by_day": [{"day": day, **counts} for day, counts in sorted(by_day.items())]}


def _context_use(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What resume and hooks put into contexts; a token is about four characters."""
    times: Counter[str] = Counter()
    amounts: Counter[str] = Counter()
    for row in rows:
        source = row["name"].removeprefix("told:")
        if source != row["name"]:
            times[source] += int(row["times"])
            amounts[source] += int(row["amount"])
    return [
        {"source": source, "times": times[source], "tokens": round(amounts[source] / CHARACTERS_PER_TOKEN)}
        for source in sorted(times)
    ]


def _acceptance(ctx: Context) -> list[dict[str, Any]]:
    """Recent proposals by author, and their outcome."""
    found: dict[str, Counter[str]] = {}
    for proposal in blocks.newest(ctx, ["P"], NEWEST_PROPOSALS)["P"]:
        by = proposer(ctx, proposal) or "an unnamed agent"
        found.setdefault(by, Counter())[str(proposal.status)] += 1
    order = sorted(found, key=lambda by: (-found[by].total(), by))[:SHOWN]
    return [{"agent": by, "proposed": found[by].total(), **found[by]} for by in order]


def _proofs(ctx: Context) -> dict[str, int]:
    states = Counter(states_of_done_steps(ctx))
    return {"done": sum(states.values()), **{state: states[state] for state in STATES if states[state]}}
