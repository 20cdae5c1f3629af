"""Contradictions between decisions: found when a block changes, kept as blocks, gone when one side is.

One entry stands for one pair. It is open while both sides are live and clash, and resolved as soon as they do not; a
person may defer it. The file, `scan`, `list_contradictions` and the resource read the same blocks, so they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.grammar import listed, one_line, parse_block
from clew.memory.printing import set_field
from clew.memory.signatures import conflict, signatures
from clew.memory.statements import clash, read
from clew.memory.writing import governed
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.store.search import matching
from clew.store.terms import terms

PREFIX = "C"
ORIGIN = "contradictions"
CANDIDATES = 60
MANY = 300
COMMON = 200
"""A word that more decisions hold than this tells nothing about them."""


@dataclass(frozen=True, slots=True)
class Found:
    first: str
    second: str
    severity: str
    kind: str
    reason: str
    confidence: float


def follow(ctx: Context, ids: Sequence[str]) -> None:
    """Called after blocks changed: look again at the pairs they belong to."""
    wanted = [id for id in dict.fromkeys(ids) if id.startswith("D-")]
    if not wanted:
        return
    live = {block.id: block for block in blocks.current(ctx, ids=wanted, prefix="D", status="active")}
    _settle(ctx, set(wanted))
    if live:
        pairs = _pairs_among(ctx, live) if len(live) > MANY else _pairs_near(ctx, live)
        known = _known(ctx)
        for found in (_compare(one, other) for one, other in pairs):
            if found is not None:
                _keep(ctx, found, known)


def _pairs_near(ctx: Context, live: dict[str, Block]) -> Iterable[tuple[Block, Block]]:
    """Each changed decision with the live ones that share its words."""
    seen: set[frozenset[str]] = set()
    for block in live.values():
        rows = matching(ctx.tx, ctx.workspace, list(dict.fromkeys(terms(_said(block)))), CANDIDATES, ("block",))
        near = [row["ref"] for row in rows if row["ref"].startswith("D-") and row["ref"] != block.id]
        near += _same_group(ctx, block)
        for other in blocks.current(ctx, ids=near, prefix="D", status="active"):
            pair = frozenset((block.id, other.id))
            if pair not in seen:
                seen.add(pair)
                yield _ordered(block, other)


def _same_group(ctx: Context, block: Block) -> list[str]:
    """Decisions with signatures are few; they are compared by their group, whatever words they use."""
    groups = {item.group for item in signatures(block.text)}
    if not groups:
        return []
    sql = (
        "SELECT id, text FROM block WHERE workspace = ? AND until IS NULL AND gone = 0 AND prefix = 'D'"
        " AND status = 'active' AND text LIKE '%ConstraintSignature%' AND id <> ? ORDER BY id"
    )
    rows = ctx.tx.all(sql, ctx.workspace, block.id)
    return [row["id"] for row in rows if groups & {item.group for item in signatures(row["text"])}]


def _pairs_among(ctx: Context, live: dict[str, Block]) -> Iterable[tuple[Block, Block]]:
    """Many at once, after an import: all live decisions by their rarer subject words."""
    everything = {block.id: block for block in blocks.current(ctx, prefix="D", status="active")}
    holders: dict[str, list[str]] = {}
    for block in everything.values():
        keys = {*read(_said(block)).subject, *(item.group for item in signatures(block.text))}
        for word in keys:
            holders.setdefault(word, []).append(block.id)
    seen: set[tuple[str, str]] = set()
    for ids in holders.values():
        if len(ids) > COMMON:
            continue
        for one, other in combinations(ids, 2):
            if (one in live or other in live) and (one, other) not in seen:
                seen.add((one, other))
                yield _ordered(everything[one], everything[other])


def _ordered(one: Block, other: Block) -> tuple[Block, Block]:
    return (one, other) if one.id < other.id else (other, one)


def _said(block: Block) -> str:
    return block.get("Statement") or block.headline


def _compare(one: Block, other: Block) -> Found | None:
    if not _scopes_meet(one, other) or _succeeds(one, other):
        return None
    exact = [
        found for a in signatures(one.text) for b in signatures(other.text) if (found := conflict(a, b)) is not None
    ]
    if exact:
        worst = max(exact, key=lambda item: item.confidence)
        return Found(one.id, other.id, worst.severity, "signatures", worst.reason, worst.confidence)
    plain = clash(_said(one), _said(other))
    if plain is None:
        return None
    severity = "high" if plain.confidence >= 0.85 else "medium"
    return Found(one.id, other.id, severity, plain.kind, plain.reason, plain.confidence)


def _scopes_meet(one: Block, other: Block) -> bool:
    first, second = one.get("Scope").lower() or "global", other.get("Scope").lower() or "global"
    return "global" in (first, second) or first == second


def _succeeds(one: Block, other: Block) -> bool:
    """A decision that names the other as superseded is its successor, not its opponent."""
    return other.id in one.get("Supersedes") or one.id in other.get("Supersedes")


def _objects(block: Block) -> tuple[str, ...]:
    return tuple(sorted(item for item in listed(block.fields.get("Objects")) if item.startswith("D-")))


def _known(ctx: Context) -> dict[tuple[str, ...], Block]:
    return {_objects(block): block for block in blocks.current(ctx, prefix=PREFIX)}


def _keep(ctx: Context, found: Found, known: dict[tuple[str, ...], Block]) -> None:
    pair = (found.first, found.second)
    old = known.get(pair)
    if old is None:
        id = blocks.dated_id(ctx, PREFIX)
        known[pair] = blocks.write(ctx, id, _text(id, blocks.day_of(ctx.now_ms), found), origin=ORIGIN)
    elif old.status == "resolved":
        text = set_field(set_field(old.text, "Status", "open"), "Resolution", "none")
        known[pair] = blocks.write(ctx, old.id, text, origin=ORIGIN)


def _text(id: str, day: str, found: Found) -> str:
    return "\n".join(
        (
            f"[{id}]",
            f"Date: {day}",
            f"Severity: {found.severity}",
            f"Type: {found.kind}",
            f"Statement: {found.first} and {found.second} contradict: {found.reason}",
            "Objects:",
            f"- {found.first}",
            f"- {found.second}",
            f"Confidence: {found.confidence}",
            f"Evidence: {found.reason}",
            "ProposedFix: supersede or revoke one of them, or narrow its scope",
            "Status: open",
            "Resolution: none",
            "Sources:",
            "- clew",
        )
    )


def _settle(ctx: Context, touched: set[str] | None) -> None:
    """Resolve entries whose sides no longer clash; all of them, or those of certain decisions."""
    entries = blocks.current(ctx, prefix=PREFIX, status=("open", "deferred"))
    chosen = [item for item in entries if touched is None or touched & set(_objects(item))]
    ids = [id for item in chosen for id in _objects(item)]
    live = {block.id: block for block in blocks.current(ctx, ids=ids, prefix="D", status="active")} if ids else {}
    for entry in chosen:
        sides = [live[id] for id in _objects(entry) if id in live]
        if len(_objects(entry)) != 2:
            continue  # written by hand about something else
        if len(sides) < 2 or _compare(*_ordered(sides[0], sides[1])) is None:
            text = set_field(entry.text, "Status", "resolved")
            text = set_field(text, "Resolution", f"no longer so on {blocks.day_of(ctx.now_ms)}")
            blocks.write(ctx, entry.id, text, origin=ORIGIN)


def check(ctx: Context, report: Any) -> None:
    """For `scan`: entries that have settled are closed, the open ones are told."""
    _settle(ctx, None)
    for entry in blocks.current(ctx, prefix=PREFIX, status="open"):
        report.find("contradiction", entry.get("Statement"), block_id=entry.id)


def objections(ctx: Context, draft: Any) -> list[str]:
    """Why a person should look first: what a proposal would say clashes with a live decision."""
    said = []
    for change in draft.changes.values():
        if not change.id.startswith("D-"):
            continue
        parsed = parse_block(change.text)
        statement = one_line(parsed.fields.get("Statement"))
        superseded = one_line(parsed.fields.get("Supersedes"))
        words = list(dict.fromkeys(terms(statement)))
        rows = matching(ctx.tx, ctx.workspace, words, CANDIDATES, ("block",))
        near = [row["ref"] for row in rows if row["ref"].startswith("D-") and row["ref"] not in draft.changes]
        for other in blocks.current(ctx, ids=near, prefix="D", status="active"):
            found = clash(statement, _said(other))
            if found is not None and other.id not in superseded:
                said.append(f"{change.id} would contradict {other.id}: {found.reason}")
    return said


class ListContradictions(Input):
    pass


@operation("list_contradictions", writes=True, mode="own", idempotent=True, bare=lambda result: result)
def list_contradictions(ctx: Context, args: ListContradictions) -> dict[str, Any]:
    """List the contradictions between live decisions, each with both sides, the reason and a way to resolve it."""
    with governed(ctx) as bound:
        _settle(bound, None)
        entries = blocks.current(bound, prefix=PREFIX, status="open")
        ids = [id for entry in entries for id in _objects(entry)]
        sides = {block.id: block for block in blocks.current(bound, ids=ids)} if ids else {}
        found = [_resolution(entry, sides) for entry in entries if len(_objects(entry)) == 2]
    if not found:
        return {"status": "clean", "contradictions": 0, "message": "No contradictions found."}
    return {"status": "contradictions_found", "contradictions": len(found), "resolutions": found}


def _resolution(entry: Block, sides: dict[str, Block]) -> dict[str, Any]:
    first, second = _objects(entry)
    one, other = sides.get(first), sides.get(second)
    strategy, detail, winner, why, sure = advise(one, other)
    return {
        "contradiction_id": entry.id,
        "block_a": first,
        "block_b": second,
        "statement_a": _said(one) if one else "",
        "statement_b": _said(other) if other else "",
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
    """Strategy, its finer name, the winner, the reason and how sure we are of the advice."""
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
