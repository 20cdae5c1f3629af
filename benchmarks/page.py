"""The page on a big store in real Chromium: the load time of each place, its number of calls, the smoothness of its
graphs, and its memory after an hour of twenty events a second.

The first run builds the store (minutes); it is kept for the next ones. Wall times depend on what else the machine does:
`cpu_s` and `frame_ms` are processor time of the page's main thread (`cpu_s` with the server's), `chromium_ms` that of
all threads of Chromium for a frame, painting included. A frame has 16.7 ms.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.big_store import AREAS, TYPES, Known, big_store
from benchmarks.client import ROOT
from benchmarks.observatory import cpu_seconds, heap_mb, metrics, observed
from benchmarks.report import Report, shown
from benchmarks.stores import Store

RATE, HOUR = 20, 20 * 3600
"""Events a second, and those of an hour."""
FASTER = 20
"""How many seconds of the hour pass in one: events come in the order and number of an hour, only sooner."""
TOGETHER = 4
"""Seconds of the hour that are committed at once: otherwise the disk would be measured."""
PATIENCE = 400.0
"""Seconds after which the hour is cut short; the row then says how much of it passed."""
TIMES = 3

# Moves the picture by the wheel for some frames; the milliseconds from frame to frame.
PAN = """
const [selector, frames, done] = arguments;
const field = document.querySelector(selector), taken = [];
let before = performance.now(), turn = 0;
function step(now) {
  taken.push(now - before);
  before = now;
  if (turn++ === frames) return done(taken.slice(2));
  const back = Math.floor(turn / 30) % 2 ? 60 : -60;
  field.dispatchEvent(new WheelEvent("wheel", { deltaY: back, deltaX: back / 2, bubbles: true, cancelable: true }));
  requestAnimationFrame(step);
}
requestAnimationFrame(step);
"""
CALLS = "return performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/page/call')).length"
COUNT_CALLS = "performance.setResourceTimingBufferSize(100000)"
CALM = "!document.querySelector('main[aria-busy]')"


@dataclass(frozen=True)
class Place:
    name: str
    address: str
    ready: str
    field: str = ""
    """What is moved, where the place has a picture."""
    watched: bool = False
    """Whether it is kept open for an hour."""


def places(known: Known) -> list[Place]:
    asked = "why%20does%20the%20storage%20engine%20keep%20one%20writer"
    return [
        Place("Inbox", "inbox", "#inbox", watched=True),
        Place("Now", "now", "main h1, main h2", watched=True),
        Place("Board", "now/board", ".board .task"),
        Place("Task", f"now/board/{known.task}", "main h1"),
        Place("Reasoning", f"now/session/{known.session}", "#graph[data-drawn] .node p", "#graph", watched=True),
        Place("Recall", f"know/recall/{asked}/all", ".result"),
        Place("Records", "know/lists", "#records li", watched=True),
        Place("Areas", "know/areas", "#area-table tr", watched=True),
        Place("Around", "know/around/C7", "#around [data-near]"),
        Place("History", "history", "main h1, main h2", watched=True),
        Place("Home", "home", "#digest, #no-digest", watched=True),
        Place("Record", "o/C7", ".record-title"),
    ]


def visit(page: Any, place: Place) -> None:
    """Loads the page without a cache, and waits until the content of the place is shown."""
    page.driver.get("about:blank")
    page.driver.get(f"{page.address}/#/bench/{place.address}")
    page.until(f"document.querySelector('{place.ready}')?.checkVisibility() && {CALM}")


def measure(page: Any, server: int, place: Place, frames: int) -> dict[str, Any]:
    """The median of a few loads, and the requests of the place."""
    taken, worked = [], []
    for _ in range(TIMES):
        begun, served = time.perf_counter(), cpu_seconds(server)
        visit(page, place)
        taken.append(time.perf_counter() - begun)
        worked.append(cpu_seconds(server) - served + metrics(page)["ThreadTime"])
    row = {"place": place.name, "ready_s": statistics.median(taken), "cpu_s": statistics.median(worked)}
    row |= {"calls": page.js(CALLS), "heap_mb": heap_mb(page)}
    row |= pan(page, place, frames) if place.field else {}
    print(*(f"{name} {shown(value)}" for name, value in row.items()), flush=True)
    return row


def pan(page: Any, place: Place, frames: int) -> dict[str, Any]:
    script, all_threads = metrics(page)["ThreadTime"], chromium_seconds(page)
    steps = sorted(page.driver.execute_async_script(PAN, place.field, frames))
    script, all_threads = metrics(page)["ThreadTime"] - script, chromium_seconds(page) - all_threads
    return {
        "fps": 1000 / statistics.mean(steps),
        "frame_ms": script / len(steps) * 1000,
        "chromium_ms": all_threads / len(steps) * 1000,
        "late_frames": sum(step > 25 for step in steps),
    }


def chromium_seconds(page: Any) -> float:
    """Processor time of the browser with all its processes."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    family = {page.driver.service.process.pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(cpu_seconds(process) for process in family)


def hour(page: Any, store: Store, known: Known, events: int) -> tuple[dict[str, dict[str, Any]], str]:
    """The memory of the open places after the events, each in a separate window; and the rate of the events."""
    windows = {}
    for place in places(known):
        if place.watched:
            page.driver.switch_to.new_window("window")
            windows[place.name] = page.driver.current_window_handle
            visit(page, place)
            page.js(COUNT_CALLS)
    before = {name: held(page, window) for name, window in windows.items()}
    begun = time.perf_counter()
    written = feed(store, known.session, events)
    took = time.perf_counter() - begun
    rows = {}
    for name, window in windows.items():
        after = held(page, window)
        redrawn = {"hour_calls": after["calls"] - before[name]["calls"], "elements": after["elements"]}
        rows[name] = {"hour_before_mb": before[name]["heap"], "hour_after_mb": after["heap"], **redrawn}
    return rows, f"{written} events of {HOUR} in {took:.0f} s, {written / took / RATE:.1f} times as fast as an hour"


def held(page: Any, window: str) -> dict[str, Any]:
    page.driver.switch_to.window(window)
    page.until(CALM)
    return {"heap": heap_mb(page), "calls": page.js(CALLS), "elements": page.js("return document.all.length")}


def feed(store: Store, session: str, events: int) -> int:
    """Another process writes what many agents would: thoughts, notes and cards, some seconds in a transaction."""
    written, begun = 0, time.perf_counter()
    with writer(store) as write:
        for first in count(step=TOGETHER):
            if written >= events or time.perf_counter() - begun > PATIENCE:
                break
            written += write(session, range(first, first + TOGETHER))
            time.sleep(max(0.0, begun + (first + TOGETHER) / FASTER - time.perf_counter()))
    return written


@contextmanager
def writer(store: Store) -> Iterator[Callable[[str, range], int]]:
    """A call that writes the events of some seconds, and says how many they were."""
    from clew.app import open_clew
    from clew.ledger.sessions import LedgerSession, session_named
    from clew.ledger.thought_record import ThoughtDraft, record
    from clew.reasoning.branches import branch_named
    from clew.reasoning.cards.card import write_card
    from clew.reasoning.cards.forms import Card
    from clew.reasoning.documents import append
    from clew.reasoning.scope import Scope
    from clew.registry.connection import Connection
    from clew.registry.context import Context
    from clew.settings import load_settings

    clew = open_clew(load_settings({"home": store.home, "workspace": "bench"}, {}))

    def second(ctx: Context, session: LedgerSession, scope: Scope, turn: int) -> None:
        for number in range(12):
            record(
                ctx,
                session,
                ThoughtDraft(f"Thought {number} of second {turn}: what was seen, and what follows from it"),
            )
        for number in range(5):
            append(ctx, 1, "notes", title=f"Note {number} of second {turn}", content="What was seen")
        for number in range(3):
            kind, area = TYPES[(turn + number) % len(TYPES)], AREAS[turn % len(AREAS)]
            card = Card(f"H{turn}-{number}", kind, f"Card {number} of second {turn}", "Seen", "open", (area,))
            write_card(ctx, scope, card, [f"C{turn % 100}"])

    def write(session: str, turns: range) -> int:
        agent = Connection(agent_id=f"agent-{turns.start % 7}")
        with Context(clew.dispatcher, agent, "bench", None).writing() as ctx:
            named, scope = session_named(ctx, session), Scope(branch_named(ctx, "main"))
            for turn in turns:
                second(ctx, named, scope, turn)
        return RATE * len(turns)

    try:
        yield write
    finally:
        clew.close()


def main(quick: bool = False) -> None:
    sys.path.insert(0, str(ROOT))
    os.environ["CLEW_EMBEDDING_MODEL"] = "none"  # what a model computes in the background is measured by `findable`
    with big_store(0.05 if quick else 1.0) as (store, known), observed(store) as (page, _, server):
        page.driver.get(page.address)  # the first page of a new server pays for its imports
        page.until("document.querySelector('main > *')")
        rows = {place.name: measure(page, server, place, 60 if quick else 180) for place in places(known)}
        held, how = hour(page, store, known, 2_000 if quick else HOUR)
    report = Report("page", f"Each place on the big store; the hour: {how}; load {os.getloadavg()[0]:.1f}")
    for name, row in rows.items():
        report.row(**row, **held.get(name, {}))
    report.row(place="target", ready_s="<= 0.6", calls="<= 7", fps="60", hour_after_mb="< 30")
    report.save()


if __name__ == "__main__":
    main()
