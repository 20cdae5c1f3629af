"""The page on a big store in real Chromium: how soon each place is ready, how many calls it makes, how smoothly its
pictures move, and what a stretch of events leaves in its memory."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.client import ROOT
from benchmarks.http_client import HttpClient
from benchmarks.observatory import cpu_seconds, heap_mb, metrics, observed
from benchmarks.report import Report
from benchmarks.stores import Store, fresh_store, writing
from benchmarks.thoughts import fill_session

CARDS, THOUGHTS, RECORDS, TASKS = 20_000, 5_000, 5_000, 250
HOUR = 20 * 3600
"""Events of an hour at twenty a second; fewer are said so in the row."""
AREAS = tuple(f"a:area-{number}" for number in range(24))
TYPES = ("hypothesis", "test", "evidence", "decision", "question", "note")
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


@dataclass(frozen=True)
class Place:
    name: str
    address: str
    ready: str
    field: str = ""
    """What is moved, where the place has a picture."""


def places(session: str, task: str) -> list[Place]:
    return [
        Place("Inbox", "inbox", "#inbox"),
        Place("Now", "now", "main h1, main h2"),
        Place("Board", "now/board", ".board .task"),
        Place("Task", f"now/board/{task}", "main h1"),
        Place("Reasoning", f"now/session/{session}", "#graph[data-drawn] .node p", "#graph"),
        Place("Recall", "know/recall/why%20does%20the%20storage%20engine%20keep%20one%20writer/all", ".result"),
        Place("Records", "know/lists", "#records li"),
        Place("Areas", "know/areas", "#map [data-box]", "#map"),
        Place("Cards", "know/cards/main", "#cards-field [data-box]", "#cards-field"),
        Place("Around", "know/around/C7", "#around [data-box]", "#around"),
        Place("History", "history", "main h1, main h2"),
        Place("Record", "o/C7", ".record-title"),
    ]


def fill(store: Store, share: float) -> tuple[str, str]:
    """The big store, or a share of it; its long session and one of its tasks."""
    session = fill_session(store, int(THOUGHTS * share))
    fill_areas(store)
    for first in range(0, int(CARDS * share), 1000):
        fill_cards(store, first, min(first + 1000, int(CARDS * share)))
    for first in range(0, int(RECORDS * share), 500):
        fill_records(store, first, min(first + 500, int(RECORDS * share)))
    return session, fill_tasks(store, int(TASKS * share))


def fill_areas(store: Store) -> None:
    from clew.reasoning.anchors.registry import Anchor, save_anchor

    with writing(store) as ctx:
        for number, area in enumerate(AREAS):
            parent = AREAS[number - number % 4] if number % 4 else None
            rests = (AREAS[(number * 5 + 3) % len(AREAS)],) if number % 3 == 0 else ()
            refs = (f"src/area_{number}/main.py",)
            save_anchor(ctx, Anchor(area, f"Area {number}", refs=refs, parent_id=parent, depends_on=rests))


def fill_cards(store: Store, first: int, last: int) -> None:
    from clew.reasoning.branches import branch_named
    from clew.reasoning.cards.card import write_card
    from clew.reasoning.cards.forms import Card
    from clew.reasoning.scope import Scope

    with writing(store) as ctx:
        scope = Scope(branch_named(ctx, "main"))
        for number in range(first, last):
            text = (
                f"Seen at {number}: the {number % 97} storage engine keeps one writer (src/area_{number % 24}/main.py)."
            )
            tags = (AREAS[number % len(AREAS)],) if number % 3 else ()
            status = "closed" if number % 3 == 0 else "open"
            card = Card(f"C{number}", TYPES[number % len(TYPES)], f"Card {number}", text, status, tags)
            write_card(ctx, scope, card, [f"C{number // 2}"] if number else [])


def fill_records(store: Store, first: int, last: int) -> None:
    from clew.reasoning.documents import append

    with writing(store) as ctx:
        for number in range(first, last):
            append(ctx, 1, "notes", title=f"Record {number}", content=f"note {number}: engine {number % 97} keeps it")


def fill_tasks(store: Store, count: int) -> str:
    from clew.app import open_clew
    from clew.registry.connection import Connection
    from clew.settings import load_settings

    clew = open_clew(load_settings({"home": store.home, "workspace": "bench"}, {}))
    steps = [{"title": f"Step {step}", "success_criteria": ["seen"]} for step in range(3)]
    task, plan = "", None
    for number in range(count):
        given = {"task_title": f"Task {number}", "steps": steps, **({"plan": plan} if plan else {"plan_title": "Big"})}
        answer = clew.dispatcher.call(
            "tasks_macro_start", given, Connection(toolset="full", agent_id=f"agent-{number % 7}")
        )
        task, plan = answer.envelope["result"]["task_id"], answer.envelope["result"]["plan_id"]
    clew.close()
    return task


def measure(page: Any, process: int, place: Place, frames: int) -> dict[str, Any]:
    """The middle of a few loads from nothing: until the place's own content stands, and what it asked for.

    `cpu_s` is what page and server computed for it, which nobody else on the machine disturbs.
    """
    taken, worked, calls = [], [], 0
    for _ in range(TIMES):
        page.driver.get("about:blank")
        begun, server = time.perf_counter(), cpu_seconds(process)
        page.driver.get(f"{page.address}/#/bench/{place.address}")
        page.until(f"document.querySelector('{place.ready}')?.checkVisibility() && {CALM}")
        taken.append(time.perf_counter() - begun)
        worked.append(cpu_seconds(process) - server + metrics(page)["ThreadTime"])
        calls = page.js(CALLS)
    row = {"place": place.name, "ready_s": statistics.median(taken), "cpu_s": statistics.median(worked)}
    row |= {"calls": calls, "heap_mb": heap_mb(page)}
    if place.field:
        before = metrics(page)["ThreadTime"]
        steps = sorted(page.driver.execute_async_script(PAN, place.field, frames))
        work = (metrics(page)["ThreadTime"] - before) / len(steps) * 1000
        row |= {"fps": 1000 / statistics.mean(steps), "frame_p95_ms": steps[int(len(steps) * 0.95)]}
        row |= {"work_per_frame_ms": work}
    return {**row, "target": "<= 1.5 s, <= 8 calls, 60 fps"}


CALM = "!document.querySelector('main[aria-busy]')"


def stretch(page: Any, address: str, session: str, place: Place, seconds: float) -> dict[str, Any]:
    """Thoughts and notes of another client, as fast as the store takes them, while the page looks on."""
    page.driver.get("about:blank")
    page.driver.get(f"{page.address}/#/bench/{place.address}")
    page.until(f"document.querySelector('{place.ready}')?.checkVisibility() && {CALM}")
    before = heap_mb(page)
    writer = HttpClient(address)
    begun, written = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds and written < HOUR:
        for events in _burst(session, written):
            writer.call(events[0], **events[1])
            written += 1
    took = time.perf_counter() - begun
    writer.close()
    page.until(CALM)
    return {
        "place": place.name,
        "events": written,
        "seconds": took,
        "hour_share": written / HOUR,
        "heap_before_mb": before,
        "heap_after_mb": heap_mb(page),
        "elements": page.js("return document.querySelectorAll('*').length"),
        "target": "heap < 30 MB",
    }


def _burst(session: str, written: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(20):
        text = f"event {written + number}"
        if number % 4:
            yield "thought", {"thought": text, "nextThoughtNeeded": True, "sessionId": session}
        else:
            yield "notes_commit", {"content": text, "title": text}


def main(quick: bool = False) -> None:
    ready = Report("page_ready", "Each place of the page on the big store, loaded from nothing")
    heap = Report("page_heap", "What the page holds after a stretch of events, as fast as the server takes them")
    sys.path.insert(0, str(ROOT))
    os.environ["CLEW_EMBEDDING_MODEL"] = "none"  # what a model computes in the background is measured by `findable`
    with fresh_store() as store:
        session, task = fill(store, 0.05 if quick else 1.0)
        with observed(store) as (page, address, process):
            page.driver.get(page.address)  # the first page of a new server pays for its imports
            page.until("document.querySelector('main > *')")
            for place in places(session, task):
                ready.row(**measure(page, process, place, 60 if quick else 180))
            for place in places(session, task):
                if place.name in ("Inbox", "Now", "Records", "Reasoning", "History"):
                    heap.row(**stretch(page, address, session, place, 10 if quick else 120))
    ready.save()
    heap.save()


if __name__ == "__main__":
    main()
