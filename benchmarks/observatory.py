"""The live page in real Chromium: the cost of drawing, the latency until a thought of another process is on the
screen, and the load of fifty concurrent agents on the page and the server."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT, clew_server
from benchmarks.http_client import http_server
from benchmarks.report import Report, spread
from benchmarks.stores import Store, fresh_store
from benchmarks.thoughts import fill_session

SIZES = (10, 1_000, 5_000)
AGENTS = 50

# Pans for some frames; the milliseconds from frame to frame.
PAN = """
const [frames, done] = arguments;
const graph = document.getElementById("graph"), taken = [];
let before = performance.now(), turn = 0;
function step(now) {
  taken.push(now - before);
  before = now;
  if (turn++ === frames) return done(taken.slice(1));
  const back = Math.floor(turn / 30) % 2 ? 60 : -60;
  graph.dispatchEvent(new WheelEvent("wheel", { deltaY: back, bubbles: true, cancelable: true }));
  requestAnimationFrame(step);
}
requestAnimationFrame(step);
"""
# Notes how many thoughts the picture holds and when that was painted: at the start of the frame after it was drawn.
WATCH = """
window.painted = [];
const graph = document.getElementById("graph");
new MutationObserver(() => {
  const count = Number(graph.dataset.thoughts);
  requestAnimationFrame(() => painted.push([count, Date.now()]));
}).observe(graph, { attributeFilter: ["data-thoughts"] });
"""


@contextmanager
def observed(store: Store) -> Iterator[tuple[Any, str, int]]:
    """A page on a server of this store; the page, the server's address and its process."""
    sys.path.insert(0, str(ROOT))
    from tests.browser.chromium import Page, chromium

    with (
        http_server(store.home, store.url) as (address, process),
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium(Path(profile)) as driver,
    ):
        yield Page(driver, address.removesuffix("/mcp")), address, process


def metrics(page: Any) -> dict[str, float]:
    page.driver.execute_cdp_cmd("Performance.enable", {})
    found = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return {item["name"]: item["value"] for item in found}


def heap_mb(page: Any) -> float:
    page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    return metrics(page)["JSHeapUsedSize"] / 1e6


def drawing(quick: bool) -> Report:
    """Frames while panning, and the page's own work for each thought that is added."""
    report = Report("observatory_drawing", "The graph in Chromium, by thoughts in the session")
    for size in SIZES:
        with fresh_store() as store:
            session = fill_session(store, size)
            with observed(store) as (page, _, _), clew_server(store.home) as writer:
                writer.initialize()
                begun = time.perf_counter()
                page.open_session(session, size)
                opened = time.perf_counter() - begun
                before = metrics(page)
                frames = page.driver.execute_async_script(PAN, 60 if quick else 240)
                panned = metrics(page)
                added = add(page, writer, session, size, 40 if quick else 200)
                report.row(
                    thoughts=size,
                    open_ms=opened * 1000,
                    frame_p50_ms=statistics.median(frames),
                    frame_p95_ms=sorted(frames)[int(len(frames) * 0.95)],
                    work_per_frame_ms=(panned["TaskDuration"] - before["TaskDuration"]) / len(frames) * 1000,
                    script_per_thought_ms=added,
                    elements=page.js("return document.querySelectorAll('.world *').length"),
                    heap_mb=heap_mb(page),
                    target="frames <= 17 ms, flat",
                )
    return report


def add(page: Any, writer: Any, session: str, size: int, count: int) -> float:
    """Milliseconds of script for one more thought, at twenty a second."""
    page.click('button[title="Newest thought"]')
    before = metrics(page)["ScriptDuration"]
    paced(20, count, lambda turn: write(writer, session, f"thought {turn}"))
    page.until_drawn(size + count)
    return (metrics(page)["ScriptDuration"] - before) / count * 1000


def paced(rate: float, count: int, act: Any) -> None:
    begun = time.perf_counter()
    for turn in range(count):
        time.sleep(max(0.0, begun + turn / rate - time.perf_counter()))
        act(turn)


def write(writer: Any, session: str, text: str) -> None:
    writer.call("thought", thought=text, nextThoughtNeeded=True, sessionId=session)


def latency(quick: bool) -> Report:
    """From the moment another process begins to write to the moment the node is painted, on one clock."""
    report = Report("observatory_latency", "A thought of another process on the screen, 20 a second")
    for size in (10, 5_000):
        count = 40 if quick else 200
        late = delays(size, count)
        report.row(thoughts=size, written=count, seen=len(late), **spread(late), target="p95 <= 200 ms")
    return report


def delays(size: int, count: int) -> list[float]:
    with fresh_store() as store:
        session = fill_session(store, size)
        with observed(store) as (page, _, _), clew_server(store.home) as writer:
            writer.initialize()
            page.open_session(session, size)
            page.click('button[title="Newest thought"]')
            page.js(WATCH)
            begun: list[float] = []

            def act(turn: int) -> None:
                begun.append(time.time())
                write(writer, session, f"thought {turn}")

            paced(20, count, act)
            page.until("window.painted.some(([count]) => count >= arguments[0])", size + count)
            painted = page.js("return window.painted")
    return [
        next(at for shown, at in painted if shown >= size + number) / 1000 - moment
        for number, moment in enumerate(begun, 1)
    ]


def agents(address: str, session: str, seconds: int, label: str) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.agents", address, session, str(AGENTS), str(seconds), label]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    taken: list[float] = json.loads(done.stdout)
    return taken


def costing(process: int, act: Callable[[], list[float]]) -> tuple[list[float], float]:
    """The result of the action, and the processor seconds of the server."""
    before = cpu_seconds(process)
    result = act()
    return result, cpu_seconds(process) - before


def cpu_seconds(process: int) -> float:
    """Unlike wall time it does not depend on other processes of this machine."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def crowd(quick: bool) -> Report:
    """Fifty agents, one thought a second each, first without a viewer, then with the page open on their session."""
    seconds = 10 if quick else 60
    report = Report("observatory_agents", f"{AGENTS} agents on one session over HTTP, one thought a second each")
    with fresh_store() as store:
        session = fill_session(store, 1)
        with observed(store) as (page, address, process):
            alone, cost = costing(process, lambda: agents(address, session, seconds, "alone"))
            report.row(page="closed", calls=len(alone), **spread(alone), server_ms_per_call=cost / len(alone) * 1000)
            stored = 1 + len(alone)
            page.open_session(session, stored)
            before, busy = heap_mb(page), metrics(page)["TaskDuration"]
            watched, cost = costing(process, lambda: agents(address, session, seconds, "watched"))
            stored += len(watched)
            page.until_drawn(stored)
            report.row(
                page="open",
                calls=len(watched),
                **spread(watched),
                server_ms_per_call=cost / len(watched) * 1000,
                p95_ratio=spread(watched)["p95_ms"] / spread(alone)["p95_ms"],
                page_busy=(metrics(page)["TaskDuration"] - busy) / seconds,
                on_page=int(page.js("return document.getElementById('graph').dataset.thoughts")),
                stored=stored,
                heap_before_mb=before,
                heap_after_mb=heap_mb(page),
                target="on_page = stored, ratio <= 2",
            )
    return report


def main(quick: bool = False) -> None:
    for measure in (drawing, latency, crowd):
        measure(quick).save()


if __name__ == "__main__":
    main()
