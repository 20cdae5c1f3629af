"""Cards over stdio: the cost of writing one compared with a no-op, and of reads, in graphs of growing size."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.client import StdioServer, alternating, clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, Store, fresh_store
from clew.app import open_clew
from clew.reasoning.branches import Branch, branch_named, create_branch
from clew.reasoning.cards.card import write_card
from clew.reasoning.cards.forms import Card
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

SIZES = (10, 1_000, 10_000, 100_000)
READ_SIZES = (10_000, 100_000)
DEPTH = 5
READS = ("think_context", "context_pack", "think_query", "think_watch")


def fill_cards(store: Store, count: int, batch: int = 1000) -> str:
    """Cards of all types over a chain of branches, every third one supporting an earlier one; the last branch."""
    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew = open_clew(load_settings(flags, {}))
    context = Context(clew.dispatcher, Connection(), "bench", None)
    with context.writing() as ctx:
        branch = branch_named(ctx, "main")
    for level in range(DEPTH):
        for first in range(count * level // DEPTH, count * (level + 1) // DEPTH, batch):
            last = min(first + batch, count * (level + 1) // DEPTH)
            with context.writing() as ctx:
                for number in range(first, last):
                    _keep(ctx, branch, number)
        if level < DEPTH - 1:
            with context.writing() as ctx:
                branch = create_branch(ctx, f"level-{level + 1}", branch)
    clew.close()
    return branch.name


def _keep(ctx: Context, branch: Branch, number: int) -> None:
    kind = CARD_TYPES[number % len(CARD_TYPES)]
    status = "open" if number % 10 == 0 else "closed"
    text = f"card {number}: the {number % 97} storage engine keeps seq {number}"
    card = Card(f"C{number}", kind, f"Card {number}", text, status, (f"t{number % 50}",))
    write_card(ctx, Scope(branch), card, [f"C{number // 2}"] if number % 3 == 0 and number else [])


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    count = 50 if quick else 300
    writes = Report("cards", "think_card over stdio beside a no-op of the same run, by cards stored")
    reads = Report("card_reads", f"Reads of cards over stdio at branch depth {DEPTH}")
    for engine in engines:
        for size in SIZES[:2] if quick else SIZES:
            with fresh_store(engine) as store:
                branch = fill_cards(store, size)
                with clew_server(store.home, store.url) as server:
                    server.initialize()
                    measure_write(writes, server, engine, size, branch, count)
                    if quick or size in READ_SIZES:
                        measure_reads(reads, server, engine, size, branch, count)
    writes.save()
    reads.save()


def measure_write(report: Report, server: StdioServer, engine: str, size: int, branch: str, count: int) -> None:
    card = {"type": "hypothesis", "title": "The cache is stale", "text": "Reads after a write see old rows."}
    write = ("think_card", {"card": card, "supports": ["C1"], "branch": branch})
    noops, writes = (spread(times) for times in alternating(server, count, ("help", {"max_chars": 40}), write))
    report.row(
        engine=engine,
        stored=size,
        noop_p50_ms=noops["p50_ms"],
        card_p50_ms=writes["p50_ms"],
        card_p95_ms=writes["p95_ms"],
        ratio_p50=writes["p50_ms"] / noops["p50_ms"],
        target="ratio <= 3",
    )


def measure_reads(report: Report, server: StdioServer, engine: str, size: int, branch: str, count: int) -> None:
    for name in READS:
        times = spread(server.series(name, count, ref=branch))
        report.row(engine=engine, stored=size, read=name, **times, target="p50 <= 25 at 10k, <= 75 at 100k")


if __name__ == "__main__":
    main()
