"""The cost of a call over stdio: a no-op, and a durable write into stores of growing size."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.client import bare_server, clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, fill_notes, fresh_store

SIZES = (10, 1_000, 10_000, 100_000)


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    count = 100 if quick else 400
    report = Report("calls", "Calls over stdio: a no-op beside the bare server, durable writes by size")
    for engine in engines:
        for size in SIZES[:2] if quick else SIZES:
            measure_size(report, engine, size, count)
    report.save()


def measure_size(report: Report, engine: str, size: int, count: int) -> None:
    with fresh_store(engine) as store:
        fill_notes(store, size)
        with bare_server() as bare, clew_server(store.home, store.url) as clew:
            bare.initialize()
            clew.initialize()
            floor = spread(bare.series("noop", count))
            noop = spread(clew.series("help", count, max_chars=40))
            write = spread(clew.series("notes_commit", count, content="the storage engine keeps one writer"))
            memory = clew.memory_mb()
    report.row(
        engine=engine,
        stored=size,
        bare_p50_ms=floor["p50_ms"],
        noop_p50_ms=noop["p50_ms"],
        noop_ratio=noop["p50_ms"] / floor["p50_ms"],
        write_p50_ms=write["p50_ms"],
        write_p95_ms=write["p95_ms"],
        write_ratio_p50=write["p50_ms"] / noop["p50_ms"],
        write_ratio_p95=write["p95_ms"] / noop["p50_ms"],
        memory_mb=memory,
        target="noop <= 1.5, write p50 <= 3, p95 <= 8",
    )


if __name__ == "__main__":
    main()
