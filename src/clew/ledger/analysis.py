"""session_analyze and deep_analysis: statistics about a session's shape over all its branches, each explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import Json
from clew.clock import iso_millis
from clew.ledger.chains import Point
from clew.ledger.inputs import EXAMPLE, Id, LedgerInput, OneSession, SessionRef, grouped
from clew.ledger.sessions import LedgerSession, session_named
from clew.reasoning.documents import ENTRY_OF_THOUGHT
from clew.registry.context import Context
from clew.registry.operation import StrictModel, operation
from clew.store.database import Row

SHOWN = 20

EXPLAINED = {
    "thoughtCount": "thoughts on the main line and all branches",
    "branchCount": "branches that were started",
    "revisionCount": "thoughts that revise another",
    "duration": "milliseconds from the first thought to the last",
    "linearityScore": "1 minus the share of thoughts that revise or start a branch; 1 is a straight line",
    "revisionRate": "revisions by thoughts",
    "maxDepth": "number of branches",
    "thoughtDensity": "thoughts per minute of duration",
    "critiqueRequests": "thoughts for which a critique was asked",
    "hasConvergence": "the main line goes on after the last branch thought",
    "isComplete": "the newest thought needs no other",
    "completion": "newest number of the main line by its planned total, 1 when complete",
    "types": "thoughts of each cipher kind",
    "links": "typed links between thoughts",
    "openHypotheses": "hypotheses that nothing supports, concludes, revises or rejects",
    "unsupportedConclusions": "conclusions that name nothing they rest on",
}


@dataclass(frozen=True, slots=True)
class Arrow:
    from_seq: int
    relation: str
    to_seq: int


def arrows_of(ctx: Context, session: LedgerSession) -> list[Arrow]:
    sql = (
        "SELECT from_seq, relation, to_seq FROM thought_link JOIN thought ON thought.workspace = thought_link.workspace"
        " AND thought.seq = thought_link.from_seq WHERE thought.workspace = ? AND thought.session = ?"
        " ORDER BY from_seq, relation, to_seq"
    )
    return [Arrow(*row) for row in ctx.tx.tuples(sql, ctx.workspace, session.id)]


@grouped("session_analyze", example=EXAMPLE)
def session_analyze(ctx: Context, args: OneSession) -> Json:
    """Count what a session's shape says: linearity, revisions, branches, completion, open hypotheses."""
    return analysis_of(ctx, session_named(ctx, args.session_id))


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """Counts of a session's thoughts, computed by the store in SQL, so that no thought is read."""

    thoughts: int
    revisions: int
    main: int
    main_total: int
    total: int
    deepest: int
    first_ms: int
    last_ms: int
    last_main: int
    last_branch: int
    main_forks: int
    branches: int
    forked: int
    ended: bool

    @property
    def turns(self) -> int:
        """Thoughts that revise another or start a branch."""
        return self.revisions + self.main_forks + self.forked

    @property
    def duration(self) -> int:
        return self.last_ms - self.first_ms

    @property
    def completion(self) -> float:
        if self.ended or not self.thoughts:
            return float(self.ended)
        # An imported session may have branches only; then all of its thoughts count.
        done, planned = (self.main, self.main_total) if self.main else (self.thoughts, self.total)
        return round(min(1.0, done / planned), 2)


_FIGURES = """
SELECT count(*) AS thoughts,
       coalesce(sum(is_revision), 0) AS revisions,
       coalesce(sum(CASE WHEN chain = '' THEN 1 ELSE 0 END), 0) AS main,
       coalesce(max(CASE WHEN chain = '' THEN total END), 0) AS main_total,
       coalesce(max(total), 0) AS total,
       coalesce(max(number), 0) AS deepest,
       coalesce(min(ts_ms), 0) AS first_ms,
       coalesce(max(ts_ms), 0) AS last_ms,
       coalesce(max(CASE WHEN chain = '' THEN seq END), 0) AS last_main,
       coalesce(max(CASE WHEN chain <> '' THEN seq END), 0) AS last_branch,
       coalesce(sum(CASE WHEN chain = '' AND from_number IS NOT NULL AND is_revision = 0 THEN 1 ELSE 0 END), 0)
           AS main_forks
FROM thought WHERE workspace = ? AND session = ?
"""
_BRANCHES = """
SELECT count(*) AS branches,
       coalesce(sum(CASE WHEN thought.from_number IS NOT NULL AND is_revision = 0 THEN 1 ELSE 0 END), 0) AS forked
FROM ledger_chain JOIN thought ON thought.workspace = ledger_chain.workspace AND thought.seq = ledger_chain.created_seq
WHERE ledger_chain.workspace = ? AND ledger_chain.session = ? AND ledger_chain.chain <> ''
"""
"""Branches, and how many of them name a fork point: only a branch's first thought counts as a fork."""
_LAST = "SELECT next_needed FROM thought WHERE workspace = ? AND session = ? ORDER BY seq DESC LIMIT 1"


def figures_of(ctx: Context, session: LedgerSession) -> SessionFigures:
    key = (ctx.workspace, session.id)
    counted, branched = ctx.tx.one(_FIGURES, *key), ctx.tx.one(_BRANCHES, *key)
    assert counted is not None and branched is not None
    return SessionFigures(
        **{name: int(value) for name, value in (counted | branched).items()}, ended=ctx.tx.value(_LAST, *key) == 0
    )


def analysis_of(ctx: Context, session: LedgerSession) -> Json:
    figures = figures_of(ctx, session)
    structure = _structure(figures)
    metadata = {
        "title": session.title,
        "tags": list(session.tags),
        "thoughtCount": figures.thoughts,
        "branchCount": figures.branches,
        "revisionCount": figures.revisions,
        "duration": figures.duration,
        "createdAt": iso_millis(session.created_at_ms),
        "lastUpdatedAt": iso_millis(session.updated_at_ms),
    }
    return {
        "sessionId": session.id,
        "metadata": metadata,
        "structure": structure,
        "quality": _quality(session, figures),
        "content": _content(ctx, session),
        "linearity": structure["linearityScore"],
        "density": structure["thoughtDensity"],
        "completion": figures.completion,
        "branchCount": figures.branches,
        "explained": EXPLAINED,
    }


def _structure(figures: SessionFigures) -> Json:
    count = figures.thoughts or 1
    # A session of one thought has no duration; its density is given as 0 instead of infinite.
    minutes = figures.duration / 60_000
    return {
        "linearityScore": round(max(0.0, 1 - figures.turns / count), 2),
        "revisionRate": round(figures.revisions / count, 2),
        "maxDepth": figures.branches,
        "thoughtDensity": round(figures.thoughts / minutes, 2) if minutes else 0.0,
    }


def _quality(session: LedgerSession, figures: SessionFigures) -> Json:
    return {
        "critiqueRequests": session.critique_count,
        # By seq, not by number: the main line continues after a branch only if its last thought was written later.
        "hasConvergence": 0 < figures.last_branch < figures.last_main,
        "isComplete": figures.ended,
    }


_KINDS = (
    "SELECT kind, count(*) AS n FROM thought WHERE workspace = ? AND session = ? AND kind IS NOT NULL GROUP BY kind"
)
_RELATIONS = """
SELECT relation, count(*) AS n FROM thought JOIN thought_link
ON thought_link.workspace = thought.workspace AND thought_link.from_seq = thought.seq
WHERE thought.workspace = ? AND thought.session = ? GROUP BY relation
"""
# A plain mention (`refers`) neither supports nor rejects a hypothesis, so it stays open.
_UNTOUCHED = """
SELECT chain, number FROM thought WHERE workspace = ? AND session = ? AND kind = 'H' AND NOT EXISTS (
    SELECT 1 FROM thought_link WHERE thought_link.workspace = thought.workspace
    AND thought_link.to_seq = thought.seq AND relation <> 'refers')
ORDER BY seq LIMIT ?
"""
_BARE = """
SELECT chain, number FROM thought WHERE workspace = ? AND session = ? AND kind = 'C' AND NOT EXISTS (
    SELECT 1 FROM thought_link WHERE thought_link.workspace = thought.workspace
    AND thought_link.from_seq = thought.seq)
ORDER BY seq LIMIT ?
"""


def _content(ctx: Context, session: LedgerSession) -> Json:
    key = (ctx.workspace, session.id)

    def points(sql: str) -> list[str]:
        return [Point(row["chain"], row["number"]).short for row in ctx.tx.all(sql, *key, SHOWN)]

    return {
        "types": dict(sorted(ctx.tx.tuples(_KINDS, *key))),
        "links": dict(sorted(ctx.tx.tuples(_RELATIONS, *key))),
        "openHypotheses": points(_UNTOUCHED),
        "unsupportedConclusions": points(_BARE),
    }


MOST_DECISIONS = 200


class Options(StrictModel):
    includeTimeline: bool = False
    compareWith: Annotated[Id | list[Id], Field(description="A session, or up to 20.")] = []

    @property
    def others(self) -> list[str]:
        return [self.compareWith] if isinstance(self.compareWith, str) else self.compareWith[:20]


class DeepAnalysis(LedgerInput):
    session_id: SessionRef
    analysis_type: Annotated[
        Literal["patterns", "cognitive_load", "decision_points", "full"], Field(description="What to show.")
    ] = "full"
    options: Annotated[Options, Field(description="includeTimeline adds times; compareWith names other sessions.")] = (
        Options()
    )


@operation("deep_analysis", example=EXAMPLE)
def deep_analysis(ctx: Context, args: DeepAnalysis) -> Json:
    """Look closer at a session: patterns, load, decision points, times; compared with others if asked."""
    session = session_named(ctx, args.session_id)
    figures = figures_of(ctx, session)
    parts: dict[str, Callable[[], Any]] = {
        "patterns": lambda: _patterns(ctx, session, figures),
        "cognitive_load": lambda: _load(ctx, session, figures),
        "decision_points": lambda: _decisions(ctx, session),
    }
    names = {"patterns": "patterns", "cognitive_load": "cognitiveLoad", "decision_points": "decisionPoints"}
    wanted = list(parts) if args.analysis_type == "full" else [args.analysis_type]
    result: Json = {"sessionId": session.id, "analysisType": args.analysis_type}
    result |= {names[name]: parts[name]() for name in wanted}
    if args.options.includeTimeline:
        result["timeline"] = _timeline(session, figures)
    if args.options.others:
        result["comparison"] = [_compared(ctx, other) for other in args.options.others]
    return result | {"timestamp": iso_millis(ctx.ws.updated_at_ms)}


def _patterns(ctx: Context, session: LedgerSession, figures: SessionFigures) -> Json:
    sql = f"SELECT avg(length(entry.content)) FROM thought{ENTRY_OF_THOUGHT}"
    length = ctx.tx.value(f"{sql} WHERE thought.workspace = ? AND thought.session = ?", ctx.workspace, session.id)
    return {
        "totalThoughts": figures.thoughts,
        "revisionCount": figures.revisions,
        "branchCount": figures.branches,
        "averageThoughtLength": round(float(length or 0)),
    }


def _load(ctx: Context, session: LedgerSession, figures: SessionFigures) -> Json:
    """Breadth and depth as counted; the complexity score grows with thoughts, turns and links, up to 100."""
    links = sum(count for _, count in ctx.tx.tuples(_RELATIONS, ctx.workspace, session.id))
    return {
        "complexityScore": min(100, 2 * figures.thoughts + 5 * figures.turns + 3 * links),
        "depthIndicator": figures.deepest,
        "breadthIndicator": figures.branches + 1,
    }


_TURNS = """
SELECT thought.chain, number, kind, is_revision, from_number, revises_number, ledger_chain.chain AS started
FROM thought LEFT JOIN ledger_chain ON ledger_chain.workspace = thought.workspace
    AND ledger_chain.session = thought.session AND ledger_chain.chain = thought.chain
    AND ledger_chain.created_seq = thought.seq
WHERE thought.workspace = ? AND thought.session = ?
    AND (is_revision = 1 OR thought.from_number IS NOT NULL OR kind = 'C')
ORDER BY thought.seq
"""


def _decisions(ctx: Context, session: LedgerSession) -> list[Json]:
    found = (_decision(row) for row in ctx.tx.all(_TURNS, ctx.workspace, session.id))
    return list(islice((decision for decision in found if decision is not None), MOST_DECISIONS))


def _decision(row: Row) -> Json | None:
    place = {"thoughtNumber": row["number"], "branchId": row["chain"] or None}
    if row["is_revision"]:
        return {**place, "type": "revision", **_reference(row["revises_number"])}
    # A branch forks with its first thought only; a thought of the main line forks whenever it names an origin.
    if row["from_number"] is not None and (row["chain"] == "" or row["started"] is not None):
        return {**place, "type": "branch", **_reference(row["from_number"])}
    return {**place, "type": "conclusion"} if row["kind"] == "C" else None


def _reference(number: int | None) -> Json:
    return {} if number is None else {"reference": number}


def _timeline(session: LedgerSession, figures: SessionFigures) -> Json:
    return {
        "createdAt": iso_millis(session.created_at_ms),
        "updatedAt": iso_millis(session.updated_at_ms),
        "firstThought": iso_millis(figures.first_ms) if figures.thoughts else None,
        "lastThought": iso_millis(figures.last_ms) if figures.thoughts else None,
        "durationMs": figures.duration,
    }


def _compared(ctx: Context, other: str) -> Json:
    session = session_named(ctx, other)
    figures = figures_of(ctx, session)
    return {"sessionId": session.id, "title": session.title, "thoughtCount": figures.thoughts, **_structure(figures)}
