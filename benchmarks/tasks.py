"""Coming back to a task with many cards: how long its views take over stdio, and how many characters they cost."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.client import StdioServer, clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, Store, fresh_store, writing

SIZES = (100, 1_000, 10_000)
TYPES = ("hypothesis", "test", "evidence", "decision", "question", "note")
ANCHORS = ("a:storage", "a:search", "a:runner")
VIEWS = ("focus_only", "smart", "full")


def fill_task(store: Store, cards: int, batch: int = 1000) -> None:
    """A task whose graph holds so many cards, every third closed, each supporting the one before."""
    from clew.reasoning.cards.card import write_card
    from clew.reasoning.cards.forms import Card
    from clew.reasoning.scope import resolve_step, scope_of

    for first in range(0, cards, batch):
        with writing(store) as ctx:
            scope = scope_of(ctx, "TASK-001")
            step = resolve_step(ctx, scope, "focus")
            for number in range(first, min(first + batch, cards)):
                card = Card(
                    None,
                    TYPES[number % len(TYPES)],
                    f"Thought {number}",
                    f"What was seen at {number}: the storage engine keeps one writer and seq {number}.",
                    "closed" if number % 3 == 0 else "open",
                    (ANCHORS[number % len(ANCHORS)], *(["pinned"] if number % 2500 == 7 else [])),
                )
                before = [f"CARD-{number}"] if number % 5 else []
                write_card(ctx, scope, card, before, (), step if number % 10 == 0 else None)


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    count = 30 if quick else 200
    times = Report("tasks", "Views of a task over stdio, by cards in its graph")
    costs = Report("tasks_characters", "Characters needed to resume a task")
    for engine in engines:
        for size in SIZES[:2] if quick else SIZES:
            measure_size(times, costs, engine, size, count)
    times.save()
    costs.save()


def measure_size(times: Report, costs: Report, engine: str, size: int, count: int) -> None:
    with fresh_store(engine) as store:
        begin(store)
        fill_task(store, size)
        with clew_server(store.home, store.url, "daily") as server:
            server.initialize()
            snapshot = spread(server.series("tasks_snapshot", count))
            full = spread(server.series("tasks_resume_super", max(count // 2, 10)))
            noop = spread(server.series("help", count, max_chars=40))
            if engine == "sqlite":
                count_characters(costs, server, size)
    times.row(
        engine=engine,
        cards=size,
        noop_p50_ms=noop["p50_ms"],
        snapshot_p50_ms=snapshot["p50_ms"],
        snapshot_p95_ms=snapshot["p95_ms"],
        resume_super_full_p50_ms=full["p50_ms"],
        resume_super_full_p95_ms=full["p95_ms"],
        target="snapshot p50 <= 8, full p50 <= 30 at 10k",
    )


def begin(store: Store) -> None:
    with clew_server(store.home, store.url) as server:
        server.initialize()
        server.call("tasks_macro_start", task_title="Storage: one writer at a time", description="Writers starve.")
        server.call("tasks_block", task="TASK-001", path="s:1", reason="waits for the review")


def count_characters(costs: Report, server: StdioServer, size: int) -> None:
    lines = server.call("tasks_snapshot")["content"][0]["text"]
    costs.row(cards=size, view="snapshot (lines)", characters=len(lines), keeps=kept_in_lines(lines))
    small = server.call("tasks_snapshot", max_chars=1500, fmt="json")["structuredContent"]["result"]
    costs.row(cards=size, view="snapshot max_chars=1500", characters=small["budget"]["used_chars"], keeps=kept(small))
    for view in VIEWS:
        result = server.call("tasks_resume_super", view=view, fmt="json")["structuredContent"]["result"]
        costs.row(cards=size, view=view, characters=result["budget"]["used_chars"], keeps=kept(result))


def kept(result: dict[str, object]) -> str:
    """Which of the three essential things for a reader are present."""
    capsule = result["capsule"]
    assert isinstance(capsule, dict)
    found = {
        "ref": bool(result.get("ref")),
        "next": bool(capsule.get("action")),
        "blockers": bool(capsule["radar"]["blockers"]),
    }
    return " ".join(name for name, there in found.items() if there)


def kept_in_lines(text: str) -> str:
    return " ".join(name for name, mark in {"ref": "ref=", "next": "next "}.items() if mark in text)


if __name__ == "__main__":
    main()
