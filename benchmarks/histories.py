"""Linearizability: many processes on one store, killed at random like their servers; does one order explain all?

`lost` counts writes that were acknowledged or read and are not stored, `doubled` those stored twice, `different`
responses that no order of events explains, and processes with different answers at the end. All must be 0. A seed that
breaks it is kept in tests/process/seeds.json, and the tests run it from then on at their size; CLEW_HISTORY_SEED runs
it at this size.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence

from tests.process.crowd import Crowd, Outcome, Plan, keep_broken

from benchmarks.report import Report
from benchmarks.stores import ENGINES, Store, crash_postgres, fresh_store


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    name = "histories" if len(engines) > 1 else f"histories-{engines[0]}"
    report = Report(name, "Operations of many processes; processes, servers and database servers killed at random")
    for engine in engines:
        seed = int(os.environ.get("CLEW_HISTORY_SEED") or random.SystemRandom().randrange(1_000_000))
        plan = (
            Plan(8, 250, seed)
            if quick
            else Plan(32, 3_125, seed, longest_life=400, server_life=2_000, database_life=8_000)
        )
        with fresh_store(engine) as store:
            figures, outcome = measured(store, plan)
        report.row(engine=engine, processes=plan.processes, seed=seed, **figures)
        if outcome.problems:
            print(*outcome.problems[:20], sep="\n", flush=True)
            keep_broken(engine, plan, outcome)
        report.save()


def measured(store: Store, plan: Plan) -> tuple[dict[str, int], Outcome]:
    crash = (lambda: crash_postgres(store.url)) if store.url else None
    begun = time.monotonic()
    outcome = Crowd(str(store.home), store.url, plan, crash).run()
    figures = {
        "operations": len(outcome.ops),
        "acknowledged": outcome.count("ok"),
        "refused": outcome.count("failed"),
        "unknown": outcome.count("unknown"),
        "processes_killed": outcome.killed,
        "servers_killed": outcome.servers_killed,
        "databases_broken": outcome.databases_broken,
        "lost": outcome.of_kind("lost"),
        "doubled": outcome.of_kind("doubled"),
        "different": outcome.of_kind("different"),
        "seconds": round(time.monotonic() - begun),
        "load": round(os.getloadavg()[0]),
    }
    return figures, outcome
