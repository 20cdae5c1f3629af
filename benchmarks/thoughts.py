"""Thoughts over stdio: one compared with a no-op as a session grows, reads, and a start with many."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.client import StdioServer, alternating, clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, Store, fresh_store
from clew.app import open_clew
from clew.ledger.sessions import NewSession, start_session
from clew.ledger.thought_record import ThoughtDraft, record
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

SIZES = (10, 1_000, 10_000, 100_000)
SESSIONS = 500
READS = ("read_thoughts", "get_structure", "session_get", "load_context")


def fill_session(store: Store, count: int, batch: int = 1000) -> str:
    """One session with a branch for every fiftieth thought and cipher in every second."""
    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew = open_clew(load_settings(flags, {}))
    context = Context(clew.dispatcher, Connection(), "bench", None)
    with context.writing() as ctx:
        session = start_session(ctx, NewSession("A long session"))
    for first in range(0, count, batch):
        with context.writing() as ctx:
            for number in range(first, min(first + batch, count)):
                record(ctx, session, _draft(number))
    clew.close()
    return session.id


def _draft(number: int) -> ThoughtDraft:
    words = f"step {number}: the {number % 97} storage engine keeps seq {number}"
    if number % 50 == 49:
        return ThoughtDraft(words, chain=f"b{number}", from_number=1)
    return ThoughtDraft(f"S{number + 1}|E|S1|{words}" if number % 2 and number > 1 else words)


def fill_sessions(store: Store, count: int) -> None:
    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew = open_clew(load_settings(flags, {}))
    context = Context(clew.dispatcher, Connection(), "bench", None)
    with context.writing() as ctx:
        for number in range(count):
            session = start_session(ctx, NewSession(f"Session {number}", tags=(f"t{number % 10}",)))
            for step in range(5):
                record(ctx, session, ThoughtDraft(f"step {step} of {number}"))
    clew.close()


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    count = 50 if quick else 300
    writes = Report("thoughts", "thought over stdio beside a no-op of the same run, by thoughts in the session")
    reads = Report("thought_reads", "Reads of a session over stdio, by thoughts in it")
    for engine in engines:
        for size in SIZES[:2] if quick else SIZES:
            with fresh_store(engine) as store:
                session = fill_session(store, size)
                with clew_server(store.home, store.url) as server:
                    server.initialize()
                    measure_write(writes, server, engine, size, session, count)
                    measure_reads(reads, server, engine, size, session, count // 5)
    starts = measure_starts(5 if quick else 10)
    for report in (writes, reads, starts):
        report.save()


def measure_write(report: Report, server: StdioServer, engine: str, size: int, session: str, count: int) -> None:
    server.call("thoughtbox_gateway", operation="load_context", sessionId=session)
    server.call("thoughtbox_gateway", operation="cipher")
    gate, given = "thoughtbox_gateway", {"operation": "thought", "nextThoughtNeeded": True}
    taken = alternating(
        server,
        count,
        ("help", {"max_chars": 40}),
        (gate, {**given, "thought": "The cache is stale after a write"}),
        (gate, {**given, "thought": "S1|E|S1|logs show old rows"}),
    )
    noop, write, cipher = (spread(times) for times in taken)
    report.row(
        engine=engine,
        stored=size,
        noop_p50_ms=noop["p50_ms"],
        thought_p50_ms=write["p50_ms"],
        thought_p95_ms=write["p95_ms"],
        cipher_p50_ms=cipher["p50_ms"],
        ratio_p50=write["p50_ms"] / noop["p50_ms"],
        target="ratio <= 3, flat",
    )


def measure_reads(report: Report, server: StdioServer, engine: str, size: int, session: str, count: int) -> None:
    for name in READS:
        times = server.series(name, count, sessionId=session)
        report.row(engine=engine, stored=size, read=name, **spread(times))
    times = server.series("session_search", count, query="storage engine 42")
    report.row(engine=engine, stored=size, read="session_search", **spread(times))


def measure_starts(count: int) -> Report:
    report = Report("thought_starts", f"Start over stdio to the initialize answer, empty and with {SESSIONS} sessions")
    for sessions in (0, SESSIONS):
        with fresh_store() as store:
            fill_sessions(store, sessions)
            taken = []
            for _ in range(count):
                with clew_server(store.home, store.url) as server:
                    taken.append(server.initialize())
            report.row(sessions=sessions, **spread(taken), target="no difference")
    return report


if __name__ == "__main__":
    main()
