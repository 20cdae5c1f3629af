"""`scan`: a list of checks over the whole workspace, run in order, each adding its figures to the response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from clew.canonical import canonical, without_none
from clew.clock import rfc3339
from clew.errors import shorten
from clew.kinds.kind import Kind
from clew.memory import blocks, drift, kernels, validator
from clew.memory.contradictions import entries, resolutions, worker
from clew.memory.drift import Cite, CitedLines
from clew.memory.files import places, repair
from clew.memory.files.changed_files import Unread
from clew.memory.files.directory import WRITE_ONLY, shown_root
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.hand_edits import rendered
from clew.memory.files.sync import sync
from clew.memory.governance import policy
from clew.memory.kinds import IN_USE, KINDS
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, operation
from clew.store.workspaces import declare_events, read_meta, write_meta

declare_events({"memory_scanned": "The memory workspace was checked."})

SHOWN = 100


@dataclass
class ScanReport:
    """The results of a scan so far. `checks` has the seed's figures, `findings` what a person should look at."""

    checks: dict[str, Any] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    code: dict[Cite, CitedLines] | None = None
    """The cited code as it is now; None if it was not read."""

    def find(self, check: str, message: str, **place: Any) -> None:
        self.findings.append({"check": check, "message": message, **place})


Check = Callable[[Context, ScanReport], None]


class Scan(Input):
    pass


@operation("scan", writes=True, mode="own", idempotent=True, view=BARE)
def scan(ctx: Context, args: Scan) -> dict[str, Any]:
    """Check the memory workspace: contradictions, drift, pending signals, unreadable parts, overdue reviews."""
    unread = sync(ctx)
    # Before the transaction: reading thousands of lines of code must not keep other writers waiting.
    code = drift.look_at_code(ctx)
    worker.catch_up(ctx)
    with governed_transaction(ctx) as bound:
        report = run(bound, code, unread)
        return {
            "workspace": shown_root(bound),
            "checks": report.checks,
            "findings": report.findings[:SHOWN],
            "findings_total": len(report.findings),
        }


def run(ctx: Context, code: dict[Cite, CitedLines] | None = None, unread: Sequence[Unread] = ()) -> ScanReport:
    report = ScanReport(code=code)
    for item in unread:
        report.find("unreadable", item.problem, file=item.path, **without_none(line=item.line or None))
    for check in CHECKS:
        check(ctx, report)
    _keep(ctx, report)
    return report


def _keep(ctx: Context, report: ScanReport) -> None:
    """Store the figures. A scan with the same findings writes nothing else."""
    figures = {**report.metrics, "findings": len(report.findings)}
    known = metrics(ctx)
    # Only changes create an event; otherwise an hourly scan would fill the log.
    if {**known, "last_scan": None} != {**figures, "last_scan": None}:
        ctx.emit("memory", "memory_scanned", None, figures)
    keep_metrics(ctx, {**figures, "last_scan": rfc3339(ctx.now_ms)})


def count_blocks(ctx: Context, report: ScanReport) -> None:
    # In any file: also those that `remember` stores in a separate file.
    active = blocks.count(ctx, "D", KINDS["D"].live)
    report.checks["decisions"] = {"total": blocks.count(ctx, "D"), "active": active}
    report.checks["contradictions"] = blocks.count(ctx, "C", KINDS["C"].live)
    report.checks["drift_items"] = blocks.count(ctx, "DREF", KINDS["DREF"].live)
    report.checks["staged_proposals"] = blocks.count(ctx, "P", ["staged"])
    report.checks["pending_signals"] = blocks.count(ctx, "SIG", KINDS["SIG"].live)


def unreadable_parts(ctx: Context, report: ScanReport) -> None:
    """Lines that belong to no field, malformed headers and repeated ids, with file and line."""
    found = [*_inside_blocks(ctx), *_between_blocks(ctx), *_above_blocks(ctx)]
    # Files that only Clew writes are not a person's to fix.
    for file, line, problem in sorted(item for item in found if not item[0].startswith(WRITE_ONLY)):
        check = "duplicate_ids" if "is used twice" in problem else "unreadable"
        report.find(check, problem, file=file, line=line)
    for check in ("duplicate_ids", "unreadable"):
        report.checks[check] = sum(item["check"] == check for item in report.findings)


def _inside_blocks(ctx: Context) -> Iterator[tuple[str, int, str]]:
    sql = "SELECT id, problems FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
    rows = ctx.tx.all(f"{sql} AND problems IS NOT NULL ORDER BY id", ctx.workspace)
    where = places.where(ctx, [row["id"] for row in rows])
    for row in rows:
        if row["id"] in where:
            place = where[row["id"]]
            yield from _at(place.file, place.line, row["problems"])


def _between_blocks(ctx: Context) -> Iterator[tuple[str, int, str]]:
    for place in places.flawed(ctx):
        yield from _at(place.file, place.line + place.lines, place.problems)


def _above_blocks(ctx: Context) -> Iterator[tuple[str, int, str]]:
    sql = "SELECT path, problems FROM block_file WHERE workspace = ? AND problems IS NOT NULL ORDER BY path"
    for row in ctx.tx.all(sql, ctx.workspace):
        yield from _at(row["path"], 0, row["problems"])


def _at(file: str, start: int, problems: str | None) -> Iterator[tuple[str, int, str]]:
    """Stored problems as file, line and problem."""
    return ((file, start + line + 1, problem) for line, problem in orjson.loads(problems or "[]"))


def damaged_files(ctx: Context, report: ScanReport) -> None:
    """Repairs and reports files with inconsistencies in the store."""
    found = repair.disagreements(ctx)
    repair.fix(ctx, found)
    for item in found:
        report.find("mended", f"{item.problem}; mended", file=item.file)
    for path in repair.kept_copies(ctx):
        report.find("kept_copy", "what a damaged or unreadable file held; remove it when nothing is missing", file=path)


def similar_ids(ctx: Context, report: ScanReport) -> None:
    """Ids that differ in case only: allowed, but people and file systems confuse them."""
    sql = (
        "SELECT min(id) AS one, max(id) AS other FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
        " GROUP BY lower(id) HAVING count(*) > 1 ORDER BY min(id)"
    )
    for row in ctx.tx.all(sql, ctx.workspace):
        problem = f"{row['one']} and {row['other']} differ in capitals only"
        report.find("similar_ids", problem, block_id=row["one"])


def overdue_reviews(ctx: Context, report: ScanReport) -> None:
    """Live blocks whose ReviewBy date has passed."""
    due = blocks.overdue(ctx)
    where = blocks.locate(ctx, due)
    for id, date in due.items():
        file, line = where[id]
        report.find("review_overdue", f"{id} was to be reviewed by {date}", block_id=id, file=file, line=line)
    report.checks["overdue_reviews"] = len(due)


def governance_state(ctx: Context, report: ScanReport) -> None:
    """Problems in the files that define the mode: they may stop all applies, so they must be visible."""
    policy.complete(ctx)
    loaded = policy.load(ctx)
    report.checks["governance_mode"] = loaded.governance.governance_mode
    if loaded.problem:
        report.find("state", loaded.problem, file=loaded.file)


def rejected_values(ctx: Context, report: ScanReport) -> None:
    """Live blocks that state a rejected value. Only a hand edit can cause that."""
    sql = (
        # CROSS keeps SQLite from starting with all blocks of the workspace.
        "SELECT block.id, tombstone.proposal FROM tombstone CROSS JOIN block"
        " WHERE block.workspace = tombstone.workspace AND block.mark = tombstone.mark"
        " AND tombstone.workspace = ? AND block.until IS NULL AND block.gone = 0"
        " AND block.prefix IN ('D', 'T') AND block.status IN ('active', 'todo', 'doing', 'blocked')"
        f" AND {IN_USE} ORDER BY block.id"
    )
    for row in ctx.tx.all(sql, ctx.workspace):
        problem = f"{row['id']} says what {row['proposal']} was rejected for"
        report.find("rejected_value", problem, block_id=row["id"])


def kernel_files(ctx: Context, report: ScanReport) -> None:
    """Kernel lines that were rejected, and keys without effect."""
    for name in kernels.names(ctx):
        loaded = kernels.load(ctx, name)
        for problem in loaded.problems:
            report.find("kernel", problem, file=kernels.path_of(name))
        if loaded.unused:
            said = f"Keys that steer nothing here: {', '.join(loaded.unused)}"
            report.find("kernel", shorten(said, 1000), file=kernels.path_of(name))


def validator_faults(ctx: Context, report: ScanReport) -> None:
    """Faults that keep Mind-Mem from applying anything, if it uses the folder too. Most come from hand edits."""
    if not validator.applies(ctx):
        return
    defined: set[str] = set()
    for path in validator.HOMES:
        standing = blocks.current(ctx, file=path)
        defined |= {block.id for block in standing}
        wrong = {block.id: found for block in standing if (found := validator.faults(block.id, path, block.text))}
        for id, (file, line) in blocks.locate(ctx, wrong).items():
            for fault in wrong[id]:
                report.find("validator", fault.message, block_id=id, file=file, line=line)
    _undefined_names(ctx, report, defined)


def _undefined_names(ctx: Context, report: ScanReport, defined: set[str]) -> None:
    """Whole files are read, because the validator also looks between the blocks."""
    for path in (path for path in places.files(ctx) if path.startswith(validator.FOLDERS)):
        for number, line in enumerate(rendered(ctx, path).split("\n"), 1):
            for name in sorted(validator.names(path, line) - defined):
                said = f"{name} is named and not defined; Mind-Mem applies nothing while that is so"
                report.find("validator", said, file=path, line=number)


CHECKS: tuple[Check, ...] = (
    damaged_files,
    unreadable_parts,
    similar_ids,
    overdue_reviews,
    governance_state,
    rejected_values,
    kernel_files,
    validator_faults,
    entries.check,
    resolutions.check,
    drift.check,
    count_blocks,
)
"""Each check, in order. Counting comes last, to include what the others wrote."""


COUNTED = {"decisions": "D", "tasks": "T", "contradictions": "C", "signals": "SIG"}
METRICS = "memory_metrics"


def health_of(ctx: Context) -> dict[str, Any]:
    """The blocks of the four files, of any kind, and the figures of the last scan."""
    return {"files": {name: _in_file(ctx, KINDS[prefix]) for name, prefix in COUNTED.items()}, "metrics": metrics(ctx)}


def _in_file(ctx: Context, kind: Kind) -> dict[str, int]:
    counted = blocks.count_in_file(ctx, kind.file)
    return {"total": counted.total(), "active": sum(counted[status] for status in kind.live)}


def metrics(ctx: Context) -> dict[str, Any]:
    """The figures of the last scan; empty before the first one."""
    text = read_meta(ctx.tx, f"{METRICS}:{ctx.workspace}")
    found: dict[str, Any] = orjson.loads(text) if text else {}
    return found


def keep_metrics(ctx: Context, figures: dict[str, Any]) -> None:
    write_meta(ctx.tx, f"{METRICS}:{ctx.workspace}", canonical(figures))
