"""Recall over stdio by size and engine, by words and with the model warm, with what goes with it: the first call of a
fresh process, a call right after a write, memory, processor time and the speed of indexing."""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Sequence

from benchmarks.client import StdioServer, clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, Store, fresh_store
from clew.app import open_clew
from clew.index.items import Item, index_items
from clew.recall.models import NONE, installed_model
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

SIZES = {1_000: (8, 25), 10_000: (15, 30), 100_000: (40, 60)}
BATCH = 1_000
QUESTIONS = 60
STARTS = 3


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """20,000 made-up words as often as words of a language are."""
    letters = ("bcdfglmnprst", "aeiou")
    words = [
        "".join(chance.choice(part) for _ in range(chance.randint(2, 4)) for part in letters) for _ in range(20_000)
    ]
    return words, list(itertools.accumulate(1 / (place + 10) for place in range(len(words))))


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    report = Report("recall_latency", "Recall over stdio, p50 and p95 in ms; memory <= 400 MB, indexing >= 2,000/s")
    for engine in engines:
        for size, targets in itertools.islice(SIZES.items(), 2 if quick else len(SIZES)):
            measure(report, engine, size, targets)
    report.save()


def measure(report: Report, engine: str, size: int, targets: tuple[int, int]) -> None:
    chance = random.Random(size)
    words, weights = vocabulary(chance)
    questions = [" ".join(chance.choices(words, cum_weights=weights, k=4)) for _ in range(QUESTIONS)]
    with fresh_store(engine) as store:
        speed = fill(store, size, words, weights, chance)
        arms = {"lexical": (NONE, targets[0])}
        give_vectors(store, size)
        arms["semantic"] = ("", targets[1])
        for arm, (model, target) in arms.items():
            first, first_cpu = first_call(store, model, questions[0])
            with clew_server(store.home, store.url, CLEW_EMBEDDING_MODEL=model) as clew:
                clew.initialize()
                asked(clew, questions[0])
                times, spent = timed(clew, questions)
                report.row(
                    engine=engine,
                    items=size,
                    arm=arm,
                    p50_ms=times["p50_ms"],
                    p95_ms=times["p95_ms"],
                    target_ms=target,
                    cpu_p50_ms=spent["p50_ms"],
                    cpu_p95_ms=spent["p95_ms"],
                    cpu_max_ms=spent["max_ms"],
                    first_ms=first,
                    first_cpu_ms=first_cpu,
                    memory_mb=clew.memory_mb(),
                    after_write_ms=after_write(clew, questions[:20]),
                    indexed_per_s=speed,
                )


def timed(clew: StdioServer, questions: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Times of responses, wall time and processor time: the latter is stable on a busy machine."""
    times, spent = [], []
    for question in questions:
        begun = clew.cpu_ms()
        times.append(asked(clew, question))
        spent.append((clew.cpu_ms() - begun) / 1000)
    return spread(times), spread(spent)


def asked(clew: StdioServer, question: str) -> float:
    return clew.timed("recall", query=question, sources=["all"])


def first_call(store: Store, model: str, question: str) -> tuple[float, float]:
    """Milliseconds of the first recall in a fresh process, wall time and processor time."""
    times, spent = [], []
    for _ in range(STARTS):
        with clew_server(store.home, store.url, CLEW_EMBEDDING_MODEL=model) as clew:
            clew.initialize()
            begun = clew.cpu_ms()
            times.append(asked(clew, question) * 1000)
            spent.append(clew.cpu_ms() - begun)
    return statistics.median(times), statistics.median(spent)


def after_write(clew: StdioServer, questions: list[str]) -> float:
    """The median of recalls that each follow a write."""
    times = []
    for question in questions:
        clew.call("notes_commit", content=f"a note about {question}")
        times.append(asked(clew, question))
    return statistics.median(times) * 1000


def opened(store: Store, model: str) -> Context:
    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench", "embedding_model": model}
    return Context(open_clew(load_settings(flags, {})).dispatcher, Connection(), "bench", None)


def fill(store: Store, size: int, words: list[str], weights: list[float], chance: random.Random) -> float:
    """Items a second, many to a transaction."""
    ctx, begun = opened(store, NONE), time.perf_counter()
    for first in range(0, size, BATCH):
        with ctx.writing() as bound:
            items = []
            for number in range(first, min(first + BATCH, size)):
                body = " ".join(chance.choices(words, cum_weights=weights, k=30))
                seq, doc = bound.ws.next_seq(), f"doc-{number // 40}"
                items.append(Item(f"N-{number}", "note", seq, bound.now_ms, body=body, branch=1, doc=doc))
            index_items(bound.tx, "bench", items)
    taken = time.perf_counter() - begun
    return size / taken


def give_vectors(store: Store, size: int) -> None:
    """Random ones: computing real ones takes minutes, and the speed of comparisons is the same."""
    import numpy as np

    from clew.index import vectors
    from clew.index.item_reads import changed_items, last_change
    from clew.recall.models import load

    model, ctx, chance = load(installed_model()), opened(store, ""), np.random.default_rng(1)
    with ctx.writing() as bound:
        rows = changed_items(bound.tx, "bench", 0, size)
        made = chance.standard_normal((len(rows), model.dimensions), np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        stored = [vectors.StoredVector(row.id, str(at), vectors.packed(made[at])) for at, row in enumerate(rows)]
        vectors.keep(bound.tx, "bench", model.id, stored, [], last_change(bound.tx, "bench"))
