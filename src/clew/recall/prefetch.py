"""What a conversation will likely need next: every signal is searched, and all that is found is ranked together."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError
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
SERVED = 0.7


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
        results = _ranked(bound, signals[:MOST_SIGNALS], found, limit)
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
        raise ClewError(
            "INVALID_INPUT",
            "No signals provided. Pass comma-separated keywords.",
            "Give names, topics or phrases of the conversation.",
            [{"kind": "non_empty", "field": "signals"}],
        )
    return signals


def _asked(ctx: Context, signal: str, limit: int) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = Search(ctx, Request(signal, limit=limit * LOOKED_AT, sources=("block",))).run()[
        "results"
    ]
    return results


def _ranked(ctx: Context, signals: list[str], found: list[list[dict[str, Any]]], limit: int) -> list[dict[str, Any]]:
    """The hits of all signals in one order. What several found has the sum of their scores."""
    hits = {hit["_id"]: hit for results in found for hit in reversed(results)}
    parts: dict[str, dict[str, float]] = {id: {} for id in sorted(hits)}
    for signal, results in zip(signals, found, strict=True):
        for hit in results:
            parts[hit["_id"]][signal] = max(hit["score"], 0.0)
    bonus = _in_category(ctx, signals, list(hits))
    return [{**hits[id], "score": score, "signals": list(parts[id])} for id, score in _picked(parts, bonus, limit)]


def _picked(parts: dict[str, dict[str, float]], bonus: dict[str, float], limit: int) -> list[tuple[str, float]]:
    """The best, one by one; a signal that was served weighs less from then on, so that none fills the answer alone."""
    weights = {signal: 1.0 for scores in parts.values() for signal in scores}
    picked: list[tuple[str, float]] = []
    waiting = dict(parts)
    while waiting and len(picked) < limit:
        worth = {
            id: round(sum(weights[signal] * score for signal, score in scores.items()) + bonus.get(id, 0.0), 4)
            for id, scores in waiting.items()
        }
        best = min(waiting, key=lambda id: (-worth[id], id))
        picked.append((best, worth[best]))
        for signal in waiting.pop(best):
            weights[signal] *= SERVED
    return picked


def _in_category(ctx: Context, signals: list[str], ids: list[str]) -> dict[str, float]:
    """What blocks of a category that the conversation is about are worth more."""
    defined = categories.defined(ctx)
    wanted = set(categories.about(" ".join(signals), defined))
    held = {block.id: categories.assigned(block.id, block.fields, defined) for block in blocks.current(ctx, ids=ids)}
    return {id: CATEGORY_BONUS for id, names in held.items() if wanted & set(names)}
