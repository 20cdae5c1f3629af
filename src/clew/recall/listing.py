"""Questions that name only a kind ("open questions", "our rules") or an id: answered as lists, not by ranking."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from clew.ids import MENTIONED, normal_id
from clew.index.item_reads import item_named, items_by_id, items_by_ref, items_of_day
from clew.kinds.catalogue import state_of_item
from clew.kinds.state import ENDED
from clew.memory.files.sync import sync
from clew.recall.answer import NO_PREVIEW, NOTICE, listed_json, previews
from clew.recall.kernel import kernel_of
from clew.recall.library import library
from clew.recall.query import analyse
from clew.recall.search import Request, Search, holds, origins_of
from clew.registry.context import Context
from clew.registry.vocabulary import DURABLE, OPEN
from clew.store.database import Row

_AROUND_WORDS = """
a all and any are current currently did do every far give has have is known list me my now of open or our please project
s show so still tell that the there these this unanswered us valid we what where which
"""
_AROUND = frozenset(_AROUND_WORDS.split())
"""Stop words: they may occur next to the name of a kind without narrowing the question."""
_NAMES = {
    **{name: kind for kind in (*DURABLE, *OPEN, "task", "plan") for name in (kind, f"{kind}s")},
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


def named_record(ctx: Context, request: Request) -> dict[str, Any] | None:
    """The record that a question names, if it is nothing but an id; the records of a day for `D-20260101`."""
    wanted = normal_id(request.query.strip())
    day = _DAY.fullmatch(wanted.upper())
    if day is None and not MENTIONED.fullmatch(wanted):
        return None
    sync(ctx)
    with ctx.reading() as bound:
        found = items_of_day(bound.tx, bound.workspace, day[0]) if day else _item(bound, wanted)
        shown = [row for row in found if _allowed(row, request)]
        left = len(shown) - request.limit
        return _listing(bound, request, shown[: request.limit], max(left, 0), NAMED) if shown else None


def _item(ctx: Context, id: str) -> list[Row]:
    row = item_named(ctx.tx, ctx.workspace, id)
    return [row] if row is not None else []


_DAY = re.compile(r"[A-Z]{1,4}-\d{8}")
"""The kind and day of a dated id, without its number."""


NAMED = 100.0
"""Score of a record that the question names: above what ranking gives, for readers who sort or cut by score."""


def _allowed(row: Row, request: Request) -> bool:
    """Whether the filters of the request include the record; if not, its id is searched for as words."""
    if request.sources and row["source"] not in request.sources:
        return False
    return not request.active_only or holds(row["source"], row["kind"], row["status"])


def newest_of_kind(ctx: Context, request: Request) -> dict[str, Any]:
    """The valid records of the wanted kinds, newest first."""
    sync(ctx)
    with ctx.reading() as bound:
        kernel = kernel_of(bound)
        # A corpus is shared by the threads of this process.
        with library(bound.database).lock:
            search = Search(bound, request)
            corpus = search.corpus(bound, kernel)
            slots = np.flatnonzero(search.visible(corpus))
            slots = slots if request.history else slots[~corpus.are(slots, _has_ended)]
            slots = slots[np.argsort(-corpus.seq[slots], kind="stable")]
            ids = [int(corpus.ids[slot]) for slot in slots[: request.limit]]
        rows = items_by_id(bound.tx, bound.workspace, ids)
        return _listing(bound, request, [rows[id] for id in ids if id in rows], len(slots) - len(ids))


def _has_ended(source: str, kind: str | None, status: str | None) -> bool:
    return state_of_item(source, kind, status) in ENDED


def listing(ctx: Context, request: Request, rows: list[Row]) -> dict[str, Any]:
    """The first of these items as a list, with the number of the others."""
    with ctx.reading() as bound:
        shown = items_by_ref(bound.tx, bound.workspace, [row["ref"] for row in rows[: request.limit]])
        places = {row["ref"]: place for place, row in enumerate(rows)}
        ordered = sorted(shown, key=lambda row: places[row["ref"]])
        return _listing(bound, request, ordered, max(0, len(rows) - request.limit))


def _listing(ctx: Context, request: Request, rows: list[Row], more: int, score: float = 0.0) -> dict[str, Any]:
    query = analyse(request.query, kernel_of(ctx), ctx.now_ms, request.intent)
    origins, seen = origins_of(ctx, rows), previews(ctx, rows)
    results = [
        listed_json(row, seen.get(row["ref"], NO_PREVIEW), query, ctx.now_ms, score) | origins[row["ref"]]
        for row in rows
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
    """Fallback: add the newest records of the named kinds to an answer without results."""
    if answer["results"] or not request.kinds:
        return answer
    listed = newest_of_kind(ctx, replace(request, limit=min(request.limit, 3)))["results"]
    return {**answer, "newest": listed} if listed else answer
