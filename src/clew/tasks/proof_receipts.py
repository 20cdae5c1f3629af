"""Receipts: what was run or claimed to prove work, and how far each can be trusted.

A receipt is *seen* if Clew ran the command itself, *claimed* if an agent or person reported it, and *failed* if the run
ended with another exit code than 0 or its output reports a failure. People paste receipts as lines, `CMD: what was run`
and `LINK: where it can be seen`. Rows are written once: each holds the digest of the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import shorten, unknown_id
from clew.kinds import statuses
from clew.registry.blank_forms import has_placeholder
from clew.registry.context import Context
from clew.store.database import Row, placeholders
from clew.store.erasing import erased_digests
from clew.store.rows import TableRow, chunks, encoded, find, find_many, insert, load
from clew.store.workspaces import chained, last_count

SEEN, CLAIMED, FAILED = "seen", "claimed", "failed"
UNPROVEN, OVERRIDDEN = "unproven", "overridden"
DISOWNED = statuses.DISOWNED
"""The grade of a row that withdraws an earlier one: `again` names it, and the step is as if it had not existed."""
WAIVERS = (UNPROVEN, OVERRIDDEN)
"""Grades of rows that hold a reason instead of a run: why work was closed without proof, or against it."""
SAID = "said"
"""The source of receipts that Clew did not observe."""
MOST_TAIL = 4_000

_MARKER = re.compile(r"\s*(?:[-*+•>]\s+|\d{1,4}[.)]\s+|>+\s*)")
_TAGGED = re.compile(r"(CMD|LINK)\b\s*:?\s*(.*)", re.IGNORECASE | re.DOTALL)
_STRICT_TAGGED = re.compile(r"(CMD|LINK)\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_URL = re.compile(r"(?:https?|file)://\S+", re.IGNORECASE)


def is_placeholder(text: str) -> bool:
    """An unfilled template, or an empty text."""
    return not text.strip() or has_placeholder(text)


def plain_line(line: str) -> str:
    """Without list markers and quote signs."""
    # Markers may be combined: `> - 1. pytest` is quoted, listed and numbered.
    while match := _MARKER.match(line):
        line = line[match.end() :]
    return line.strip()


def tag_of(check: str) -> str | None:
    """CMD or LINK if a check has one of these tags."""
    match = _TAGGED.match(plain_line(check))
    return match.group(1).upper() if match else None


def command_of(check: str) -> str | None:
    """The command of a CMD receipt."""
    match = _TAGGED.match(plain_line(check))
    return match.group(2).strip() or None if match and match.group(1).upper() == "CMD" else None


def is_real(check: str) -> bool:
    """Whether a check has content: a tag with nothing after it does not."""
    line = plain_line(check)
    match = _STRICT_TAGGED.match(line)
    return not is_placeholder(match.group(2) if match else line) and line.upper() not in {"CMD", "LINK"}


def tagged(line: str) -> str:
    """A line as a receipt: an address becomes a LINK, anything else a CMD."""
    line = plain_line(line)
    match = _TAGGED.match(line)
    if match:
        return f"{match.group(1).upper()}: {match.group(2).strip()}".rstrip()
    bare = line.removeprefix("<").removesuffix(">")
    return f"LINK: {bare}" if _URL.fullmatch(bare) else f"CMD: {line}"


def receipts(lines: str | Iterable[str]) -> list[str]:
    """Receipts from pasted text, one per line; blank lines are dropped, placeholders are kept for the caller."""
    given = lines.splitlines() if isinstance(lines, str) else [part for text in lines for part in text.splitlines()]
    return [tagged(line) for line in given if plain_line(line)]


def salvaged(note: str) -> list[str]:
    """The receipts on separate lines of a note; prose is ignored."""
    found = []
    for raw in note.splitlines():
        line = plain_line(raw)
        bare = line.removeprefix("<").removesuffix(">")
        if (_STRICT_TAGGED.match(line) or _URL.fullmatch(bare)) and is_real(line):
            found.append(tagged(line))
    return found


def is_url(text: str) -> bool:
    return _URL.match(text.strip().removeprefix("<")) is not None


def weak(checks: Sequence[str], attachments: Sequence[str]) -> list[str]:
    """Which of CMD and LINK is missing if the other is given; empty if nothing is tagged."""
    tags = {tag_of(check) for check in checks if is_real(check)} - {None}
    mentioned = any(tag_of(check) for check in checks)
    if any(is_url(item) for item in attachments):
        tags.add("LINK")
    return [tag for tag in ("CMD", "LINK") if tag not in tags] if mentioned else []


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command, as reported by its observer."""

    source: str
    command: str
    exit_code: int | None
    duration_ms: int | None = None
    output_digest: str | None = None
    output_tail: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None
    files: dict[str, str] | None = None
    stamps: dict[str, list[int]] | None = None
    again: str | None = None
    """The receipt that this run repeats."""


@dataclass(frozen=True, slots=True)
class ProofReceipt(TableRow):
    TABLE: ClassVar[str] = "proof_receipt"
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"files", "stamps"})
    COLUMNS: ClassVar[dict[str, str]] = {"stamps": "stats"}

    id: str
    number: int
    owner: str
    entity: str
    path: str | None
    evidence: str | None
    grade: str
    source: str
    text: str
    command: str | None
    exit_code: int | None
    duration_ms: int | None
    output_digest: str | None
    output_tail: str | None
    git_commit: str | None
    git_dirty: int | None
    files: dict[str, str] | None
    stamps: dict[str, list[int]] | None
    again: str | None
    agent: str | None
    seq: int
    ts_ms: int
    prev: str
    digest: str = ""

    @property
    def witnessed(self) -> bool:
        """Whether Clew observed the run itself, whatever its outcome."""
        return self.source != SAID

    @property
    def intact(self) -> bool:
        """Whether the row still matches its digest."""
        return self.digest == seal(self)


def is_damaged(ctx: Context, receipt: ProofReceipt) -> bool:
    """Whether the row was changed by anything but an erasure that a chained event records."""
    if receipt.intact:
        return False
    return erased_digests(ctx.tx, ctx.workspace, "receipts").get(receipt.id) != seal(receipt)


def seals(ctx: Context, ids: Sequence[str]) -> dict[str, str]:
    """The current digests of receipts, by id."""
    found = find_many(ctx.tx, ctx.workspace, ProofReceipt, list(ids), "id") if ids else []
    return {receipt.id: seal(receipt) for receipt in found}


def seal(receipt: ProofReceipt) -> str:
    """The digest of all fields of a receipt, with the digest of the one before it."""
    *columns, _ = encoded(receipt)
    return chained(receipt.prev, columns)


def write_receipt(
    ctx: Context,
    owner: str,
    entity: str,
    path: str | None,
    grade: str,
    text: str,
    run: Run | None = None,
    evidence: str | None = None,
) -> ProofReceipt:
    """Append a receipt to the chain of the workspace."""
    number = ctx.ws.count("receipt")
    # The counter was raised in this transaction, so no other writer can add a row between this one and the last.
    sql = "SELECT digest FROM proof_receipt WHERE workspace = ? AND number = ?"
    before = ctx.tx.value(sql, ctx.workspace, number - 1)
    details = run or Run(SAID, "", None)
    receipt = ProofReceipt(
        id=f"RCPT-{number:03d}",
        number=number,
        owner=owner,
        entity=entity,
        path=path,
        evidence=evidence,
        grade=grade,
        text=shorten(text, 1000),
        command=details.command or None,
        output_tail=details.output_tail[-MOST_TAIL:] if details.output_tail is not None else None,
        git_dirty=int(details.git_dirty) if details.git_dirty is not None else None,
        agent=ctx.agent,
        # One seq for everything that a call captures, so that views keep the order in which it was given.
        seq=ctx.ws.seq if ctx.ws.changed else ctx.ws.next_seq(),
        ts_ms=ctx.now_ms,
        prev=str(before or ""),
        **picked(
            details, "source", "exit_code", "duration_ms", "output_digest", "git_commit", "files", "stamps", "again"
        ),
    )
    receipt = replace(receipt, digest=seal(receipt))
    insert(ctx.tx, ctx.workspace, receipt)
    return receipt


def chain_heads(ctx: Context) -> dict[str, str | None]:
    """The newest digests of both chains: with a copy of them, later changes of anything before can be detected."""
    sql = "SELECT digest FROM proof_receipt WHERE workspace = ? ORDER BY number DESC LIMIT 1"
    last = ctx.tx.value(sql, ctx.workspace)
    return {"receipts": last, "events": ctx.ws.event_digest}


def runs_covering(ctx: Context, file: str, limit: int) -> list[ProofReceipt]:
    """The newest runs whose proof covers a file of the project."""
    sql = "SELECT * FROM proof_receipt WHERE workspace = ? AND files LIKE ? ORDER BY number DESC LIMIT ?"
    rows = ctx.tx.all(sql, ctx.workspace, f'%"{file}"%', limit)
    return [receipt for row in rows if file in ((receipt := _loaded(row)).files or {})]


def receipt_by_id(ctx: Context, id: str) -> ProofReceipt:
    found = find(ctx.tx, ctx.workspace, ProofReceipt, id.strip().upper())
    if found is None:
        raise unknown_id("receipt", id, "Copy the id from the line that clew prove printed, or run the command again.")
    return found


_RUN_KEY = f"CASE WHEN grade = '{DISOWNED}' THEN id ELSE coalesce(command, id) END"
_DISOWNED_RUN = (
    "SELECT 1 FROM proof_receipt AS mark JOIN proof_receipt AS gone"
    " ON gone.workspace = mark.workspace AND gone.id = mark.again"
    f" WHERE mark.workspace = own.workspace AND mark.entity = own.entity AND mark.grade = '{DISOWNED}'"
    f" AND (gone.id = own.id OR (gone.grade = '{FAILED}' AND gone.command = own.command AND gone.number > own.number"
    f" AND (gone.source <> '{SAID}' OR own.source = '{SAID}') AND own.grade <> '{DISOWNED}'))"
)


def last_run(ctx: Context) -> ProofReceipt | None:
    """The last run in the workspace, reported or observed, whatever its outcome, unless it was disowned."""
    sql = (
        "SELECT * FROM proof_receipt AS own WHERE workspace = ? AND command IS NOT NULL AND grade IN (?, ?, ?)"
        f" AND NOT EXISTS ({_DISOWNED_RUN}) ORDER BY number DESC LIMIT 1"
    )
    row = ctx.tx.one(sql, ctx.workspace, SEEN, CLAIMED, FAILED)
    return _loaded(row) if row is not None else None


def latest_receipts(ctx: Context, entities: Sequence[str]) -> dict[str, list[ProofReceipt]]:
    """For each step the receipts that count, oldest first: of the runs of one command only the last one seen, or else
    the last one claimed, because a claim cannot override an observed run.

    A disowned receipt does not count, and the row that disowns it is in the list. A disowned failure excludes the
    runs before it as well: otherwise disowning it would prove the step by a run that was already refuted.
    """
    found: dict[str, dict[tuple[str, bool], ProofReceipt]] = {}
    for part in chunks(list(entities)):
        # A receipt without a command (a link, an attachment) has its own group, hence `coalesce(command, id)`.
        marks = placeholders(len(part))
        sql = (
            f"SELECT * FROM proof_receipt WHERE workspace = ? AND entity IN ({marks}) AND number IN"
            f" (SELECT max(number) FROM proof_receipt AS own WHERE workspace = ? AND entity IN ({marks})"
            f" AND NOT EXISTS ({_DISOWNED_RUN})"
            f" GROUP BY entity, {_RUN_KEY}, CASE WHEN source = 'said' THEN 0 ELSE 1 END) ORDER BY number"
        )
        rows = ctx.tx.all(sql, ctx.workspace, *part, ctx.workspace, *part)
        for receipt in (_loaded(row) for row in rows):
            key = (receipt.id if receipt.grade == DISOWNED else receipt.command or receipt.id, receipt.witnessed)
            found.setdefault(receipt.entity, {})[key] = receipt
    return {entity: _without_lesser_claims(latest) for entity, latest in found.items()}


def _loaded(row: Row) -> ProofReceipt:
    """A row whose lists of files cannot be parsed counts as changed, and does not hide the others."""
    try:
        return load(ProofReceipt, row)
    except ValueError:
        # With any value here the digest of the row no longer matches, so `intact` is false.
        return load(ProofReceipt, {**row, "files": '{"": "damaged"}', "stats": None})


def _without_lesser_claims(latest: dict[tuple[str, bool], ProofReceipt]) -> list[ProofReceipt]:
    kept = [item for (command, witnessed), item in latest.items() if witnessed or (command, True) not in latest]
    return sorted(kept, key=lambda item: item.number)


def receipt_json(receipt: ProofReceipt) -> Json:
    return {
        "id": receipt.id,
        "task": receipt.owner,
        "step_id": receipt.entity if receipt.path is not None else None,
        **picked(receipt, "path", "grade", "source", "text", "command", "exit_code", "duration_ms"),
        **picked(receipt, "output_digest", "output_tail", "git_commit"),
        "git_dirty": bool(receipt.git_dirty) if receipt.git_dirty is not None else None,
        "files": sorted(receipt.files or {}),
        **picked(receipt, "again", "agent", "evidence"),
        "ts": rfc3339(receipt.ts_ms),
        "ts_ms": receipt.ts_ms,
        "digest": receipt.digest,
    }


@dataclass(frozen=True, slots=True)
class Break:
    """The first position at which a chain is broken."""

    where: str
    problem: str


def first_break(ctx: Context) -> tuple[int, Break | None]:
    """How many receipts the workspace has, and the first one that was changed, removed or inserted."""
    expected = last_count(ctx.tx, ctx.workspace, "receipt")
    erased = erased_digests(ctx.tx, ctx.workspace, "receipts")
    number, before = 0, ""
    for receipt in _all(ctx):
        number += 1
        problem = _problem(receipt, number, before, erased.get(receipt.id))
        if problem is not None:
            return number, Break(receipt.id, problem)
        before = receipt.digest
    # The counter is stored separately from the rows, so receipts removed at the end are detected as well.
    if number != expected:
        return number, Break(f"RCPT-{number + 1:03d}", f"is missing: {expected} were written and {number} are there")
    return number, None


def _problem(receipt: ProofReceipt, number: int, before: str, erased: str | None) -> str | None:
    if receipt.number != number:
        return f"follows number {number - 1}: what was between them is missing"
    if receipt.prev != before:
        return "does not follow from the one before it"
    return None if receipt.intact or erased == seal(receipt) else "does not hold what was written"


def _all(ctx: Context) -> Iterator[ProofReceipt]:
    """Every receipt in order, read in batches."""
    last = -1
    while True:
        sql = "SELECT * FROM proof_receipt WHERE workspace = ? AND number > ? ORDER BY number LIMIT 200"
        rows = ctx.tx.all(sql, ctx.workspace, last)
        yield from (_loaded(row) for row in rows)
        if len(rows) < 200:
            return
        last = rows[-1]["number"]
