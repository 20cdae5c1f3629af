"""Questions that name only a kind ("open questions", "our rules") or an id: answered as lists, not by ranking."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clew.ids import MENTIONED, normal_id
from clew.index.item_reads import item_named, items_by_id
from clew.memory.files.sync import sync
from clew.recall.answer import NOTICE, UNTOLD, listed_json, tellings
from clew.recall.features import OUTDATED, with_status
from clew.recall.kernel import kernel_of
from clew.recall.library import library
from clew.recall.query import analyse
from clew.recall.search import Request, Search, holds, origins_of
from clew.registry.context import Context
from clew.registry.vocabulary import OPEN, STANDING
from clew.store.database import Row

_AROUND_WORDS = """
a all and any are current currently did do every far give has have is known list me my now of open or our please project
s show so still tell that the there these this unanswered us valid we what where which
"""
_AROUND = frozenset(_AROUND_WORDS.split())
"""Words that may stand beside the name of a kind without narrowing the question."""
_NAMES = {
    **{name: kind for kind in (*STANDING, *OPEN, "task", "plan") for name in (kind, f"{kind}s")},
    **dict.fromkeys(("decided",), "decision"),
    **dict.fromkeys(("rejections", "rejection"), "rejected"),
    **dict.fromkeys(("hypotheses",), "hypothesis"),
}


def kinds_asked(query: str) -> tuple[str, ...]:
    """The kinds that a question names, if it asks for nothing else."""
    plain = "".join(sign if sign.isalpha() else " " for sign in query.lower())
    words = [word for word in plain.split() if word not in _AROUND]
    kinds = [_NAMES.get(word) for word in words]
    # A single word in the singular ("rule") is searched like any other word.
    is_word = len(plain.split()) == 1 and words == [kind for kind in kinds if kind]
    return tuple(dict.fromkeys(kind for kind in kinds if kind)) if words and all(kinds) and not is_word else ()


_OVER = OUTDATED | {"resolved", "closed", "disproved", "expired", "done", "canceled"}
"""Statuses of records that no longer hold, answered questions and finished work."""


def named_record(ctx: Context, request: Request) -> dict[str, Any] | None:
    """The record that a question names, if the question is nothing but an id."""
    wanted = normal_id(request.query.strip())
    if not MENTIONED.fullmatch(wanted):
        return None
    sync(ctx)
    with ctx.reading() as bound:
        row = item_named(bound.tx, bound.workspace, wanted)
        return _listing(bound, request, [row], 0, NAMED) if row is not None and _allowed(row, request) else None


NAMED = 100.0
"""Score of a record that the question names: above what ranking gives, for readers who sort or cut by score."""


def _allowed(row: Row, request: Request) -> bool:
    """Whether the request looks where the record is, and for what has its status; else it is searched for as words."""
    if request.sources and row["source"] not in request.sources:
        return False
    return not request.active_only or holds(row["source"], row["status"])


def newest_of_kind(ctx: Context, request: Request) -> dict[str, Any]:
    """The records of the wanted kinds that hold, newest first."""
    sync(ctx)
    with ctx.reading() as bound:
        kernel = kernel_of(bound)
        # A corpus is shared by the threads of this process.
        with library(bound.database).lock:
            search = Search(bound, request)
            corpus = search.corpus(bound, kernel)
            slots = np.flatnonzero(search.visible(corpus))
            slots = slots if request.history else slots[~with_status(corpus, slots, _OVER)]
            slots = slots[np.argsort(-corpus.seq[slots], kind="stable")]
            ids = [int(corpus.ids[slot]) for slot in slots[: request.limit]]
        rows = items_by_id(bound.tx, ids)
        return _listing(bound, request, [rows[id] for id in ids if id in rows], len(slots) - len(ids))


def _listing(ctx: Context, request: Request, rows: list[Row], more: int, score: float = 0.0) -> dict[str, Any]:
    query = analyse(request.query, kernel_of(ctx), ctx.now_ms, request.intent)
    origins, told = origins_of(ctx, rows), tellings(ctx, rows)
    results = [
        listed_json(row, told.get(row["ref"], UNTOLD), query, ctx.now_ms, score) | origins[row["ref"]] for row in rows
    ]
    return {
        "query": request.query,
        "intent": "LIST",
        "results": results,
        "count": len(results),
        "more": more,
        "kinds": list(request.kinds),
        "notice": NOTICE,
    }


def with_newest(ctx: Context, request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """Add the newest records of the named kinds to an answer that found nothing."""
    if answer["results"] or not request.kinds:
        return answer
    listed = newest_of_kind(ctx, replace(request, limit=min(request.limit, 3)))["results"]
    return {**answer, "newest": listed} if listed else answer
