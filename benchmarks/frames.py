"""Frames in real Chromium while long lists are scrolled and a session of 5,000 thoughts is panned.

`dropped` are the missing frames of 60 a second, `long_tasks` and `long_frames` are reported by the browser itself:
work of the main thread, and frames with their drawing, of more than 50 ms. On a busy machine frames are late for lack
of processor time: compare `frame_ms` then, processor time of the main thread.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.big_store import Known, big_store
from benchmarks.client import ROOT
from benchmarks.observatory import metrics, observed
from benchmarks.page import Place, visit
from benchmarks.report import Report, shown

FRAME = 1000 / 60
STEP = 40
"""Pixels a frame: as fast as a hand turns a wheel."""

# Moves for some frames; the milliseconds from frame to frame, and the browser's own reports of what took long.
MOVE = """
const [selector, how, step, frames, done] = arguments;
const field = document.querySelector(selector), taken = [], long = { longtask: 0, "long-animation-frame": 0 };
const watch = new PerformanceObserver((list) => list.getEntries().forEach((entry) => (long[entry.entryType] += 1)));
for (const type of Object.keys(long)) watch.observe({ type });
let before = performance.now(), turn = 0, way = 1;
const move = {
  scroll: () => {
    const end = field.scrollHeight - field.clientHeight;
    if (field.scrollTop >= end - 1) way = -1;
    else if (field.scrollTop <= 0) way = 1;
    field.scrollBy({ top: way * step, behavior: "instant" });
  },
  pan: () => {
    const back = Math.floor(turn / 60) % 2 ? step : -step;
    field.dispatchEvent(new WheelEvent("wheel", { deltaY: back, bubbles: true, cancelable: true }));
  },
}[how];
function draw(now) {
  taken.push(now - before);
  before = now;
  if (turn++ === frames) return done({ taken: taken.slice(2), long, range: field.scrollHeight });
  move();
  requestAnimationFrame(draw);
}
requestAnimationFrame(draw);
"""


@dataclass(frozen=True)
class Moved:
    place: Place
    field: str
    how: str = "scroll"


def moved(known: Known) -> list[Moved]:
    session = f"now/session/{known.session}"
    return [
        Moved(Place("Inbox", "inbox", "#matters .matter"), "#matters"),
        Moved(Place("Records", "know/lists?kind=decision", "#records li"), ".rows-of"),
        Moved(Place("Areas", "know/areas", "#area-table tr"), "main"),
        Moved(Place("Reasoning", session, "#graph[data-drawn] .node p"), "#graph", "pan"),
    ]


def measure(page: Any, one: Moved, frames: int) -> dict[str, Any]:
    visit(page, one.place)
    page.until("document.querySelector(arguments[0])", one.field)
    work = metrics(page)["ThreadTime"]
    found = page.driver.execute_async_script(MOVE, one.field, one.how, STEP, frames)
    work = metrics(page)["ThreadTime"] - work
    taken = found["taken"]
    return {
        "place": one.place.name,
        "how": one.how,
        "frames": len(taken),
        "fps": 1000 * len(taken) / sum(taken),
        "dropped": sum(max(0, round(step / FRAME) - 1) for step in taken),
        "long_tasks": found["long"]["longtask"],
        "long_frames": found["long"]["long-animation-frame"],
        "frame_ms": work / len(taken) * 1000,
        "pixels_long": found["range"],
    }


def main(quick: bool = False) -> None:
    sys.path.insert(0, str(ROOT))
    os.environ["CLEW_EMBEDDING_MODEL"] = "none"
    report = Report("frames", f"Frames while something long moves; load {os.getloadavg()[0]:.1f}")
    with big_store(0.05 if quick else 1.0) as (store, known), observed(store) as (page, _, _):
        page.driver.get(page.address)
        page.until("document.querySelector('main > *')")
        for one in moved(known):
            row = measure(page, one, 120 if quick else 600)
            print(*(f"{name} {shown(value)}" for name, value in row.items()), flush=True)
            report.row(**row)
    report.row(place="target", fps="60", dropped="0", long_tasks="0", frame_ms="< 16.7")
    report.save()


if __name__ == "__main__":
    main()
