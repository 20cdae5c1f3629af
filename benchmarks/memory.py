"""Governed memory at 50,000 blocks: apply, a manual edit until it is found, scan, start; on both engines, compared
with mind-mem on the same files.

The peer runs in a separate environment, created by the first measurement (`benchmarks/peer.py`); a timeout of it is
reported as such.
"""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.client import clew_server
from benchmarks.peer import PEER, mind_mem_python
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, Store, fresh_store
from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings

BLOCKS = 50_000
PATIENCE = 60
PLANTED = 50
"""Pairs of decisions among the others that contradict each other; scan has to list them all."""
DECISIONS = "decisions/DECISIONS.md"
_HEAD = "# Decisions\n\n---\n\n"


def main(quick: bool = False) -> None:
    blocks, rounds = (2_000, 5) if quick else (BLOCKS, 15)
    report = Report("memory", f"Governed memory with {blocks} decisions")
    for engine in ENGINES:
        with fresh_store(engine) as store:
            root = store.home.parent / "memory"
            write_decisions(root, blocks)
            measure_clew(report, store, root, rounds)
            measure_start(report, store, rounds)
    peer = mind_mem_python()
    if peer:
        folder = Path(tempfile.mkdtemp(prefix="clew-bench-peer-"))
        try:
            write_decisions(folder / "peer", blocks)
            measure_peer(report, peer, folder / "peer")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    report.save()


def write_decisions(root: Path, count: int) -> None:
    """Decisions of ten lines with words of a skewed vocabulary, always the same ones."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(20_000)]

    def sentence(size: int) -> str:
        return " ".join(words[int(chance.paretovariate(0.9)) % len(words)] for _ in range(size))

    def block(number: int) -> str:
        # 84 days repeat; three digits a day is what the peer takes for an id.
        day = f"{2020 + number % 6}{1 + number % 12:02d}{1 + number % 28:02d}"
        return (
            f"[D-{day}-{number // 84:03d}]\nDate: {day[:4]}-{day[4:6]}-{day[6:]}\nStatus: active\nScope: global\n"
            f"Statement: {sentence(18)}\nRationale: {sentence(12)}\nSupersedes: none\n"
            f"Tags: {words[number % 50]}, {words[number % 7]}\nSources:\n- log\n\n---\n\n"
        )

    path = root / DECISIONS
    path.parent.mkdir(parents=True)
    planted = "".join(map(contradiction, range(PLANTED)))
    path.write_text(_HEAD + "".join(map(block, range(count - 2 * PLANTED))) + planted, encoding="utf-8")


def contradiction(number: int) -> str:
    said = (f"Service alpha{number} stores orders in Redis", f"Service alpha{number} never stores orders in Redis")
    return "".join(
        f"[D-2026010{side}-{number:03d}]\nDate: 2026-01-0{side}\nStatus: active\nScope: global\nStatement: {text}\n"
        "Rationale: planted\nSupersedes: none\nTags: planted\nSources:\n- log\n\n---\n\n"
        for side, text in enumerate(said, 1)
    )


def measure_clew(report: Report, store: Store, root: Path, rounds: int) -> None:
    flags = {"home": store.home, "workspace": "bench", "workspace_lock": False, "memory_dir": root}
    clew = open_clew(load_settings({**flags, "database_url": store.url or None}, {}, root.parent))

    def row(what: str, seconds: list[float], target: str = "", **more: Any) -> None:
        report.row(system=f"clew, {store.engine}", what=what, **spread(seconds), target=target, **more)

    try:
        row("read the files in", [timed(clew, "list_proposals")])
        timed(clew, "recall", query="word1")
        row("propose", proposing(clew, rounds))
        row("apply", applying(clew, rounds), "p50 <= 60 ms")
        row("hand edit to searchable", editing(clew, root, rounds), "<= 500 ms")
        scans = [timed(clew, "scan") for _ in range(3)]
        found = call(clew, "scan")["checks"]
        assert found["contradictions"] >= PLANTED, "every planted contradiction is listed"
        row(
            "scan", scans, "<= 3000 ms", found=f"{found['contradictions']} contradictions, {found['drift_items']} drift"
        )
    finally:
        clew.close()


def measure_start(report: Report, store: Store, rounds: int) -> None:
    """Time to the initialize response, compared with an empty store."""
    with fresh_store(store.engine) as empty:
        times: dict[str, list[float]] = {"empty": [], "full": []}
        for _ in range(rounds):
            for name, chosen in (("empty", empty), ("full", store)):
                with clew_server(chosen.home, chosen.url, "daily") as server:
                    times[name].append(server.initialize())
    ratio = statistics.median(times["full"]) / statistics.median(times["empty"])
    shown = {"target": "unchanged", "found": f"{ratio:.2f} times an empty store"}
    report.row(system=f"clew, {store.engine}", what="start", **spread(times["full"]), **shown)


def call(clew: Clew, name: str, **arguments: Any) -> dict[str, Any]:
    answer = clew.dispatcher.call(name, arguments, Connection(toolset="full"))
    assert answer.ok, answer.envelope["error"]
    return dict(answer.envelope["result"])


def clocked(action: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    done = action()
    return done, time.perf_counter() - started


def timed(clew: Clew, name: str, **arguments: Any) -> float:
    return clocked(lambda: call(clew, name, **arguments))[1]


def proposing(clew: Clew, rounds: int) -> list[float]:
    said = [f"Adopt component alpha{number} for the gateway" for number in range(rounds)]
    return [timed(clew, "propose_update", block_type="decision", statement=text) for text in said]


def applying(clew: Clew, rounds: int) -> list[float]:
    waiting = call(clew, "list_proposals", status="staged", limit=200)["proposals"][:rounds]
    return [timed(clew, "approve_apply", proposal_id=item["proposal_id"], dry_run=False) for item in waiting]


def editing(clew: Clew, root: Path, rounds: int) -> list[float]:
    """A word changed somewhere in the file, saved, and asked for."""
    taken = []
    for number in range(rounds):
        edit(root / DECISIONS, number, rounds)
        hits, seconds = clocked(partial(call, clew, "recall", query=f"kestrel{number}zz"))
        assert hits["results"], "the edit is found"
        taken.append(seconds)
    return taken


def edit(path: Path, number: int, rounds: int) -> None:
    text = path.read_text(encoding="utf-8")
    place = text.index("Statement: ", len(text) * number // (rounds + 1)) + len("Statement: ")
    path.write_text(f"{text[:place]}kestrel{number}zz {text[place:]}", encoding="utf-8")


_PEER = """
import contextlib, io, sys, time
from pathlib import Path
from mind_mem.init_workspace import init
from mind_mem.sqlite_index import build_index, query_index

root = sys.argv[1]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    init(root)
    started = time.perf_counter()
    build_index(root)
    print(f"read the files in\\t{time.perf_counter() - started}", file=sys.__stdout__)
    path = Path(root) / "decisions/DECISIONS.md"
    text = path.read_text()
    place = text.index("Statement: ", len(text) // 2) + len("Statement: ")
    path.write_text(text[:place] + "kestrelzz " + text[place:])
    started = time.perf_counter()
    build_index(root)
    assert query_index(root, "kestrelzz")
    print(f"hand edit to searchable\\t{time.perf_counter() - started}", file=sys.__stdout__)
"""

_PEER_APPLY = """
import contextlib, io, sys, time
from pathlib import Path
from mind_mem.apply_engine import apply_proposal, compute_fingerprint
from mind_mem.block_parser import parse_file

root = sys.argv[1]
path = Path(root) / "intelligence/proposed/DECISIONS_PROPOSED.md"
text = path.read_text() if path.exists() else ""
block = "\\n".join(
    ["[P-20260301-001]", "ProposalId: P-20260301-001", "Type: decision", "TargetBlock: D-20260301-001", "Risk: low",
     "Evidence:", "- measured", "Rollback: by receipt", "Status: staged", "FilesTouched:", "- decisions/DECISIONS.md",
     "Ops:", "- op: append_block", "  file: decisions/DECISIONS.md", "  patch: |", "    [D-20260301-001]",
     "    Date: 2026-03-01", "    Status: active", "    Scope: global", "    Statement: Adopt component alpha",
     "    Rationale: measured", "    Supersedes: none", "    Tags: planted", "    Sources:", "    - log", ""]
)
path.write_text(text + "\\n" + block)
fingerprint = compute_fingerprint(next(b for b in parse_file(str(path)) if b["_id"] == "P-20260301-001"))
path.write_text(text + "\\n" + block.replace("Status: staged", "Fingerprint: " + fingerprint + "\\nStatus: staged"))
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    started = time.perf_counter()
    done = apply_proposal(root, "P-20260301-001")
    taken = time.perf_counter() - started
print(f"apply{'' if done[0] else ' (refused: ' + str(done[1])[:60] + ')'}\\t{taken}")
"""


def measure_peer(report: Report, python: str, root: Path) -> None:
    scanner = Path(python).parent / "mind-mem-scan"
    limited(report, "read the files in, edit", [python, "-c", _PEER, str(root)], 5 * PATIENCE)
    let_peer_apply(python, root)
    limited(report, "apply", [python, "-c", _PEER_APPLY, str(root)], PATIENCE)
    limited(report, "scan (a process of its own)", [str(scanner), str(root)], PATIENCE)


def let_peer_apply(python: str, root: Path) -> None:
    """A new workspace of the peer only detects; to change that the settings must be attested, as it requires."""
    for state in (root / "memory/intel-state.json", root / "mind-mem.json"):
        state.write_text(state.read_text(encoding="utf-8").replace("detect_only", "propose"), encoding="utf-8")
    command = [str(Path(python).parent / "mm"), "bind", "--rebind", "--workspace", str(root)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)


def limited(report: Report, what: str, command: list[str], patience: int) -> None:
    """Run the peer and report the times it prints, or its whole time when it prints none."""
    try:
        done, seconds = clocked(lambda: subprocess.run(command, capture_output=True, text=True, timeout=patience))
    except subprocess.TimeoutExpired:
        report.row(system=PEER, what=what, p50_ms=f"> {patience * 1000}")
        return
    told = [line.partition("\t") for line in done.stdout.splitlines() if "\t" in line]
    for name, _, taken in told:
        report.row(system=PEER, what=name, **spread([float(taken)]))
    if not told:
        ended = "" if done.returncode == 0 else f" (exit {done.returncode})"
        report.row(system=PEER, what=f"{what}{ended}", **spread([seconds]))


if __name__ == "__main__":
    main()
