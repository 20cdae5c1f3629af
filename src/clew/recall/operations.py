"""The operations that search: `recall` for everybody, `hybrid_search` for those who want to see which arms ran."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import invalid, suggest
from clew.recall.search import SOURCES, Request, Search
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import MAX_NUMBER, Bounded, Input, operation

Source = Literal[
    "all",
    "blocks",
    "cards",
    "notes",
    "thoughts",
    "tasks",
    "evidence",
    "patterns",
]

IntentName = Literal["WHY", "WHEN", "ENTITY", "WHAT", "HOW", "LIST", "VERIFY", "COMPARE", "TRACE"]

RESULTS_BUDGET = Budget(
    (Drop("results[].explain"), Trim("results", drop="last", floor=1), Clip("results[].excerpt", 120), Trim("results")),
    {"core": 8_000, "daily": 16_000, "full": 32_000},
    keep=("query", "count"),
)


class Recall(Bounded):
    query: Annotated[str, Field(min_length=1, max_length=4000, description="What to look for, in your own words.")]
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most results, 1 to 100.")] = 10
    active_only: Annotated[bool, Field(description="Only what still holds: status active, open, todo or doing.")] = (
        False
    )
    sources: Annotated[
        list[Source] | None, Field(max_length=8, description="What to search; default: the memory's blocks.")
    ] = None
    as_of: Annotated[
        int | str | None, Field(description="Search the state after this seq, or at this date or time (ISO).")
    ] = None
    intent: Annotated[
        IntentName | None, Field(description="What the question is after; default: its words tell (intent_classify).")
    ] = None
    explain: Annotated[bool, Field(description="Show how each score came about.")] = False


def bare_results(result: dict[str, Any]) -> Any:
    return result.get("results", [])


@operation(
    "recall", tier="daily", mode="own", budget=RESULTS_BUDGET, bare=bare_results, example={"query": "why PostgreSQL"}
)
def recall(ctx: Context, args: Recall) -> dict[str, Any]:
    """Find what is known: ranked, with source, age and status. An empty answer means that nothing fits."""
    return _searched(ctx, args)


@operation("hybrid_search", mode="own", budget=RESULTS_BUDGET, bare=bare_results, example={"query": "login flow"})
def hybrid_search(ctx: Context, args: Recall) -> dict[str, Any]:
    """Search by words and by meaning, and say which arms ran."""
    return _searched(ctx, args)


def _searched(ctx: Context, args: Recall) -> dict[str, Any]:
    if not args.query.strip():
        raise invalid("query", "must not be empty", "Say what to look for.", kind="non_empty")
    request = Request(
        query=args.query,
        limit=min(max(args.limit, 1), 100),
        active_only=args.active_only,
        sources=wanted_sources(args.sources),
        as_of=args.as_of,
        intent=args.intent,
        explain=args.explain,
        counts=True,
    )
    answer = Search(ctx, request).run()
    if not answer["results"] and args.sources is None:
        ctx.suggest(
            suggest(
                "recall", "Searches notes, cards, thoughts and tasks too.", "high", query=args.query, sources=["all"]
            )
        )
    return answer


def wanted_sources(names: list[Source] | None) -> tuple[str, ...]:
    if names is None:
        return ("block",)
    if "all" in names:
        return ()
    return tuple(dict.fromkeys(SOURCES[name] for name in names))


class IntentQuery(Input):
    query: Annotated[str, Field(max_length=4000, description="The question to classify.")]


@operation("intent_classify", bare=lambda result: result, example={"query": "Why did we choose SQLite?"})
def intent_classify(ctx: Context, args: IntentQuery) -> dict[str, Any]:
    """Show what a question is after and how that changes the search."""
    from clew.recall.intent import classify
    from clew.recall.kernel import kernel_of

    return {"query": args.query, **classify(args.query, kernel_of(ctx)).to_dict()}
