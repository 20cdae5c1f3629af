"""What a conversation will likely need next: every signal is searched, and all that is found is ranked together."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid
from clew.memory import blocks, categories
from clew.recall.answer import NOTICE
from clew.recall.operations import RESULTS_BUDGET, bare_results
from clew.recall.search import Request, Search
from clew.recall.uses import note_use
from clew.registry.context import Context
from clew.registry.operation import MAX_NUMBER, Bounded, operation

MOST_SIGNALS = 20
LOOKED_AT = 4
CATEGORY_BONUS = 0.5


class Prefetch(Bounded):
    signals: Annotated[
        Annotated[str, Field(max_length=4000)]
        | Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=100)],
        Field(description="Names, topics or phrases of the conversation: a list, or one text with commas."),
    ]
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most results, 1 to 20.")] = 5


@operation(
    "prefetch", mode="own", budget=RESULTS_BUDGET, bare=bare_results, example={"signals": "Redis, caching, sessions"}
)
def prefetch(ctx: Context, args: Prefetch) -> dict[str, Any]:
    """Collect the blocks that a conversation will likely need, from its names and topics."""
    signals = _signals(args.signals)
    limit = min(max(args.limit, 1), 20)
    found = [_asked(ctx, signal, limit) for signal in signals[:MOST_SIGNALS]]
    with ctx.reading() as bound:
        results = _ranked(bound, signals, found)[:limit]
        note_use(bound, [hit["_id"] for hit in results], bound.now_ms)
    if len(signals) > MOST_SIGNALS:
        ctx.warn("SIGNALS_LEFT_OUT", f"Only the first {MOST_SIGNALS} signals were used.", "Give fewer signals.")
    return {
        "signals": signals[:MOST_SIGNALS],
        "results": results,
        "count": len(results),
        "notice": NOTICE,
        "truncated": False,
    }


def _signals(given: str | list[str]) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else given
    signals = list(dict.fromkeys(" ".join(part.split()) for part in parts if part.strip()))
    if not signals:
        raise invalid("signals", "No signals provided. Pass comma-separated keywords.", kind="non_empty")
    return signals


def _asked(ctx: Context, signal: str, limit: int) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = Search(ctx, Request(signal, limit=limit * LOOKED_AT, sources=("block",))).run()[
        "results"
    ]
    return results


def _ranked(ctx: Context, signals: list[str], found: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Best first, equal ones by id. A block that several signals found has the sum of their scores.

    A signal's later hits count for less, as in discounted gain, so that no signal fills the answer alone.
    """
    best: dict[str, dict[str, Any]] = {}
    scores: dict[str, float] = {}
    matched: dict[str, list[str]] = {}
    for signal, hits in zip(signals, found, strict=False):
        for place, hit in enumerate(hits, 1):
            id = hit["_id"]
            if id not in best or hit["score"] > best[id]["score"]:
                best[id] = hit
            scores[id] = scores.get(id, 0.0) + max(hit["score"], 0.0) / math.log2(1 + place)
            matched.setdefault(id, []).append(signal)
    for id, share in _in_category(ctx, signals, list(best)).items():
        scores[id] += CATEGORY_BONUS * share
    order = sorted(best, key=lambda id: (-round(scores[id], 4), id))
    return [{**best[id], "score": round(scores[id], 4), "signals": matched[id]} for id in order]


def _in_category(ctx: Context, signals: list[str], ids: list[str]) -> dict[str, float]:
    """1 for blocks of a category that the conversation is about."""
    defined = categories.defined(ctx)
    wanted = set(categories.about(" ".join(signals), defined))
    held = {block.id: categories.assigned(block.id, block.fields, defined) for block in blocks.current(ctx, ids=ids)}
    return {id: 1.0 for id, names in held.items() if wanted & set(names)}
