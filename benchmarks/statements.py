"""The database work of each operation: statements, round trips, and their time, on both engines.

`python -m benchmarks.statements NAME` lists the statements of one operation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from benchmarks.cards import fill_cards
from benchmarks.report import Report
from benchmarks.stores import ENGINES, Store, fresh_store
from benchmarks.tasks import begin, fill_task
from benchmarks.thoughts import fill_session
from benchmarks.work import Work, counting
from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings

SIZES = (1_000, 10_000)
CARD = {"type": "hypothesis", "title": "The cache is stale", "text": "Reads after a write see old rows."}


@dataclass(frozen=True)
class Caller:
    clew: Clew
    session: Connection

    def begin(self, session: str) -> None:
        """The thought gateway requires the current work first."""
        self("thoughtbox_gateway", {"operation": "load_context", "sessionId": session})
        self("thoughtbox_gateway", {"operation": "cipher"})

    def __call__(self, name: str, arguments: dict[str, Any]) -> None:
        answer = self.clew.dispatcher.call(name, arguments, self.session)
        if not answer.ok:
            raise RuntimeError(f"{name}: {answer.envelope['error']}")


def operations(session: str, branch: str) -> dict[str, dict[str, Any]]:
    thought = {"operation": "thought", "thought": "The cache is stale after a write", "nextThoughtNeeded": True}
    return {
        "notes_commit": {"content": "the storage engine keeps one writer", "branch": "main"},
        "think_card": {"card": CARD, "supports": ["C1"], "branch": branch},
        "thoughtbox_gateway": {**thought, "sessionId": session},
        "graph_query": {"branch": branch, "doc": "graph"},
        "think_context": {"ref": branch},
        "think_query": {"ref": branch},
        "think_watch": {"ref": branch},
        "context_pack": {"ref": branch},
        "tasks_snapshot": {},
        "tasks_resume_super": {},
        "tasks_radar": {},
        "tasks_note": {"path": "s:0", "note": "seen"},
        "tasks_jobs_radar": {},
        "recall": {"query": "storage engine writer"},
    }


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    report = Report("statements", "What an operation asks of the store; times are medians in process")
    for engine in engines:
        for size in SIZES[:1] if quick else SIZES:
            with fresh_store(engine) as store, filled(store, size) as (caller, calls):
                for name, arguments in calls.items():
                    report.row(engine=engine, cards=size, operation=name, **measured(caller, name, arguments))
    report.save()


@contextmanager
def filled(store: Store, size: int) -> Iterator[tuple[Caller, dict[str, dict[str, Any]]]]:
    begin(store)
    fill_task(store, size)
    branch, session = fill_cards(store, size), fill_session(store, size)
    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew = open_clew(load_settings({**flags, "embedding_model": "none"}, {}))
    caller = Caller(clew, Connection(toolset="full"))
    caller.begin(session)
    yield caller, operations(session, branch)
    clew.close()


def measured(caller: Caller, name: str, arguments: dict[str, Any], count: int = 21) -> dict[str, Any]:
    traces, times = [], []
    for _ in range(count):
        trace, seconds = traced(caller, name, arguments)
        traces.append(trace)
        times.append(seconds)
    last, middle = traces[-1], sorted(times)[count // 2]
    waited = sorted(trace.seconds for trace in traces)[count // 2]
    return {
        "statements": len(last.statements),
        "rows": last.rows,
        "sqlite_steps": last.steps or "",
        "model_runs": last.model_runs,
        "round_trips": last.round_trips or "",
        "store_ms": waited * 1000,
        "call_ms": middle * 1000,
    }


def traced(caller: Caller, name: str, arguments: dict[str, Any]) -> tuple[Work, float]:
    with counting(Work()) as work:
        started = time.perf_counter()
        caller(name, arguments)
        return work, time.perf_counter() - started


def listing(name: str, size: int = 1_000) -> None:
    for engine in ENGINES:
        with fresh_store(engine) as store, filled(store, size) as (caller, calls):
            for _ in range(3):
                trace, seconds = traced(caller, name, calls[name])
        print(f"\n{engine}: {name}, {len(trace.statements)} statements, {seconds * 1000:.2f} ms")
        for statement in trace.statements:
            sql = " ".join(statement.sql.split())[:160]
            print(f"{statement.seconds * 1e6:7.0f} us  {sql}  {str(statement.params)[:100]}")


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        for wanted in sys.argv[1:]:
            listing(wanted)
