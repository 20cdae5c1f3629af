"""Drift: decisions without a task, stalled tasks, recurring causes, and cited code that changed.

Each finding is one DREF block in `intelligence/DRIFT.md`, identified by its signal and subject. It is
opened when it becomes true, resolved when it no longer is, and reopened when it recurs.

A block cites code as `code:<path>#L1-L9@sha256:<digest>`. The digest is of the lines as they are in the
file, with or without the last line end, so that `sed -n 1,9p FILE | sha256sum` makes one. Carriage
returns are ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from clew.canonical import sha256_hex
from clew.errors import ClewError
from clew.ids import confined
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.markdown import print_block, set_field
from clew.memory.kinds import IN_USE, KINDS, kind_of
from clew.memory.marks import mark
from clew.registry.context import Context
from clew.secrets import screened

if TYPE_CHECKING:
    from clew.memory.scan import ScanReport

MOST_CITES = 2_000
MOST_BYTES = 5_000_000
MOST_KEPT = 20_000
MOST_WINDOWS = 20_000
DIFF_CHARS = 4_000

_CITE = re.compile(r"\bcode:([^\s#]{1,400})#L(\d{1,7})(?:-L?(\d{1,7}))?@sha256:([0-9a-fA-F]{8,64})\b")


@dataclass(frozen=True, order=True)
class Cite:
    path: str
    first: int
    last: int
    digest: str

    @property
    def place(self) -> str:
        return f"{self.path}#L{self.first}-L{self.last}"

    def __str__(self) -> str:
        return f"code:{self.place}@sha256:{self.digest}"


@dataclass(frozen=True)
class CitedLines:
    """The cited lines as they are now. `problem`: why they cannot be read; `moved`: their new line."""

    matches: bool
    text: str = ""
    problem: str = ""
    moved: int | None = None


def cites_in(text: str) -> list[Cite]:
    found = [
        Cite(path, int(first), int(last or first), digest.lower()) for path, first, last, digest in _CITE.findall(text)
    ]
    return list(dict.fromkeys(found))


def cited(ctx: Context) -> dict[str, list[Cite]]:
    """The citations of live blocks, by block."""
    sql = (
        "SELECT id, status, text FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
        " AND prefix IN ('D', 'T', 'PRJ', 'PER', 'TOOL', 'INC') AND text LIKE '%code:%@sha256:%'"
        f" AND {IN_USE} ORDER BY id"
    )
    rows = [row for row in ctx.tx.all(sql, ctx.workspace) if _holds(row["id"], row["status"])]
    return {row["id"]: cites_in(row["text"]) for row in rows}


def _holds(id: str, status: str | None) -> bool:
    kind = kind_of(id)
    return not status or not kind.statuses or status in kind.live


def look_at_code(ctx: Context) -> dict[Cite, CitedLines] | None:
    """Read the cited lines, outside of any transaction. None if the server runs outside of the project."""
    # Files of another project are not below this process's root; comparing with files here would be wrong.
    if ctx.project is None:
        return None
    with ctx.reading() as bound:
        wanted = sorted({cite for cites in cited(bound).values() for cite in cites})[:MOST_CITES]
    files: dict[str, bytes | str] = {}
    for cite in wanted:
        if cite.path not in files:
            files[cite.path] = _read(ctx.settings.project_root, cite.path)
    return {cite: _compare(cite, files[cite.path]) for cite in wanted}


def _read(root: Path, path: str) -> bytes | str:
    """The bytes of the file, or why they cannot be read."""
    try:
        file = confined(root, path)
        if not file.is_file():
            return "the file is gone"
        if file.stat().st_size > MOST_BYTES:
            return f"the file is longer than {MOST_BYTES:,} bytes"
        return file.read_bytes()
    except ClewError:
        return "the path lies outside of the project"
    except OSError as problem:
        return f"the file cannot be read: {problem.strerror}"


def _compare(cite: Cite, data: bytes | str) -> CitedLines:
    if isinstance(data, str):
        return CitedLines(False, problem=data)
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    size = cite.last - cite.first + 1
    if cite.first < 1 or size < 1:
        return CitedLines(False, problem="the lines are not given as first to last, from 1")
    there = lines[cite.first - 1 : cite.last]
    text = b"\n".join(there).decode("utf-8", "replace").replace("\x00", "�")
    # The cited place comes first: only if it does not match is the text searched for elsewhere.
    if _is(there, cite.digest):
        return CitedLines(True, text)
    return CitedLines(False, text, moved=_moved(lines, size, cite.digest))


def _is(lines: list[bytes], digest: str) -> bool:
    whole = b"\n".join(lines)
    return any(sha256_hex(form).startswith(digest) for form in (whole + b"\n", whole))


def _moved(lines: list[bytes], size: int, digest: str) -> int | None:
    """The new line of the cited text, if it only moved."""
    starts = range(min(len(lines) - size + 1, MOST_WINDOWS))
    return next((start + 1 for start in starts if _is(lines[start : start + size], digest)), None)


def keep_cited(ctx: Context, seen: Iterable[tuple[Cite, CitedLines]]) -> None:
    """Store cited lines that match. Secrets in them are masked, like everywhere."""
    # Stored while they match, because afterwards the change could not be shown any more.
    known = {tuple(row.values()) for row in ctx.tx.all(_KNOWN, ctx.workspace)}
    for cite, found in seen:
        key = (cite.path, cite.first, cite.last, cite.digest)
        if found.matches and key not in known and len(found.text) <= MOST_KEPT:
            ctx.tx.run(_KEEP, ctx.workspace, *key, screened(found.text)[0], ctx.now_ms)


def cited_diff(ctx: Context, cite: Cite, now: str) -> str | None:
    """What changed since the lines were cited; None if they were never seen in their cited form."""
    before = ctx.tx.value(_KEPT, ctx.workspace, cite.path, cite.first, cite.last, cite.digest)
    if before is None:
        return None
    after = screened(now)[0]
    lines = unified_diff(before.split("\n"), after.split("\n"), f"cited/{cite.path}", f"now/{cite.path}", lineterm="")
    text = "\n".join(line.rstrip() for line in lines)
    return text if len(text) <= DIFF_CHARS else text[:DIFF_CHARS] + "\n… (cut)"


_KNOWN = "SELECT path, first_line, last_line, digest FROM cited_code WHERE workspace = ?"
_KEPT = (
    "SELECT text FROM cited_code WHERE workspace = ? AND path = ? AND first_line = ? AND last_line = ? AND digest = ?"
)
_KEEP = (
    "INSERT INTO cited_code (workspace, path, first_line, last_line, digest, text, seen_at_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, path, first_line, last_line, digest) DO NOTHING"
)


MOST = 100
"""Maximum number of open entries of one signal; beyond it the number is more useful than the list."""
PRIORITY = 7
NAMING = ("AlignsWith", "Dependencies", "Context", "Next")
CODE = "code_changed"
SUMMED_UP = ("dead_decisions", "stalled_tasks", "repeated_incidents", "tasks_not_aligned")
"""The signals that Mind-Mem's scanner has too."""

_RANKS = {"P0": 10, "P1": 9, "P2": 7, "P3": 5}
_PRIORITY = re.compile(r"^[ \t-]*priority:[ \t]*(P[0-3]|\d{1,3})\b", re.IGNORECASE | re.MULTILINE)
_ENFORCED = re.compile(
    r"^[ \t-]*(?:enforcement:[ \t]*(?:invariant|structural)\b|enforced_by:[ \t]*(?!none\b)\S)",
    re.IGNORECASE | re.MULTILINE,
)
_ID = re.compile(r"\b[A-Z]{1,16}-[^\s,;\])]*[^\s,;\]).:]")
_NO_CAUSE = frozenset({"", "none", "unknown", "not given", "tbd", "n/a", "na", "?", "-", "todo", "pending", "unclear"})


@dataclass(frozen=True)
class Drift:
    signal: str
    subject: str
    severity: str
    summary: str
    objects: tuple[str, ...]
    diff: str = ""


def check(ctx: Context, report: ScanReport) -> None:
    """Update the DREF blocks to match the current findings."""
    found = [*_decisions_and_tasks(ctx, report), *_repeated_incidents(ctx)]
    if report.code is not None:
        keep_cited(ctx, report.code.items())
        found += _code_changed(ctx, report)
    counted = Counter(drift.signal for drift in found)
    opened = _keep(ctx, found, looked_at_code=report.code is not None)
    where = blocks.locate(ctx, opened)
    for id, drift in opened.items():
        file, line = where[id]
        shown = {"diff": drift.diff} if drift.diff else {}
        place = {"block_id": drift.objects[0], "drift_id": id, "signal": drift.signal, "severity": drift.severity}
        report.find("drift", drift.summary, **place, file=file, line=line, **shown)
    for signal, count in counted.items():
        if count > MOST:
            report.find("drift", f"{count - MOST} more of {signal}; the first {MOST} are listed", signal=signal)
    report.checks["drift"] = dict(sorted(counted.items()))
    report.metrics["drift"] = dict(sorted(counted.items()))


def _decisions_and_tasks(ctx: Context, report: ScanReport) -> list[Drift]:
    sql = (
        "SELECT id, text FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
        f" AND prefix = 'D' AND status = 'active' AND {IN_USE}"
    )
    active = {row["id"]: row["text"] for row in ctx.tx.all(sql, ctx.workspace)}
    tasks = blocks.current(ctx, prefix="T", status=KINDS["T"].live)
    named = {task.id: _named(task) for task in tasks}
    followed = {id for ids in named.values() for id in ids}
    found = _unreferenced(active, followed, report)
    found += [_stalled(task) for task in tasks if task.status == statuses.BLOCKED]
    if active:
        found += [_unaligned(task, named[task.id]) for task in tasks if not any(id in active for id in named[task.id])]
    return found


def _named(task: Block) -> list[str]:
    return [id for field in NAMING for id in _ID.findall(task.get(field))]


def _unreferenced(active: dict[str, str], followed: set[str], report: ScanReport) -> list[Drift]:
    """Decisions of priority P0 to P2 that no open task names and no mechanism enforces."""
    needed = sorted(id for id, text in active.items() if _priority(text) >= PRIORITY and not _ENFORCED.search(text))
    dead = [id for id in needed if id not in followed]
    report.metrics["coverage"] = round(1 - len(dead) / len(needed), 4) if needed else 1.0
    return [
        Drift("dead_decisions", id, "medium", f"No open task names {id}, and nothing enforces it.", (id,))
        for id in dead
    ]


def _priority(text: str) -> int:
    """The highest priority of the block or one of its signatures."""
    found = _PRIORITY.findall(text)
    return max((_RANKS[rank.upper()] if rank[0] in "Pp" else int(rank) for rank in found), default=0)


def _stalled(task: Block) -> Drift:
    return Drift("stalled_tasks", task.id, "medium", f"{task.id} is blocked.", (task.id,))


def _unaligned(task: Block, named: list[str]) -> Drift:
    ended = sorted({id for id in named if id.startswith("D-")})
    why = f"names only {', '.join(ended[:5])}, which no longer holds" if ended else "names no active decision"
    return Drift("tasks_not_aligned", task.id, "low", f"{task.id} {why}.", (task.id, *ended[:5]))


def _repeated_incidents(ctx: Context) -> list[Drift]:
    """Incidents with the same cause. Two incidents without a recorded cause share nothing."""
    causes: dict[str, list[Block]] = {}
    for incident in blocks.current(ctx, prefix="INC"):
        cause = incident.get("RootCause")
        if cause.strip(" .").lower() not in _NO_CAUSE:
            causes.setdefault(mark(cause), []).append(incident)
    return [_repeated(cause, incidents) for cause, incidents in sorted(causes.items()) if len(incidents) > 1]


def _repeated(cause: str, incidents: list[Block]) -> Drift:
    ids = tuple(incident.id for incident in incidents[:20])
    summary = f"{len(incidents)} incidents have the same root cause: {', '.join(ids[:5])}."
    return Drift("repeated_incidents", f"cause {cause}", "high", summary, ids)


def _code_changed(ctx: Context, report: ScanReport) -> list[Drift]:
    seen = report.code or {}
    found = []
    for id, cites in cited(ctx).items():
        for cite in cites:
            state = seen.get(cite)
            if state is None or state.matches:
                continue  # cited after the code was read: the next scan checks it
            if state.moved is not None:
                end = state.moved + cite.last - cite.first
                said = f"{cite.place}, cited by {id}, now stands at L{state.moved}-L{end}"
                report.find("code_moved", said, block_id=id)
            else:
                found.append(_changed(ctx, id, cite, state))
    return found


def _changed(ctx: Context, id: str, cite: Cite, seen: CitedLines) -> Drift:
    if seen.problem:
        return Drift(CODE, f"{id} {cite}", "high", f"{id} cites {cite.place}: {seen.problem}.", (id,))
    diff = cited_diff(ctx, cite, seen.text)
    why = {None: " The cited lines were never seen here.", "": " The difference is masked."}.get(diff, "")
    return Drift(CODE, f"{id} {cite}", "high", f"{cite.place} is not what {id} cites.{why}", (id,), diff or "")


def _keep(ctx: Context, found: list[Drift], *, looked_at_code: bool) -> dict[str, Drift]:
    """Write what changed; returns the open entries by block id."""
    known = _scan_entries(ctx)
    opened = {}
    for drift in _bounded(found, known):
        old = known.pop((drift.signal, drift.subject), None)
        block = _open(ctx, drift) if old is None else _renew(ctx, old, drift)
        if block.status == statuses.OPEN:
            opened[block.id] = drift
    _fold_in(ctx, {drift.signal for drift in found})
    for (signal, _), block in sorted(known.items()):
        # A citation that was not checked is not resolved: a server outside of the project knows nothing
        # of the code.
        if block.status != statuses.RESOLVED and (looked_at_code or signal != CODE):
            text = set_field(_plain(block), "Status", statuses.RESOLVED)
            blocks.write(ctx, block.id, text, origin="scan")
    return opened


def _bounded(found: list[Drift], known: dict[tuple[str, str], Block]) -> list[Drift]:
    """Limits the findings of each signal; those that are listed already stay."""
    listed = {key for key, block in known.items() if block.status != statuses.RESOLVED}
    kept: dict[str, list[Drift]] = {}
    # Those listed already first: otherwise entries would come and go between scans although nothing changed.
    for drift in sorted(found, key=lambda drift: (drift.signal, drift.subject) not in listed):
        kept.setdefault(drift.signal, []).append(drift)
    return [drift for signal in kept.values() for drift in signal[:MOST]]


def _scan_entries(ctx: Context) -> dict[tuple[str, str], Block]:
    """Entries created by a scan; entries that a person wrote into the file are left alone."""
    made = [block for block in blocks.current(ctx, prefix="DREF") if block.get("Signal") and block.get("Subject")]
    return {(block.get("Signal"), block.get("Subject")): block for block in reversed(made)}


def _fold_in(ctx: Context, signals: set[str]) -> None:
    """Mind-Mem has one entry for all findings of a signal. Here each finding has its own, so that entry
    is resolved.

    It is also resolved if this scan checked and found nothing. Only Mind-Mem's scanner writes
    `Metrics`; entries of a person stay.
    """
    for block in blocks.current(ctx, prefix="DREF", status=statuses.OPEN):
        signal = block.get("Signal")
        if block.get("Subject") or not (signal in signals or (signal in SUMMED_UP and block.get("Metrics"))):
            continue
        why = "each finding has an entry" if signal in signals else "not found any more"
        text = set_field(_plain(block), "Status", statuses.RESOLVED)
        blocks.write(ctx, block.id, set_field(text, "Resolution", why), origin="scan")


def _open(ctx: Context, drift: Drift) -> Block:
    id = blocks.dated_id(ctx, "DREF")
    fields = {"Date": blocks.day_of(ctx.now_ms), "Status": "open", "Signal": drift.signal, "Subject": drift.subject}
    return blocks.write(ctx, id, print_block(id, {**fields, **_facts(drift)}), origin="scan")


def _renew(ctx: Context, block: Block, drift: Drift) -> Block:
    """A deferred entry stays deferred; a resolved one that is true again is reopened."""
    text = _plain(block)
    if block.status == statuses.RESOLVED:
        text = set_field(text, "Status", statuses.OPEN)
    for name, value in _facts(drift).items():
        if value or name in block.fields:
            text = set_field(text, name, value)
    return blocks.write(ctx, block.id, text, origin="scan")


def _facts(drift: Drift) -> dict[str, str | list[str]]:
    facts: dict[str, str | list[str]] = {"Severity": drift.severity, "Summary": drift.summary}
    return {**facts, "Objects": list(drift.objects), "Diff": drift.diff}


def _plain(block: Block) -> str:
    return block.text.replace("\r\n", "\n")
