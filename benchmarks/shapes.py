"""Recall on other shapes than conversations among friends: `python -m benchmarks shapes`.

Clew with the shipped kernels and the abstention threshold, against plain FTS5, plain BM25 and the bare model, on
collections made from texts of this machine (`samples`). Every question has an answer: `refused` is the share that the
threshold leaves without one. Nothing is fitted here.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.fit_recall import kept_model
from benchmarks.recall.locomo import DEPTHS, Conversation, Search, Tally, store_turns
from benchmarks.recall.peers import MIND_MEM, peers
from benchmarks.recall.vectors import KeptVectors
from benchmarks.report import Report
from benchmarks.samples import collections
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.recall.filler import fill
from clew.recall.search import Request
from clew.recall.search import Search as Asking
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings


def main(quick: bool = False) -> None:
    report = Report("shapes", "Recall on other shapes, nothing fitted")
    model = None if quick else kept_model()
    for collection in collections():
        report_one(report, collection, model)
    report.save()


def report_one(report: Report, collection: Conversation, model: KeptVectors | None) -> None:
    shape = {"shape": collection.name, "items": len(collection.turns), "asked": len(collection.questions)}
    for name, search in searches(collection, model):
        tally, refused = Tally(), 0
        for question in collection.questions:
            found = search(question.text)
            tally.add(collection.name, question, found)
            refused += not found
        figures = {key: tally.summary()[key] for key in ("recall@1", "recall@10", "mrr@10")}
        report.row(**shape, search=name, **figures, refused=refused / max(len(collection.questions), 1))


def searches(collection: Conversation, model: KeptVectors | None) -> Iterator[tuple[str, Search]]:
    """Clew by words and with the model, each while its store exists, and the others."""
    with fresh_store() as store:
        clew = open_clew(load_settings({"home": store.home, "workspace": "bench", "workspace_lock": False}, {}))
        ctx = Context(clew.dispatcher, Connection(), "bench", None)
        with ctx.writing() as bound:
            store_turns(bound, collection)
        yield "Clew, words", lambda query: asked(ctx, Request(query, limit=DEPTHS[-1], words_only=True))
        if model is not None:
            fill(ctx, model)
            model.save()
            yield "Clew, model", lambda query: asked(ctx, Request(query, limit=DEPTHS[-1]))
        clew.close()
    for peer in peers(model):
        if peer.make is not None and peer.name != MIND_MEM:
            yield peer.name, peer.make(collection)


def asked(ctx: Context, request: Request) -> list[str]:
    return [hit["_id"] for hit in Asking(ctx, request).run()["results"]]
