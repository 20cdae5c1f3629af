"""Recall itself on trial: the real store, the real search, one workspace for each conversation."""

from __future__ import annotations

import statistics
import time
from typing import Annotated, Any

from pydantic import Field

from clew.recall.index import embed_all
from clew.recall.local import only_here
from clew.recall.locomo import DEPTHS, Conversation, Search, open_conversations, store_turns, tally
from clew.recall.peers import missing, peers, searches_of
from clew.recall.search import Request
from clew.recall.search import Search as Asking
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation


class BenchRecall(Input):
    locomo: Annotated[Name, Field(min_length=1, description="Path of the LoCoMo file on this machine.")]
    semantic: Annotated[bool, Field(description="Also measure with the embedding model, when there is one.")] = True
    peers: Annotated[bool, Field(description="Also measure others on the same turns.")] = True


@operation("bench_recall", writes=True, mode="own", idempotent=True, example={"locomo": "locomo10.json"})
def bench_recall(ctx: Context, args: BenchRecall) -> dict[str, Any]:
    """Measure retrieval on LoCoMo; `clew bench recall` runs it in a store of its own."""
    only_here(ctx, "bench_recall")
    conversations = open_conversations(args.locomo)
    places = {conversation.name: place_of(ctx, conversation) for conversation in conversations}
    for conversation in conversations:
        with places[conversation.name].writing() as bound:
            store_turns(bound, conversation)
    result: dict[str, Any] = {"lexical": measured(conversations, places, words_only=True)}
    if args.semantic and all(embed_all(place)["vectors"] for place in places.values()):
        result["semantic"] = measured(conversations, places, words_only=False)
    if args.peers:
        result["peers"], result["not_installed"] = others(conversations), missing()
    return result


def place_of(ctx: Context, conversation: Conversation) -> Context:
    return Context(ctx.dispatcher, ctx.session, f"locomo/{conversation.name}", ctx.agent, ctx.progress)


def measured(conversations: list[Conversation], places: dict[str, Context], words_only: bool) -> dict[str, Any]:
    seconds: list[float] = []

    def search_in(ctx: Context) -> Search:
        def search(query: str) -> list[str]:
            started = time.perf_counter()
            answer = Asking(ctx, Request(query, limit=DEPTHS[-1], words_only=words_only)).run()
            seconds.append(time.perf_counter() - started)
            return [hit["_id"] for hit in answer["results"]]

        return search

    report = tally(conversations, {name: search_in(ctx) for name, ctx in places.items()}).report()
    return {**report, "ms_p50": round(statistics.median(seconds) * 1000, 2)}


def others(conversations: list[Conversation]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, peer in peers().items():
        try:
            found[name] = tally(conversations, searches_of(peer, conversations)).report()
        except Exception as problem:
            found[name] = {"error": f"{type(problem).__name__}: {problem}"}
    return found
