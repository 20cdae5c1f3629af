"""The thread of a job: writing and reading its events, the marks they leave on the job, and refs in their texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import ClewError, shorten, suggest
from clew.ids import ANCHOR, JOB, PLAN, TASK
from clew.reasoning.branches import END
from clew.registry.context import Context
from clew.registry.envelope import one_line
from clew.registry.operation import View, operation
from clew.store.rows import TableRow, find_many, insert, select, update
from clew.tasks.commands import is_command
from clew.tasks.jobs.job import (
    MAX_MESSAGE,
    MAX_REF,
    MAX_REFS,
    Format,
    Job,
    OfJob,
    Refs,
    Spoken,
    clean_refs,
    cut,
    job_by_id,
    job_json,
)
from clew.tasks.proof_receipts import plain_line, salvaged

_URL = re.compile(r"https?://[^\s<>\"'`)\]]+", re.IGNORECASE)
_ID = re.compile(
    rf"(?<![\w:@-])(?:CARD-[\w-]+|{TASK.pattern}|{PLAN.pattern}|{JOB.pattern}(?:@\d+)?"
    rf"|(?:notes|trace|mindpack)@\d+|{ANCHOR.pattern})",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"[$>]\s+")


def with_salvage(text: str, refs: list[str], job_id: str) -> list[str]:
    """The given refs; if there are none except the job's own id, the refs found in the text.

    The job's own id comes last, for navigation. It never counts as proof.
    """
    own = [ref for ref in refs if ref.upper() != job_id]
    found = own or list(salvage(text, job_id))
    return [*found[: MAX_REFS - 1], job_id]


def salvage(text: str, job_id: str = "") -> Iterator[str]:
    """Refs found in a text: receipts, addresses, commands and ids, each once and cut to MAX_REF."""
    found = [*salvaged(text), *_addresses(text), *_commands(text), *_ids(text, job_id)]
    yield from list(dict.fromkeys(ref[:MAX_REF] for ref in found))[:MAX_REFS]


def is_proof(ref: str) -> bool:
    """Whether a ref leads to evidence; jobs and areas do not."""
    folded = ref.strip().lower()
    return bool(folded) and not folded.startswith(("job-", "a:"))


def proofs(refs: Iterable[str]) -> list[str]:
    return [ref for ref in refs if is_proof(ref)]


def _addresses(text: str) -> list[str]:
    return [f"LINK: {address.rstrip('.,;:!?')}" for address in _URL.findall(text)]


def _commands(text: str) -> Iterator[str]:
    for raw in text.splitlines():
        line = _PROMPT.sub("", plain_line(raw), count=1).strip("`").strip()
        if is_command(line):
            yield f"CMD: {line}"


def _ids(text: str, job_id: str) -> Iterator[str]:
    # Without addresses: an id inside of one is part of the address.
    for found in _ID.findall(_URL.sub(" ", text)):
        ref = _canonical(found)
        if ref != job_id:
            yield ref


def _canonical(id: str) -> str:
    """The id in its stored case. The tail of a card's id keeps its case, because authors choose it."""
    head, sign, tail = id.partition("-")
    if head.upper() == "CARD":
        return f"CARD{sign}{tail}"
    return id.upper() if head.upper() in {"TASK", "PLAN", "JOB"} else id.lower()


HEARTBEAT, QUESTION, MANAGER, ERROR = "heartbeat", "question", "manager", "error"
CHECKPOINT, PROOF_GATE, PROGRESS = "checkpoint", "proof_gate", "progress"
OWN_VOICE = "runner:"
"""Prefix of messages that a runner writes about itself."""

_MARKS = {
    QUESTION: "question_seq",
    MANAGER: "manager_seq",
    ERROR: "error_seq",
    CHECKPOINT: "checkpoint_seq",
    PROOF_GATE: "proof_gate_seq",
}


@dataclass(frozen=True, slots=True)
class Remark:
    """An event that is not written yet."""

    kind: str
    message: str
    refs: tuple[str, ...] = ()
    percent: int | None = None
    meta: Json | None = None
    runner: str | None = None
    claim_revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent(Remark, TableRow):
    """It keeps its number, so `JOB-001@5` in notes and evidence always opens the same."""

    TABLE: ClassVar[str] = "job_event"
    KEY: ClassVar[tuple[str, ...]] = ("seq",)
    LISTS: ClassVar[frozenset[str]] = frozenset({"refs"})
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"meta"})

    seq: int
    job: str
    ts_ms: int


def say(ctx: Context, job: Job, remark: Remark) -> tuple[Job, Json, bool]:
    """Write an event and update the job. A heartbeat after a heartbeat overwrites it, so that they do not accumulate.

    Returns the job, the event as JSON, and whether it is a new event.
    """
    last = events_at(ctx, [job.last_seq]).get(job.last_seq) if remark.kind == HEARTBEAT else None
    repeated = last is not None and last.kind == HEARTBEAT
    seq = job.last_seq if repeated else ctx.ws.next_seq()
    event = JobEvent(seq=seq, job=job.id, ts_ms=ctx.now_ms, **asdict(remark))
    job = replace(job, updated_at_ms=ctx.now_ms)
    if repeated:
        update(ctx.tx, ctx.workspace, event)
    else:
        insert(ctx.tx, ctx.workspace, event)
        job = with_marks(job, event)
    update(ctx.tx, ctx.workspace, job)
    return job, event_json(event), not repeated


def with_marks(job: Job, event: JobEvent) -> Job:
    """The job with the marks of a new event."""
    marks: Json = {"last_seq": event.seq}
    if event.kind != HEARTBEAT:
        marks["noted_seq"] = event.seq
        if not event.message.startswith(OWN_VOICE):
            marks["spoken_seq"] = event.seq
    if event.kind in _MARKS:
        marks[_MARKS[event.kind]] = event.seq
    if event.kind == MANAGER and any(ref != job.id for ref in event.refs):
        marks["proof_seq"] = event.seq  # the job's own id proves nothing
    return replace(job, **marks)


def event_json(event: JobEvent, with_meta: bool = True) -> Json:
    shown = {
        "seq": event.seq,
        "job_id": event.job,
        "ref": f"{event.job}@{event.seq}",
        "ts": rfc3339(event.ts_ms),
        **picked(event, "ts_ms", "kind", "message", "percent", "refs"),
    }
    if with_meta and event.meta is not None:
        shown["meta"] = event.meta
    return shown


def newest_events(ctx: Context, job: Job, limit: int, before: int = END) -> list[JobEvent]:
    """Events older than `before`, newest first."""
    where = "job = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
    return select(ctx.tx, ctx.workspace, JobEvent, where, job.id, before, limit)


def events_since(ctx: Context, job: Job, after: int, limit: int) -> list[JobEvent]:
    """Events newer than `after`, oldest first."""
    where = "job = ? AND seq > ? ORDER BY seq LIMIT ?"
    return select(ctx.tx, ctx.workspace, JobEvent, where, job.id, after, limit)


def events_at(ctx: Context, seqs: list[int]) -> dict[int, JobEvent]:
    return {event.seq: event for event in find_many(ctx.tx, ctx.workspace, JobEvent, seqs)}


class JobsMessage(OfJob):
    message: Spoken
    refs: Refs = []
    fmt: Format = None


def message_lines(result: Json, default_workspace: str) -> list[str]:
    event = result["event"]
    head = f"job {event['job_id']} message posted | ref={event['ref']} kind={event['kind']}"
    return [place(result, default_workspace) + head, shorten(one_line(event["message"]), 200)]


@operation(
    "tasks_jobs_message",
    writes=True,
    example={"job": "JOB-001", "message": "Use the smaller data set."},
    view=View(lines=message_lines),
)
def tasks_jobs_message(ctx: Context, args: JobsMessage) -> Json:
    """Write to a job that waits or runs: an answer, a correction, a ref it should see."""
    job, event = post_message(ctx, job_by_id(ctx, args.job), args.message, args.refs)
    return {"workspace": ctx.workspace, "job": job_json(job), "event": event}


def post_message(ctx: Context, job: Job, message: str, refs: list[str]) -> tuple[Job, Json]:
    if not job.active:
        raise ClewError(
            "CONFLICT",
            f"{job.id} is {job.status}; nobody reads messages to it",
            "Requeue it with the message as the reason.",
            suggestions=[
                suggest("tasks_jobs_open", "Shows how it ended.", "high", job=job.id),
                suggest("tasks_jobs_requeue", "Starts another attempt.", "medium", job=job.id),
            ],
        )
    found = with_salvage(message, clean_refs(refs), job.id)
    remark = Remark(MANAGER, cut(ctx, message, MAX_MESSAGE, "message"), tuple(found))
    job, event, _ = say(ctx, job, remark)
    ctx.emit("jobs", "job_messaged", job.id, {"ref": event["ref"], "refs": found})
    return job, event


def place(result: Json, default_workspace: str) -> str:
    """The workspace as prefix of a line, if it is not the reader's own."""
    workspace = result.get("workspace", default_workspace)
    return "" if workspace == default_workspace else f"{workspace} "
