"""What was noted and thought since a portal was last shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.clock import rfc3339
from clew.errors import shorten
from clew.reasoning.documents import Range
from clew.reasoning.graph import Node, nodes
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.context import Context
from clew.registry.lines import one_line
from clew.store.database import Row

TOOL = "tasks_snapshot"
SCAN_FACTOR, MOST_SCANNED = 20, 200
SUMMARY = 140


def baseline(ctx: Context, target: str) -> int | None:
    """Where the target stood when its delta was last taken."""
    sql = "SELECT seq FROM portal_cursor WHERE workspace = ? AND tool = ? AND target = ?"
    found = ctx.tx.value(sql, ctx.workspace, TOOL, target)
    return None if found is None else int(found)


def move_baseline(ctx: Context, target: str, seq: int) -> None:
    ctx.tx.run(
        "INSERT INTO portal_cursor (workspace, tool, target, seq) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (workspace, tool, target) DO UPDATE SET seq = excluded.seq",
        ctx.workspace,
        TOOL,
        target,
        seq,
    )


def delta_of(ctx: Context, scope: Scope, since: int | None, limit: int) -> dict[str, Any]:
    """What is newer than `since`; nothing when there was no earlier look to compare with."""
    until = ctx.ws.seq
    since = until if since is None else since
    most = min(max(limit, 1) * SCAN_FACTOR, MOST_SCANNED)
    notes = [_note(row) for row in _new_notes(ctx, scope, since, most)]
    cards = _new_cards(ctx, scope, since, most)
    kinds = {"decisions": ("decision",), "evidence": ("evidence",)}
    named = {name: [_card(card) for card in cards if card.type in types] for name, types in kinds.items()}
    others = [_card(card) for card in cards if card.type not in ("decision", "evidence")]
    return {
        "mode": "since_last",
        "since_seq": since,
        "until_seq": until,
        "notes": _section(notes, limit),
        "cards": _section(others, limit),
        **{name: _section(items, limit) for name, items in named.items()},
    }


def _section(items: Sequence[dict[str, Any]], limit: int) -> dict[str, Any]:
    shown = list(items[:limit])
    dropped = len(items) - len(shown)
    return {"count": len(shown), "items": shown, "truncated": dropped > 0, "dropped": dropped}


def _new_notes(ctx: Context, scope: Scope, since: int, most: int) -> list[Row]:
    """Newest first. A target's branch has no base, so its own entries are all there are."""
    span = Range(scope.branch.id, since, ctx.ws.seq)
    return ctx.tx.all(
        "SELECT seq, doc, ts_ms, title, content FROM entry WHERE workspace = ? AND branch = ? AND doc = ?"
        " AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?",
        ctx.workspace,
        span.branch,
        scope.notes,
        span.low,
        span.high,
        most,
    )


def _new_cards(ctx: Context, scope: Scope, since: int, most: int) -> list[Node]:
    if since >= ctx.ws.seq:
        return []
    page = nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, limit=most)
    return [card for card in page.nodes if card.last_seq > since]


def _note(row: Row) -> dict[str, Any]:
    title = {"title": row["title"]} if row["title"] else {}
    return {
        "ref": f"{row['doc']}@{row['seq']}",
        "seq": row["seq"],
        "ts": rfc3339(row["ts_ms"]),
        **title,
        "summary": _summary(row["title"], row["content"]),
    }


def _card(card: Node) -> dict[str, Any]:
    title = {"title": card.title} if card.title else {}
    return {
        "id": card.id,
        "type": card.type,
        "seq": card.last_seq,
        **title,
        "summary": _summary(card.title, card.text),
    }


def _summary(title: str | None, text: str | None) -> str:
    first = next((line for line in (title or text or "").splitlines() if line.strip()), "")
    return shorten(one_line(first), SUMMARY)
