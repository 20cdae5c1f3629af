"""graph_query and its neighbours at branch depth 5: over stdio and in process, plain and with every filter."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.cards import DEPTH, fill_cards
from benchmarks.client import clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, Store, fresh_store
from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings

SIZES = (10_000, 100_000)

QUERIES: dict[str, dict[str, Any]] = {
    "default": {},
    "one type": {"types": ["decision"]},
    "type and status": {"types": ["hypothesis", "test"], "status": "open"},
    "status": {"status": "open"},
    "a tag": {"tags_all": ["t7"]},
    "any of tags": {"tags_any": ["t7", "t8"]},
    "tag, type, status": {"tags_all": ["t7"], "types": ["decision"], "status": "closed"},
    "common text": {"text": "storage"},
    "rare text": {"text": "card 777:"},
    "absent text": {"text": "no such words"},
    "20 ids": {"ids": [f"C{number * 37}" for number in range(20)]},
}


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    count = 30 if quick else 200
    report = Report("graph", f"Reads of a graph at branch depth {DEPTH}, over stdio and in process")
    for engine in engines:
        for size in (1_000,) if quick else SIZES:
            with fresh_store(engine) as store:
                branch = fill_cards(store, size)
                measure(report, store, engine, size, branch, count)
    report.save()


def measure(report: Report, store: Store, engine: str, size: int, branch: str, count: int) -> None:
    inside = _in_process(store)
    with clew_server(store.home, store.url) as server:
        server.initialize()
        calls = {f"graph_query, {name}": ("graph_query", arguments) for name, arguments in QUERIES.items()}
        calls["open a card"] = ("open", {"id": "C5"})
        calls["graph_query, deep page"] = ("graph_query", {"cursor": size})
        for label, (operation, arguments) in calls.items():
            given = arguments if operation == "open" else {"branch": branch, "doc": "graph", **arguments}
            over_stdio = spread(server.series(operation, count, **given))
            alone = spread([inside(operation, given) for _ in range(count)])
            report.row(
                engine=engine,
                stored=size,
                read=label,
                p50_ms=over_stdio["p50_ms"],
                p95_ms=over_stdio["p95_ms"],
                in_process_p50_ms=alone["p50_ms"],
                target="p50 <= 6 at 10k, <= 18 at 100k",
            )


def _in_process(store: Store) -> Callable[[str, dict[str, Any]], float]:
    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew, session = open_clew(load_settings(flags, {})), Connection(toolset="full")

    def timed(operation: str, arguments: dict[str, Any]) -> float:
        started = time.perf_counter()
        answer = clew.dispatcher.call(operation, arguments, session)
        seconds = time.perf_counter() - started
        if not answer.ok:
            raise RuntimeError(f"{operation}: {answer.envelope['error']}")
        return seconds

    return timed


if __name__ == "__main__":
    main()
