"""One table of all cases in which an original was better than Clew: the original, Clew then, and Clew now.

Thoughtbox is not in the npm registry, so its times and those of Clew then are the recorded ones of a comparison with
the seed's commit: over stdio, wall time, on a loaded machine. Clew now is the server's processor time for the same
calls over stdio. mind-mem is installed separately (`benchmarks/peer.py`) and measured alternately with Clew, in
processor time as well. `python -m benchmarks.originals` puts the newest table into docs/benchmarks.md.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.client import StdioServer, bare_server, clew_server
from benchmarks.contracts import BEFORE, SESSION, SIZES, filled
from benchmarks.first_start import BLOCKS, Step, clew_steps, peer_steps
from benchmarks.peer import PEER, mind_mem_python
from benchmarks.report import RESULTS, Report
from clew.app import open_clew
from clew.settings import load_settings

PAGE = Path(__file__).parent.parent / "docs/benchmarks.md"
RECORDED = "recorded"


def main(quick: bool = False) -> None:
    report = Report("originals", "where an original was ahead; Clew now in processor time")
    for size in SIZES[:1] if quick else SIZES:
        thoughtbox(report, size, 3 if quick else 15)
    protocol(report, 15)
    mind_mem(report, 1_000 if quick else BLOCKS, 1 if quick else 3)
    report.save()


def thoughtbox(report: Report, size: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="clew-bench-originals-") as home:
        clew = open_clew(load_settings({"home": home, "workspace": "bench"}, {}))
        filled(clew, size)
        clew.close()
        with clew_server(Path(home), toolset="thoughtbox") as server:
            server.initialize()
            for what, now in _taken(server, rounds).items():
                then, original = BEFORE.get((size, what), (None, None))
                row(report, "Thoughtbox", f"{what}, {size:,} thoughts", "ms", original, RECORDED, then, now)


def _taken(server: StdioServer, rounds: int) -> dict[str, float]:
    """Milliseconds of the server's processor time, the fastest of some rounds, which other processes hardly affect."""
    one = {"sessionId": SESSION}
    calls: dict[str, dict[str, Any]] = {
        **{f"export {form}": _session("export", **one, format=form) for form in ("json", "markdown", "cipher")},
        "analyze": _session("analyze", **one),
        "get_structure": {"operation": "get_structure", "args": one},
        "read last 5": {"operation": "read_thoughts", "args": {**one, "last": 5}},
        "session.list": _session("list"),
    }
    server.call("thoughtbox_gateway", operation="load_context", args=one)
    server.call("thoughtbox_gateway", operation="cipher")
    taken: dict[str, list[float]] = {what: [] for what in calls}
    for _ in range(rounds + 1):
        for what, arguments in calls.items():
            before = server.cpu_exact_ms()
            server.call("thoughtbox_gateway", **arguments)
            taken[what].append(server.cpu_exact_ms() - before)
    return {what: min(times[1:]) for what, times in taken.items()}


def _session(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"operation": "session", "args": {"operation": operation, "args": arguments}}


def protocol(report: Report, rounds: int) -> None:
    """The overhead of the protocol's library in every call: a server with one no-op tool."""
    with bare_server() as server:
        server.initialize()
        taken = []
        for _ in range(rounds + 5):
            before = server.cpu_exact_ms()
            server.call("noop")
            taken.append(server.cpu_exact_ms() - before)
    row(
        report,
        "Thoughtbox",
        "a bare server of the SDK, a call that does nothing",
        "ms",
        None,
        "-",
        None,
        min(taken[5:]),
    )


def mind_mem(report: Report, count: int, rounds: int) -> None:
    peer = mind_mem_python()
    ours, theirs = [], []
    for number in range(rounds):
        ours.append(clew_steps(count, model=False))
        if peer:
            theirs.append(peer_steps(peer, count, scan=number == 0))
    model = clew_steps(count, model=True)
    told = f"measured, {PEER}" if peer else f"not measured, {PEER} cannot be had here"
    for what, then in (("start", None), ("files in", 11), ("first question", None)):
        name = f"{what}, {count:,} decisions"
        row(report, "Mind-Mem", name, "s", best(theirs, what), told, then, best(ours, what))
    stopped = next((step for steps in theirs for step in steps if step.what.startswith("scan, stopped")), None)
    scanned = f"more than {stopped.cpu:.0f}" if stopped else best(theirs, "scan")
    row(report, "Mind-Mem", f"scan, {count:,} decisions", "s", scanned, told, None, best(ours, "scan"))
    for what, name in (("files in", "peak of memory, files in, words only"), ("scan", "peak of memory, with a scan")):
        row(report, "Mind-Mem", name, "MB", peak(theirs, what), told, None, peak(ours, what))
    row(report, "Mind-Mem", "peak of memory, with the model", "MB", 146, f"{RECORDED}, 1.0.3", 427, model[-1].peak_mb)


def peak(found: list[list[Step]], what: str) -> int | None:
    return min((step.peak_mb for steps in found for step in steps if step.what.startswith(what)), default=None)


def best(found: list[list[Step]], what: str) -> float | None:
    return min((step.cpu for steps in found for step in steps if step.what == what), default=None)


def row(
    report: Report, contract: str, what: str, unit: str, original: Any, source: str, then: Any, now: float | None
) -> None:
    figures = {
        "original": figure(original),
        "how": "-" if original is None else source,
        "clew_then": figure(then),
        "clew_now": figure(now),
    }
    report.row(contract=contract, what=what, unit=unit, **figures)


def figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) and value < 100 else f"{value}".partition(".")[0]


COLUMNS = {
    "contract": "contract",
    "what": "what",
    "unit": "unit",
    "original": "original",
    "how": "how the original was measured",
    "clew_then": "Clew then",
    "clew_now": "Clew now",
}


def publish() -> None:
    """Put the newest table into the page, with the day and the load."""
    found = json.loads((RESULTS / "originals.json").read_text(encoding="utf-8"))
    lines = ["| " + " | ".join(COLUMNS.values()) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(item[name] for name in COLUMNS) + " |" for item in found["rows"]]
    day, machine = time.strftime("%Y-%m-%d", time.gmtime(found["at"])), found["machine"]
    told = (
        f"Measured on {day} on {machine['cores']} cores with Python {machine['python']}, at a load of"
        f" {machine['load']:.0f} from other work."
    )
    table = "\n".join([told, "", *lines])
    text = PAGE.read_text(encoding="utf-8")
    between = re.compile(r"(<!-- originals -->\n).*?(<!-- /originals -->)", re.DOTALL)
    PAGE.write_text(between.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    publish()
