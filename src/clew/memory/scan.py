"""`scan`: a list of checks over the whole workspace, run in order, each adding its figures to the answer."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from clew.clock import rfc3339
from clew.memory import blocks, citations, health, places, state
from clew.memory.citations import Cite, Seen
from clew.memory.directory import shown_root
from clew.memory.kinds import KINDS, kind_of
from clew.memory.sync import Unread, sync
from clew.memory.writing import governed
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.store.workspaces import declare_events

declare_events({"memory_scanned": "The memory workspace was checked."})

SHOWN = 100


@dataclass
class Report:
    """What a scan found so far. `checks` holds the seed's figures, `findings` what a person should look at."""

    checks: dict[str, Any] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    code: dict[Cite, Seen] | None = None
    """What stands under the citations of blocks; None when nobody looked."""

    def find(self, check: str, message: str, **place: Any) -> None:
        self.findings.append({"check": check, "message": message, **place})


Check = Callable[[Context, Report], None]


class Scan(Input):
    pass


@operation("scan", writes=True, mode="own", idempotent=True, bare=lambda result: result)
def scan(ctx: Context, args: Scan) -> dict[str, Any]:
    """Check the memory workspace: contradictions, drift, pending signals, unreadable parts, overdue reviews."""
    unread = sync(ctx)
    code = citations.look(ctx)
    with governed(ctx) as bound:
        report = run(bound, code, unread)
        return {
            "workspace": shown_root(bound),
            "checks": report.checks,
            "findings": report.findings[:SHOWN],
            "findings_total": len(report.findings),
        }


def run(ctx: Context, code: dict[Cite, Seen] | None = None, unread: Sequence[Unread] = ()) -> Report:
    report = Report(code=code)
    for item in unread:
        report.find("unreadable", item.problem, file=item.path, **({"line": item.line} if item.line else {}))
    for check in CHECKS:
        module, _, function = check.partition(":")
        getattr(importlib.import_module(module), function)(ctx, report)
    _keep(ctx, report)
    return report


def _keep(ctx: Context, report: Report) -> None:
    """Remember the figures. A scan that found the same again writes nothing else."""
    figures = {**report.metrics, "findings": len(report.findings)}
    known = health.metrics(ctx)
    if {**known, "last_scan": None} != {**figures, "last_scan": None}:
        ctx.emit("memory", "memory_scanned", None, figures)
    health.keep_metrics(ctx, {**figures, "last_scan": rfc3339(ctx.now_ms)})


def count_blocks(ctx: Context, report: Report) -> None:
    report.checks["decisions"] = health.counts(ctx, "D")
    report.checks["contradictions"] = blocks.count(ctx, "C", KINDS["C"].live)
    report.checks["drift_items"] = blocks.count(ctx, "DREF", KINDS["DREF"].live)
    report.checks["pending_signals"] = blocks.count(ctx, "SIG", KINDS["SIG"].live)


def unreadable_parts(ctx: Context, report: Report) -> None:
    """Lines that belong to no field, headers that are none, ids used twice: with file and line."""
    found = []
    sql = (
        "SELECT id, problems FROM block"
        " WHERE workspace = ? AND until IS NULL AND gone = 0 AND problems IS NOT NULL ORDER BY id"
    )
    inside = ctx.tx.all(sql, ctx.workspace)
    where = places.where(ctx, [row["id"] for row in inside])
    for row in inside:
        if row["id"] in where:
            place = where[row["id"]]
            found += [(place.file, place.line + line + 1, said) for line, said in orjson.loads(row["problems"])]
    between = ctx.tx.all(
        "SELECT id, problems FROM place WHERE workspace = ? AND problems IS NOT NULL ORDER BY id", ctx.workspace
    )
    where = places.where(ctx, [row["id"] for row in between])
    for row in between:
        place = where[row["id"]]
        start = place.line + place.lines + 1
        found += [(place.file, start + line, said) for line, said in orjson.loads(row["problems"])]
    heads = ctx.tx.all(
        "SELECT path, problems FROM block_file WHERE workspace = ? AND problems IS NOT NULL ORDER BY path",
        ctx.workspace,
    )
    for row in heads:
        found += [(row["path"], line + 1, said) for line, said in orjson.loads(row["problems"])]
    for file, line, said in sorted(found):
        check = "duplicate_ids" if "is used twice" in said else "unreadable"
        report.find(check, said, file=file, line=line)
    report.checks["duplicate_ids"] = sum(1 for item in report.findings if item["check"] == "duplicate_ids")
    report.checks["unreadable"] = sum(1 for item in report.findings if item["check"] == "unreadable")


def similar_ids(ctx: Context, report: Report) -> None:
    """Ids that differ in capitals only: allowed, but people and file systems mix them up."""
    sql = (
        "SELECT min(id) AS one, max(id) AS other FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
        " GROUP BY lower(id) HAVING count(*) > 1 ORDER BY min(id)"
    )
    for row in ctx.tx.all(sql, ctx.workspace):
        said = f"{row['one']} and {row['other']} differ in capitals only"
        report.find("similar_ids", said, block_id=row["one"])


def overdue_reviews(ctx: Context, report: Report) -> None:
    """Live blocks whose ReviewBy date has passed."""
    due = overdue(ctx)
    where = blocks.locate(ctx, due)
    for id, date in due.items():
        file, line = where[id]
        report.find("review_overdue", f"{id} was to be reviewed by {date}", block_id=id, file=file, line=line)
    report.checks["overdue_reviews"] = len(due)


def overdue(ctx: Context, ids: list[str] | None = None) -> dict[str, str]:
    """Blocks past their review date, with that date; recall labels them."""
    sql = (
        "SELECT id, review_by, status FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
        " AND review_by IS NOT NULL AND review_by < ? ORDER BY id"
    )
    rows = ctx.tx.all(sql, ctx.workspace, blocks.day_of(ctx.now_ms))
    wanted = None if ids is None else set(ids)
    live = [row for row in rows if not row["status"] or row["status"] in kind_of(row["id"]).live]
    return {row["id"]: row["review_by"] for row in live if wanted is None or row["id"] in wanted}


def governance_state(ctx: Context, report: Report) -> None:
    """A state file that cannot be read stops all applying, so it must be seen."""
    loaded = state.load(ctx)
    report.checks["governance_mode"] = loaded.governance.governance_mode
    report.checks["staged_proposals"] = blocks.count(ctx, "P", ["staged"])
    if loaded.problem:
        report.find("state", loaded.problem, file=state.STATE_FILE)


def rejected_values(ctx: Context, report: Report) -> None:
    """Live blocks that say what was rejected; only a person's own hand brings that about."""
    sql = (
        # CROSS keeps SQLite from starting with all blocks of the workspace.
        "SELECT block.id, tombstone.proposal FROM tombstone CROSS JOIN block"
        " WHERE block.workspace = tombstone.workspace AND block.mark = tombstone.mark"
        " AND tombstone.workspace = ? AND block.until IS NULL AND block.gone = 0"
        " AND block.prefix IN ('D', 'T') AND block.status IN ('active', 'todo', 'doing', 'blocked') ORDER BY block.id"
    )
    for row in ctx.tx.all(sql, ctx.workspace):
        said = f"{row['id']} says what {row['proposal']} was rejected for"
        report.find("rejected_value", said, block_id=row["id"])


def kernel_files(ctx: Context, report: Report) -> None:
    """Kernel lines that were rejected."""
    from clew.memory import kernels

    for name in kernels.names(ctx):
        for problem in kernels.load(ctx, name).problems:
            report.find("kernel", problem, file=kernels.path_of(name))


CHECKS: tuple[str, ...] = (
    "clew.memory.scan:unreadable_parts",
    "clew.memory.scan:similar_ids",
    "clew.memory.scan:overdue_reviews",
    "clew.memory.scan:governance_state",
    "clew.memory.scan:rejected_values",
    "clew.memory.scan:kernel_files",
    "clew.memory.contradictions:check",
    "clew.memory.resolving:check",
    "clew.memory.drift:check",
    "clew.memory.scan:count_blocks",
)
"""`module:function` of each check, in order. Counting comes last: it counts what the others wrote."""
