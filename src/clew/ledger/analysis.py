"""What a session's shape says: figures over all of its branches, each explained in one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.clock import rfc3339
from clew.ledger.chains import Point
from clew.ledger.inputs import LedgerInput, SessionRef
from clew.ledger.sessions import LedgerSession, session_named
from clew.reasoning.documents import entry_join
from clew.registry.context import Context
from clew.registry.operation import StrictModel, operation
from clew.store.database import Row

SHOWN = 20
EXAMPLE = {"sessionId": "00000000-0000-4000-8000-000000000000"}

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
class Step:
    """A thought without its text: all that an analysis counts."""

    point: Point
    seq: int
    ts_ms: int
    kind: str | None
    is_revision: bool
    forks: bool
    next_needed: bool
    total: int


@dataclass(frozen=True, slots=True)
class Arrow:
    from_seq: int
    relation: str
    to_seq: int


def steps_of(ctx: Context, session: LedgerSession) -> list[Step]:
    rows = ctx.tx.all(
        "SELECT chain, number, seq, ts_ms, kind, is_revision, from_number, next_needed, total FROM thought"
        " WHERE workspace = ? AND session = ? ORDER BY seq",
        ctx.workspace,
        session.id,
    )
    seen: set[str] = set()
    return [_step(row, seen) for row in rows]


def _step(row: Row, seen: set[str]) -> Step:
    # A branch forks once; a main-line thought forks when it says so.
    forks = row["from_number"] is not None and (row["chain"] == "" or row["chain"] not in seen)
    seen.add(row["chain"])
    return Step(
        Point(row["chain"], row["number"]),
        row["seq"],
        row["ts_ms"],
        row["kind"],
        bool(row["is_revision"]),
        forks,
        bool(row["next_needed"]),
        row["total"],
    )


def arrows_of(ctx: Context, session: LedgerSession) -> list[Arrow]:
    rows = ctx.tx.all(
        "SELECT from_seq, relation, to_seq FROM thought_link JOIN thought ON thought.workspace = thought_link.workspace"
        " AND thought.seq = thought_link.from_seq WHERE thought.workspace = ? AND thought.session = ?"
        " ORDER BY from_seq, relation, to_seq",
        ctx.workspace,
        session.id,
    )
    return [Arrow(**row) for row in rows]


class SessionAnalyze(LedgerInput):
    session_id: SessionRef


@operation("session_analyze", aliases=("session.analyze",), example=EXAMPLE)
def session_analyze(ctx: Context, args: SessionAnalyze) -> dict[str, Any]:
    """Count what a session's shape says: linearity, revisions, branches, completion, open hypotheses."""
    session = session_named(ctx, args.session_id)
    return analyzed(session, steps_of(ctx, session), arrows_of(ctx, session))


def analyzed(session: LedgerSession, steps: list[Step], arrows: list[Arrow]) -> dict[str, Any]:
    structure, quality = _structure(steps), _quality(session, steps)
    metadata = {
        "title": session.title,
        "tags": list(session.tags),
        "thoughtCount": len(steps),
        "branchCount": len(_branches(steps)),
        "revisionCount": _revisions(steps),
        "duration": _duration(steps),
        "createdAt": rfc3339(session.created_at_ms),
        "lastUpdatedAt": rfc3339(session.updated_at_ms),
    }
    return {
        "sessionId": session.id,
        "metadata": metadata,
        "structure": structure,
        "quality": quality,
        "content": _content(steps, arrows),
        "linearity": structure["linearityScore"],
        "density": structure["thoughtDensity"],
        "completion": _completion(steps),
        "branchCount": metadata["branchCount"],
        "explained": EXPLAINED,
    }


def _branches(steps: list[Step]) -> set[str]:
    return {step.point.chain for step in steps} - {""}


def _revisions(steps: list[Step]) -> int:
    return sum(step.is_revision for step in steps)


def _duration(steps: list[Step]) -> int:
    times = [step.ts_ms for step in steps]
    return max(times) - min(times) if times else 0


def _structure(steps: list[Step]) -> dict[str, Any]:
    count = len(steps) or 1
    turns = sum(step.is_revision or step.forks for step in steps)
    minutes = _duration(steps) / 60_000
    return {
        "linearityScore": round(max(0.0, 1 - turns / count), 2),
        "revisionRate": round(_revisions(steps) / count, 2),
        "maxDepth": len(_branches(steps)),
        "thoughtDensity": round(len(steps) / minutes, 2) if minutes else 0.0,
    }


def _quality(session: LedgerSession, steps: list[Step]) -> dict[str, Any]:
    last_branch = max((step.seq for step in steps if step.point.chain), default=None)
    return {
        "critiqueRequests": session.critique_count,
        "hasConvergence": last_branch is not None
        and any(step.seq > last_branch for step in steps if not step.point.chain),
        "isComplete": bool(steps) and not steps[-1].next_needed,
    }


def _completion(steps: list[Step]) -> float:
    if not steps:
        return 0.0
    if not steps[-1].next_needed:
        return 1.0
    main = [step for step in steps if not step.point.chain] or steps
    return round(min(1.0, len(main) / max(step.total for step in main)), 2)


def _content(steps: list[Step], arrows: list[Arrow]) -> dict[str, Any]:
    touched = {arrow.to_seq for arrow in arrows if arrow.relation != "refers"}
    resting = {arrow.from_seq for arrow in arrows}
    kinds = Counter(step.kind for step in steps if step.kind)
    relations = Counter(arrow.relation for arrow in arrows)
    return {
        "types": dict(sorted(kinds.items())),
        "links": dict(sorted(relations.items())),
        "openHypotheses": [s.point.short for s in steps if s.kind == "H" and s.seq not in touched][:SHOWN],
        "unsupportedConclusions": [s.point.short for s in steps if s.kind == "C" and s.seq not in resting][:SHOWN],
    }


class Options(StrictModel):
    includeTimeline: bool = False
    compareWith: Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=20)] = []


class DeepAnalysis(LedgerInput):
    session_id: SessionRef
    analysis_type: Annotated[
        Literal["patterns", "cognitive_load", "decision_points", "full"], Field(description="What to show.")
    ] = "full"
    options: Annotated[Options, Field(description="includeTimeline adds times; compareWith names other sessions.")] = (
        Options()
    )


@operation("deep_analysis", example=EXAMPLE)
def deep_analysis(ctx: Context, args: DeepAnalysis) -> dict[str, Any]:
    """Look closer at a session: patterns, load, decision points, times; compared with others if asked."""
    session = session_named(ctx, args.session_id)
    steps, arrows = steps_of(ctx, session), arrows_of(ctx, session)
    parts: dict[str, Any] = {
        "patterns": _patterns(ctx, session, steps),
        "cognitive_load": _load(session, steps, arrows),
        "decision_points": _decisions(steps),
    }
    names = {"patterns": "patterns", "cognitive_load": "cognitiveLoad", "decision_points": "decisionPoints"}
    wanted = list(parts) if args.analysis_type == "full" else [args.analysis_type]
    result: dict[str, Any] = {"sessionId": session.id, "analysisType": args.analysis_type}
    result |= {names[name]: parts[name] for name in wanted}
    if args.options.includeTimeline:
        result["timeline"] = _timeline(session, steps)
    if args.options.compareWith:
        result["comparison"] = [_compared(ctx, other) for other in args.options.compareWith]
    return result


def _patterns(ctx: Context, session: LedgerSession, steps: list[Step]) -> dict[str, Any]:
    length = ctx.tx.value(
        f"SELECT avg(length(entry.content)) FROM thought{entry_join('thought')}"
        " WHERE thought.workspace = ? AND thought.session = ?",
        ctx.workspace,
        session.id,
    )
    return {
        "totalThoughts": len(steps),
        "revisionCount": _revisions(steps),
        "branchCount": len(_branches(steps)),
        "averageThoughtLength": round(float(length or 0)),
    }


def _load(session: LedgerSession, steps: list[Step], arrows: list[Arrow]) -> dict[str, Any]:
    """Breadth and depth as they are; complexity from open ends, links and turns rather than from length alone."""
    turns = sum(step.is_revision or step.forks for step in steps)
    score = min(100, 2 * len(steps) + 5 * turns + 3 * len(arrows)) if steps else 0
    return {
        "complexityScore": score,
        "depthIndicator": max((step.point.number for step in steps), default=0),
        "breadthIndicator": len(_branches(steps)) + 1,
    }


def _decisions(steps: list[Step]) -> list[dict[str, Any]]:
    found = []
    for step in steps:
        kind = (
            "revision" if step.is_revision else "branch" if step.forks else "conclusion" if step.kind == "C" else None
        )
        if kind:
            found.append({"thoughtNumber": step.point.number, "branchId": step.point.chain or None, "type": kind})
    return found[:200]


def _timeline(session: LedgerSession, steps: list[Step]) -> dict[str, Any]:
    return {
        "createdAt": rfc3339(session.created_at_ms),
        "updatedAt": rfc3339(session.updated_at_ms),
        "firstThought": rfc3339(steps[0].ts_ms) if steps else None,
        "lastThought": rfc3339(steps[-1].ts_ms) if steps else None,
        "durationMs": _duration(steps),
    }


def _compared(ctx: Context, other: str) -> dict[str, Any]:
    session = session_named(ctx, other)
    steps = steps_of(ctx, session)
    return {"sessionId": session.id, "title": session.title, "thoughtCount": len(steps), **_structure(steps)}
