"""The radar over stdio with a thousand jobs, on both engines, compared with a no-op call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.client import clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, Store, fresh_store

SIZES = (10, 1_000, 10_000)
KINDS = ("progress", "checkpoint", "question", "error", "proof_gate")
EVENTS, RUNNERS = 8, 16


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    count = 50 if quick else 300
    report = Report("jobs", "tasks_jobs_radar over stdio, by the number of active jobs (half of them running)")
    for engine in engines:
        for size in SIZES[:2] if quick else SIZES:
            measure(report, engine, size, count)
    report.save()


def measure(report: Report, engine: str, size: int, count: int) -> None:
    with fresh_store(engine) as store:
        fill_jobs(store, size)
        with clew_server(store.home, store.url, "daily") as clew:
            clew.initialize()
            noop = spread(clew.series("help", count, max_chars=40))
            radar = spread(clew.series("tasks_jobs_radar", count))
            wide = spread(clew.series("tasks_jobs_radar", count, limit=200))
    report.row(
        engine=engine,
        jobs=size,
        noop_p50_ms=noop["p50_ms"],
        radar_p50_ms=radar["p50_ms"],
        radar_p95_ms=radar["p95_ms"],
        radar_200_p50_ms=wide["p50_ms"],
        target="1,000 jobs: radar p50 <= 15 ms",
    )


def fill_jobs(store: Store, size: int) -> None:
    """Jobs with a thread each, half of them claimed, by the operations themselves inside few transactions."""
    from clew.app import open_clew
    from clew.registry.connection import Connection
    from clew.registry.context import Context
    from clew.settings import load_settings
    from clew.tasks.jobs.queue import create_job

    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew = open_clew(load_settings(flags, {}))
    for first in range(0, size, 500):
        with Context(clew.dispatcher, Connection(), "bench", None).writing() as ctx:
            for number in range(first, min(first + 500, size)):
                create_job(ctx, f"job {number}: look at the storage engine", "Measure it. " * 50, anchor="a:storage")
            for number in range(first, min(first + 500, size)):
                if number % 2:
                    work(ctx, f"JOB-{number + 1:03d}", number)
    for number in range(RUNNERS):
        beat = {"runner_id": f"host:{number}", "status": "idle", "lease_ttl_ms": 300_000}
        clew.dispatcher.call("tasks_runner_heartbeat", beat, Connection())
    clew.close()


def work(ctx: Any, job: str, number: int) -> None:
    from clew.tasks.jobs.job import job_by_id
    from clew.tasks.jobs.queue import claim_job

    held, _ = claim_job(ctx, job_by_id(ctx, job), f"host:{number % RUNNERS}", 300_000)
    claim = {"job": job, "runner_id": held.runner, "claim_revision": held.revision}
    for event in range(EVENTS):
        said = {"message": f"event {event} of {job}", "kind": KINDS[(number + event) % len(KINDS)]}
        ctx.dispatcher.invoke(ctx, "tasks_jobs_report", {**claim, **said})


if __name__ == "__main__":
    main()
