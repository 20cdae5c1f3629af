"""The search operations: recall and hybrid_search by a question, find_similar by an item, prefetch by topics."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.index.item_reads import items_by_ref
from clew.memory import blocks, categories
from clew.memory.files.governed_write import failing
from clew.memory.files.sync import sync
from clew.recall.about import records_about
from clew.recall.answer import NOTICE, agent_lines
from clew.recall.listing import kinds_asked, listing, named_record, newest_of_kind, with_newest
from clew.recall.search import SOURCES, Request, Search
from clew.recall.tallies import flush_tallies
from clew.recall.uses import note_use, shown_with
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import BARE, MAX_NUMBER, AgentForm, Bounded, Input, Name, Names, View, operation
from clew.registry.vocabulary import sought_kinds
from clew.store.database import Row

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
    (
        Drop("results[].explain"),
        Trim("results", drop="last", floor=1),
        Clip("results[].excerpt", 120),
        Drop("arms"),
        Trim("results", drop="last"),
    ),
    {"core": 8_000, "daily": 16_000, "full": 32_000},
    keep=("query", "count"),
)
# ASKED_CHARS: how much of an item's text find_similar searches with. SHOWN_BONUS: the bonus of the item that
# was shown most often together with it. LOOKED_AT: candidates for each signal of prefetch, as a multiple of the
# limit. SERVED: the factor by which a signal loses weight with each result it has got.
ASKED_CHARS = 600
SHOWN_BONUS = 2.0
MOST_SIGNALS = 100
LOOKED_AT = 4
CATEGORY_BONUS = 0.5
SERVED = 0.7


class Recall(Bounded):
    synonyms: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("q", "question", "text", "search", "id", "keyword", "keywords", "topic"), "query"),
        **dict.fromkeys(("k", "n", "top_k", "max_results"), "limit"),
        **dict.fromkeys(("kind", "type", "types"), "kinds"),
        **dict.fromkeys(("file", "files", "path", "area"), "about"),
        **dict.fromkeys(("before", "until", "at"), "as_of"),
    }
    needs_one_of: ClassVar[tuple[str, ...]] = ("query", "about", "kinds")

    query: Annotated[str, Field(max_length=4000, description="What to look for, in your own words.")] = ""
    about: Annotated[Names, Field(description="Only what concerns this file or area; needs no query.")] = []
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most results, 1 to 100.")] = 10
    active_only: Annotated[bool, Field(description="Only what holds: active blocks, open records.")] = False
    sources: Annotated[list[Source] | None, Field(max_length=8, description="What to search; default: everything.")] = (
        None
    )
    kinds: Annotated[Names | None, Field(description="Only these, such as rule, question, task.")] = None
    history: Annotated[bool, Field(description="Also what was replaced or withdrawn.")] = False
    as_of: Annotated[int | str | None, Field(description="As it was after this seq, or at this time (ISO).")] = None
    intent: Annotated[
        IntentName | None, Field(description="What the question is after; default: its words tell (intent_classify).")
    ] = None
    explain: Annotated[bool, Field(description="Show how each score came about.")] = False


def bare_results(result: dict[str, Any]) -> Any:
    return result.get("results", [])


@operation(
    "recall",
    mode="own",
    budget=RESULTS_BUDGET,
    example={"query": "why PostgreSQL"},
    view=View(
        bare=bare_results,
        agent=AgentForm(
            ("query", "about", "kinds", "limit", "as_of", "history"), agent_lines, {"limit": 5, "sources": ["all"]}
        ),
    ),
)
def recall(ctx: Context, args: Recall) -> dict[str, Any]:
    """Find what is known: ranked, with source, age and status. It says so when nothing fits."""
    return _search(ctx, args)


@operation(
    "hybrid_search", mode="own", budget=RESULTS_BUDGET, example={"query": "login flow"}, view=View(bare=bare_results)
)
def hybrid_search(ctx: Context, args: Recall) -> dict[str, Any]:
    """Search by words and by meaning, and say which arms ran."""
    return _search(ctx, args)


def _search(ctx: Context, args: Recall) -> dict[str, Any]:
    if args.about:
        return _about(ctx, args)
    is_list = "query" not in args.model_fields_set and bool(args.kinds)
    if is_list and args.kinds:
        # The newest of these kinds, as the question for their names gives them.
        args = args.model_copy(update={"query": " ".join(sought_kinds(args.kinds, {"kinds": args.kinds}))})
    if "query" not in args.model_fields_set:
        raise invalid("query", "is required", "Say what to look for.", kind="missing_required")
    if not args.query.strip():
        return {"query": args.query, "results": [], "count": 0, "notice": NOTICE, "truncated": False}
    named = sought_kinds(args.kinds or (), args.model_dump(exclude_unset=True, include=ASKED))
    asked: tuple[str, ...] = ()
    if args.as_of is None and args.sources in (None, ["all"]):
        asked = named if is_list else kinds_asked(args.query)
    return _answered(ctx, args, named, asked)


def _answered(ctx: Context, args: Recall, named: tuple[str, ...], asked: tuple[str, ...]) -> dict[str, Any]:
    """The record that the query names, the newest of the kinds that it asks for, or what ranks best."""
    request = Request(
        query=args.query,
        limit=min(max(args.limit, 1), 100),
        active_only=args.active_only,
        sources=wanted_sources(args.sources),
        kinds=named or asked,
        history=args.history,
        as_of=args.as_of,
        intent=args.intent,
        explain=args.explain,
        counts=True,
    )
    found = named_record(ctx, request) if args.as_of is None and not named else None
    if found is not None:
        return found
    if asked and set(asked) == set(request.kinds):
        return newest_of_kind(ctx, request)
    return with_newest(ctx, request, Search(ctx, request).run())


ASKED = {"query", "about", "history", "as_of"}
"""The fields that define a question; the others only limit how much of its answer is shown."""
LISTED, UNSAID = 20, (5, 10)
"""Records about a file that are listed if no limit is given: 5 for agents, 10 for others."""


def _about(ctx: Context, args: Recall) -> dict[str, Any]:
    """The records about a file or area: ranked by the query, or without one all of them, valid ones first."""
    sync(ctx)
    kinds = sought_kinds(args.kinds or (), args.model_dump(exclude_unset=True, include=ASKED))
    sources = wanted_sources(args.sources)
    with ctx.reading() as bound:
        rows = records_about(bound, args.about, args.history)
        rows = [row for row in rows if not kinds or row["kind"] in kinds]
        rows = [row for row in rows if not sources or row["source"] in sources]
    limit = LISTED if not args.query.strip() and args.limit in UNSAID else args.limit
    request = Request(query=args.query, limit=min(max(limit, 1), 100), kinds=kinds, history=args.history, counts=True)
    if not args.query.strip():
        return {**listing(ctx, request, rows), "about": args.about}
    only = frozenset(row["ref"] for row in rows)
    found = Search(ctx, replace(request, refs=only, as_of=args.as_of, intent=args.intent, explain=args.explain)).run()
    return {**(found if found["results"] else listing(ctx, request, rows)), "about": args.about}


def wanted_sources(names: list[Source] | None) -> tuple[str, ...]:
    if names is None or "all" in names:
        return ()
    return tuple(dict.fromkeys(SOURCES[name] for name in names))


class IntentQuery(Input):
    query: Annotated[str, Field(max_length=4000, description="The question to classify.")]


@operation("intent_classify", example={"query": "Why did we choose SQLite?"}, view=BARE)
def intent_classify(ctx: Context, args: IntentQuery) -> dict[str, Any]:
    """Show what a question is after and how that changes the search."""
    from clew.recall.kernel import kernel_of
    from clew.recall.query import classify

    return {"query": args.query, **classify(args.query, kernel_of(ctx)).to_dict()}


class FindSimilar(Input):
    block_id: Annotated[Name, Field(min_length=1, description="Id of a block, card, note or anything else found.")]
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most results, 1 to 50.")] = 5


@operation("find_similar", mode="own", example={"block_id": "D-20260213-001"}, view=BARE)
def find_similar(ctx: Context, args: FindSimilar) -> dict[str, Any]:
    """Find what is like a block: by what it says, and by what was found together with it."""
    sync(ctx)
    flush_tallies(ctx.database)
    limit = min(max(args.limit, 1), 50)
    with failing(block_id=args.block_id), ctx.reading() as bound:
        row = _item(bound, args.block_id)
        together = {
            found["other"]: int(found["uses"]) for found in shown_with(bound.tx, bound.workspace, row["ref"], 100)
        }
    results = Search(ctx, Request(_question(row), limit=min(limit * 3, 100), sources=(row["source"],))).run()["results"]
    scores = {hit["_id"]: float(hit["score"]) for hit in results if hit["_id"] != row["ref"]}
    most = max(together.values(), default=1)
    for ref, uses in together.items():
        scores[ref] = scores.get(ref, 0.0) + SHOWN_BONUS * uses / most
    with ctx.reading() as bound:
        present = _present(bound, list(scores))
    ranked = sorted((ref for ref in scores if ref in present), key=lambda ref: (-scores[ref], ref))[:limit]
    return {
        "source": row["ref"],
        "similar": ranked,
        "method": "content and co-occurrence" if together else "content",
        "scores": {ref: round(scores[ref], 4) for ref in ranked},
    }


def _item(ctx: Context, ref: str) -> Row:
    rows = items_by_ref(ctx.tx, ctx.workspace, [ref])
    if not rows:
        raise unknown_id(
            "block",
            ref,
            "Give an id that recall returns.",
            [suggest("recall", "Finds ids by words.", "high", query=ref, sources=["all"])],
        )
    return rows[0]


def _present(ctx: Context, refs: list[str]) -> set[str]:
    return {row["ref"] for row in items_by_ref(ctx.tx, ctx.workspace, refs)}


def _question(row: Row) -> str:
    return " ".join(part for part in (row["title"], row["body"]) if part)[:ASKED_CHARS]


class Prefetch(Bounded):
    signals: Annotated[
        Annotated[str, Field(max_length=4000)]
        | Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=100)],
        Field(description="Names, topics or phrases of the conversation: a list, or one text with commas."),
    ]
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most results, 1 to 20.")] = 5


@operation(
    "prefetch",
    mode="own",
    budget=RESULTS_BUDGET,
    example={"signals": "Redis, caching, sessions"},
    view=View(bare=bare_results),
)
def prefetch(ctx: Context, args: Prefetch) -> dict[str, Any]:
    """Collect the blocks that a conversation will likely need, from its names and topics."""
    signals = _signals(args.signals)
    limit = min(max(args.limit, 1), 20)
    found = [_hits_for(ctx, signal, limit) for signal in signals[:MOST_SIGNALS]]
    with ctx.reading() as bound:
        results = _rank_hits(bound, signals[:MOST_SIGNALS], found, limit)
        note_use(bound, [hit["_id"] for hit in results], bound.now_ms)
    if len(signals) > MOST_SIGNALS:
        ctx.warn("SIGNALS_LEFT_OUT", f"Only the first {MOST_SIGNALS} signals were used.", "Give fewer signals.")
    return {
        "signals": signals[:MOST_SIGNALS],
        "results": results,
        "count": len(results),
        "notice": NOTICE,
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


def _hits_for(ctx: Context, signal: str, limit: int) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = Search(ctx, Request(signal, limit=limit * LOOKED_AT, sources=("block",))).run()[
        "results"
    ]
    return results


def _rank_hits(ctx: Context, signals: list[str], found: list[list[dict[str, Any]]], limit: int) -> list[dict[str, Any]]:
    """The hits of all signals in one order. An item that several signals found has the sum of their scores."""
    hits = {hit["_id"]: hit for results in found for hit in reversed(results)}
    parts: dict[str, dict[str, float]] = {id: {} for id in sorted(hits)}
    for signal, results in zip(signals, found, strict=True):
        for hit in results:
            parts[hit["_id"]][signal] = max(hit["score"], 0.0)
    bonus = _in_category(ctx, signals, list(hits))
    return [{**hits[id], "score": score, "signals": list(parts[id])} for id, score in _pick(parts, bonus, limit)]


def _pick(parts: dict[str, dict[str, float]], bonus: dict[str, float], limit: int) -> list[tuple[str, float]]:
    """Pick the best one by one. A signal that was served weighs less afterwards, so that none fills the answer."""
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
    """The bonus of blocks whose category the conversation is about."""
    defined = categories.defined(ctx)
    wanted = set(categories.about(" ".join(signals), defined))
    held = {block.id: categories.assigned(block.id, block.fields, defined) for block in blocks.current(ctx, ids=ids)}
    return {id: CATEGORY_BONUS for id, names in held.items() if wanted & set(names)}
