"""Compatibility: a workspace of mind-mem is opened, used and returned, and verified by that program itself.

The program is installed into a separate environment (`benchmarks/peer.py`). Its own validator and scan must find
nothing in what Clew wrote, its recall must find it, it must apply what Clew staged and roll back what Clew applied.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.memory import call
from benchmarks.peer import mind_mem_python
from benchmarks.report import Report
from clew.app import Clew, open_clew
from clew.settings import load_settings

PATIENCE = 300

_MAKE = """
import contextlib, io, pathlib, subprocess, sys
from mind_mem.apply_engine import apply_proposal, compute_fingerprint
from mind_mem.block_parser import parse_file
from mind_mem.init_workspace import init

root = pathlib.Path(sys.argv[1])
quiet = contextlib.redirect_stdout(io.StringIO())
with quiet:
    init(str(root))
file = "decisions/DECISIONS.md"

def decision(id, text, supersedes="none"):
    return (f"[{id}]\\nDate: 2026-08-01\\nStatus: active\\nScope: global\\nStatement: {text}\\nRationale: measured\\n"
            f"Supersedes: {supersedes}\\nTags: a, b\\nSources:\\n- log\\n")

def proposal(number, kind, target, ops):
    path, id = root / "intelligence/proposed/EDITS_PROPOSED.md", f"P-20261115-{number}"
    head = [f"[{id}]", f"ProposalId: {id}", f"Type: {kind}", f"TargetBlock: {target}", "Risk: low", "Evidence:"]
    rest = ["- measured", "Rollback: by receipt", "Status: staged", "FilesTouched:", f"- {file}", "Ops:", *ops, ""]
    text = "\\n".join([*head, *rest])
    old = path.read_text()
    path.write_text(old + "\\n" + text)
    seal = compute_fingerprint(next(block for block in parse_file(str(path)) if block["_id"] == id))
    path.write_text(old + "\\n" + text.replace("Status: staged", f"Fingerprint: {seal}\\nStatus: staged") + "\\n---\\n")
    return id

with open(root / file, "a") as out:
    said = ["Use PostgreSQL for billing", "Invoices go out on Mondays", "Sessions live in Redis"]
    for number, text in enumerate(said, 1):
        out.write("\\n" + decision(f"D-20260801-00{number}", text) + "\\n---\\n")
for state in ("memory/intel-state.json", "mind-mem.json"):
    (root / state).write_text((root / state).read_text().replace("detect_only", "propose"))
binder = [str(pathlib.Path(sys.executable).parent / "mm"), "bind", "--rebind", "--workspace", str(root)]
subprocess.run(binder, check=True, capture_output=True)
lines = decision("D-20261115-001", "Deploys happen from CI").strip().split("\\n")
patch = ["  patch: |", *("    " + line for line in lines)]
first = proposal(101, "decision", "D-20261115-001", ["- op: append_block", f"  file: {file}", *patch])
with quiet:
    done = apply_proposal(str(root), first)
assert done[0], done
proposal(102, "edit", "D-20260801-002", ["- op: update_field", f"  file: {file}", "  target: D-20260801-002",
                                         "  field: Statement", "  value: Invoices go out on Tuesdays"])
"""

_JUDGE = """
import contextlib, io, json, pathlib, re, subprocess, sys
from mind_mem.apply_engine import apply_proposal, rollback
from mind_mem.sqlite_index import build_index, query_index

root, staged, receipt, words = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
here = pathlib.Path(sys.executable).parent

def total(command):
    out = subprocess.run(command, capture_output=True, text=True).stdout
    return next((line.strip() for line in out.splitlines() if "TOTAL" in line), "no answer")

subprocess.run([str(here / "mm"), "bind", "--rebind", "--workspace", root], capture_output=True)
print("its validator\\t" + total([str(here / "mind-mem-validate"), root]))
print("its scan\\t" + total([str(here / "mind-mem-scan"), root]))
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    build_index(root)
    missing = [word for word in words if not query_index(root, word)]
print("its recall\\t" + (f"misses {missing}" if missing else f"finds all {len(words)}"))
state = pathlib.Path(root) / "memory/intel-state.json"
state.write_text(re.sub('"last_apply_ts": "[^"]*"', '"last_apply_ts": null', state.read_text()))
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    applied = apply_proposal(root, staged)
    file = pathlib.Path(root) / "decisions/DECISIONS.md"
    before = file.read_text()
    undone = rollback(root, receipt)
print("it applies what Clew staged\\t" + ("yes" if applied[0] else f"no: {applied[1]}"))
print("it rolls back what Clew applied\\t" + ("yes" if undone and file.read_text() != before else "no"))
print("its validator afterwards\\t" + total([str(here / "mind-mem-validate"), root]))
"""


def main(quick: bool = False) -> None:
    report = Report("mind_mem", "A workspace of mind-mem opened, used and handed back")
    python = mind_mem_python()
    if not python:
        report.row(step="skipped", result="the package cannot be had here")
        report.save()
        return
    with tempfile.TemporaryDirectory(prefix="clew-bench-mind-mem-") as name:
        root = Path(name) / "workspace"
        run(python, _MAKE, str(root))
        judge(report, python, root, use(report, Path(name) / "home", root))
    report.save()


def run(python: str, program: str, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def use(report: Report, home: Path, root: Path) -> tuple[str, str]:
    """All that Clew does to such a workspace; the proposal that it leaves staged and the receipt that it leaves."""
    clew = open_clew(load_settings({"home": home, "workspace": "bench", "memory_dir": root}, {}, root.parent))

    def step(what: str, name: str, shown: Callable[[dict[str, Any]], object], **arguments: Any) -> dict[str, Any]:
        result = call(clew, name, **arguments)
        report.row(step=what, result=str(shown(result)))
        return result

    try:
        return _used(clew, step)
    finally:
        clew.close()


def _used(clew: Clew, step: Callable[..., dict[str, Any]]) -> tuple[str, str]:
    step("mode", "scan", lambda r: r["checks"]["governance_mode"])
    applied = call(clew, "list_proposals", status="applied")["proposals"][0]
    step("roll back what it applied", "rollback_proposal", lambda r: r["status"], receipt_ts=applied["receipt_ts"])
    one = {"proposal_id": "P-20261115-102", "dry_run": False}
    step("apply what it staged", "approve_apply", lambda r: r["status"], **one)
    step("remember", "remember", lambda r: r["id"], text="Narwhal exports are compressed", kind="decision")
    proposed = call(clew, "propose_update", block_type="decision", statement="Axolotl reports are cached")
    receipt = call(clew, "approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)["receipt_ts"]
    undone = call(clew, "propose_update", block_type="decision", statement="Pangolin jobs are retried")
    taken = call(clew, "approve_apply", proposal_id=undone["proposal_id"], dry_run=False)["receipt_ts"]
    step("roll back an apply of Clew", "rollback_proposal", lambda r: r["status"], receipt_ts=taken)
    more = {"op": "update_field", "target": "D-20260801-001", "field": "Rationale", "value": "cheaper"}
    staged = call(clew, "propose_edit", ops=[more], rationale="asked for")["proposal_id"]
    step("scan", "scan", lambda r: f"{r['findings_total']} findings")
    return staged, receipt


def judge(report: Report, python: str, root: Path, left: tuple[str, str]) -> None:
    words = ["narwhal", "axolotl", "tuesdays"]
    for line in run(python, _JUDGE, str(root), *left, *words).splitlines():
        what, _, result = line.partition("\t")
        if result:
            report.row(step=what, result=result)


if __name__ == "__main__":
    main()
