"""Pointers into other sessions (`@auth-redesign:S25`): which session the keyword means, and how sure that is."""

from __future__ import annotations

import re
from typing import Any

from clew.ledger.cipher import anchors
from clew.ledger.rows import Thought
from clew.registry.context import Context
from clew.store.database import Row

BY_TAG = 0.95
BY_TITLE = 0.85
LEAST_SHARE = 0.6
CANDIDATES = 200

_ANCHOR = re.compile(r"@([\w-]+):S(\d+)(?:-S?(\d+))?")
_WORD = re.compile(r"[^\W_]+")


def cross_references(ctx: Context, session: str, thoughts: list[Thought]) -> dict[str, Any]:
    """Every anchor of a session's thoughts with what it was found to mean."""
    known: dict[str, list[dict[str, Any]]] = {}
    details = []
    for thought in thoughts:
        for anchor in anchors(thought.text):
            details.append(_detail(ctx, session, thought, anchor, known))
    tally = {
        status: sum(item["status"] == status for item in details) for status in ("resolved", "ambiguous", "unresolved")
    }
    return {"anchorsFound": len(details), **tally, "details": details}


def _detail(
    ctx: Context, session: str, thought: Thought, anchor: str, known: dict[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    found = _ANCHOR.fullmatch(anchor)
    assert found is not None
    keyword, first, last = found.groups()
    if keyword not in known:
        known[keyword] = candidates(ctx, keyword, session)
    options = known[keyword]
    detail: dict[str, Any] = {
        "anchor": anchor,
        "source": thought.node_id,
        "keyword": keyword,
        "start": int(first),
        "end": int(last or first),
        "status": _status(options),
    }
    if detail["status"] == "resolved":
        return detail | options[0]
    return detail | ({"candidates": options[:5]} if options else {})


def _status(options: list[dict[str, Any]]) -> str:
    if not options:
        return "unresolved"
    tops = [option for option in options if option["confidence"] == options[0]["confidence"]]
    sure = len(options) == 1 or (options[0]["confidence"] >= BY_TAG and len(tops) == 1)
    return "resolved" if sure else "ambiguous"


def candidates(ctx: Context, keyword: str, session: str) -> list[dict[str, Any]]:
    """Other sessions a keyword may mean, the surest first."""
    scored = {row["id"]: (BY_TAG, row["title"]) for row in _by_tag(ctx, keyword) if row["id"] != session}
    wanted = {word.casefold() for word in _WORD.findall(keyword)}
    for row in _by_words(ctx, wanted):
        share = len(wanted & {word.casefold() for word in _WORD.findall(row["title"])}) / max(len(wanted), 1)
        if share >= LEAST_SHARE and row["id"] not in scored and row["id"] != session:
            scored[row["id"]] = (round(share * BY_TITLE, 4), row["title"])
    ranked = sorted(scored.items(), key=lambda item: (-item[1][0], item[0]))
    return [{"sessionId": key, "title": title, "confidence": score} for key, (score, title) in ranked]


def _by_tag(ctx: Context, keyword: str) -> list[Row]:
    return ctx.tx.all(
        "SELECT DISTINCT ledger_session.id, ledger_session.title FROM ledger_tag JOIN ledger_session"
        " ON ledger_session.workspace = ledger_tag.workspace AND ledger_session.id = ledger_tag.session"
        " WHERE ledger_tag.workspace = ? AND tag IN (?, ?, ?, ?) AND deleted_at_ms IS NULL ORDER BY ledger_session.id"
        " LIMIT ?",
        ctx.workspace,
        *(f"{prefix}{keyword.casefold()}" for prefix in ("", "project:", "task:", "aspect:")),
        CANDIDATES,
    )


def _by_words(ctx: Context, wanted: set[str]) -> list[Row]:
    if not wanted:
        return []
    longest = max(sorted(wanted), key=len)
    return ctx.tx.all(
        "SELECT id, title FROM ledger_session WHERE workspace = ? AND deleted_at_ms IS NULL AND words LIKE ?"
        " ORDER BY updated_at_ms DESC, id LIMIT ?",
        ctx.workspace,
        f"%{longest}%",
        CANDIDATES,
    )
