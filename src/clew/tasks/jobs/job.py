"""Jobs: delegated work, its holder, and the marks that its events leave; shared types and checks of arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import invalid, shorten, suggest, unknown_id
from clew.ids import CONTROL, JOB
from clew.index.items import Item, index_item
from clew.kinds import statuses
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, Text
from clew.store.rows import TableRow, find, update
from clew.store.workspaces import declare_events

QUEUED, RUNNING = statuses.JOB_QUEUED, statuses.JOB_RUNNING
TERMINAL = (statuses.WORK_DONE, statuses.JOB_FAILED, statuses.WORK_CANCELED)
STATUSES = (QUEUED, RUNNING, *TERMINAL)
PRIORITIES = ("HIGH", "MEDIUM", "LOW")  # in the order in which runners take them

DEFAULT_KIND = "codex_cli"
# Field limits of BranchMind's contract, which truncates longer texts.
MAX_TITLE, MAX_PROMPT, MAX_SUMMARY, MAX_MESSAGE = 200, 50_000, 800, 400
MAX_KIND, MAX_RUNNER, MAX_LEASE_RUNNER = 64, 128, 256
MAX_REFS, MAX_REF = 32, 128
# Bounds of a lease and of a claim in milliseconds, from BranchMind's contract.
SHORTEST_TTL, LONGEST_TTL = 1_000, 300_000

declare_events(
    {
        "job_created": "A job was queued.",
        "job_claimed": "A runner took a queued job.",
        "job_reclaimed": "A runner took a job whose claim had expired.",
        "job_reported": "A runner reported on its job.",
        "job_messaged": "A manager wrote to a job.",
        "job_completed": "A runner ended its job as done.",
        "job_failed": "A runner ended its job as failed.",
        "job_canceled": "A runner ended its job as canceled.",
        "job_requeued": "A job went back into the queue.",
        "runner_changed": "A runner appeared, began to work or became idle.",
    }
)

JobId = Annotated[Name, Field(description="Job id such as JOB-001.")]
RunnerId = Annotated[Name, Field(min_length=1, description="Who runs it; one name for each slot of a runner.")]
ClaimRevision = Annotated[int, Field(ge=0, le=2**53 - 1, description="job.revision as the claim returned it.")]
Refs = Annotated[
    list[Annotated[str, Field(max_length=MAX_REF)]],
    Field(max_length=MAX_REFS, description="Ids and receipts: CARD-1, notes@12, CMD: ..., LINK: ..."),
]
LeaseTtl = Annotated[
    int | None, Field(ge=-(2**53 - 1), le=2**53 - 1, description="Milliseconds the lease lasts; 1000 to 300000.")
]
Format = Annotated[Literal["json", "lines"] | None, Field(description="lines for the line format.")]
Spoken = Annotated[Text, Field(min_length=1, description="A short sentence; no logs.")]


class OfJob(Input):
    """A call about one job."""

    job: JobId


class Claimed(OfJob):
    """A call by the holder of a job's claim."""

    synonyms: ClassVar[dict[str, str]] = {"runner": "runner_id"}

    runner_id: RunnerId
    claim_revision: ClaimRevision
    refs: Refs = []
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class Job(TableRow):
    TABLE: ClassVar[str] = "job"

    id: str
    number: int
    title: str
    kind: str
    priority: str
    task: str | None
    anchor: str | None
    created_at_ms: int
    updated_at_ms: int
    revision: int = 0
    status: str = QUEUED
    runner: str | None = None
    claim_expires_at_ms: int | None = None
    summary: str | None = None
    completed_at_ms: int | None = None
    last_seq: int = 0
    noted_seq: int = 0
    """Newest event other than a heartbeat."""
    spoken_seq: int = 0
    """Newest of these that is not a runner's message about itself."""
    question_seq: int = 0
    manager_seq: int = 0
    proof_seq: int = 0
    """Newest manager message with a ref other than the job itself."""
    error_seq: int = 0
    checkpoint_seq: int = 0
    proof_gate_seq: int = 0

    @property
    def active(self) -> bool:
        return self.status in (QUEUED, RUNNING)

    def expired(self, now_ms: int) -> bool:
        """Whether the job is RUNNING without a valid claim."""
        expires = self.claim_expires_at_ms
        # A claim that lasts longer than the maximum was made by a machine with a wrong clock.
        return self.status == RUNNING and (expires is None or not now_ms < expires <= now_ms + LONGEST_TTL)


@dataclass(frozen=True, slots=True)
class JobBrief(TableRow):
    """The order of a job, and the settings and notes of its runner."""

    TABLE: ClassVar[str] = "job_brief"
    KEY: ClassVar[tuple[str, ...]] = ("job",)
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"meta"})

    job: str
    prompt: str = ""
    meta: Json = field(default_factory=dict)


TIMES = ("created_at_ms", "updated_at_ms")


def job_json(job: Job) -> Json:
    about = picked(job, "revision", "status", "title", "kind", "priority", "task", "anchor", "runner")
    ends = picked(job, "claim_expires_at_ms", "summary", *TIMES, "completed_at_ms")
    return {"job_id": job.id, **about, **ends}


def job_by_id(ctx: Context, given: str, field: str = "job") -> Job:
    id = given.strip().upper()
    if not JOB.fullmatch(id):
        ways, message = [suggest("tasks_jobs_list", "Lists the jobs.")], f"{shorten(given, 60)!r} is not a job id"
        raise invalid(field, message, "Use an id such as JOB-001.", ways, kind="prefix", allowed=["JOB-"])
    job = find(ctx.tx, ctx.workspace, Job, id)
    if job is None:
        raise unknown_id("job", id, "Copy an id from the list.", [suggest("tasks_jobs_list", "Lists the jobs.")])
    return job


def brief_of(ctx: Context, job: Job) -> JobBrief:
    return find(ctx.tx, ctx.workspace, JobBrief, job.id) or JobBrief(job.id)


def merge_meta(ctx: Context, job: Job, meta: Json | None) -> None:
    """Add keys to the job's meta; others stay, such as the skill profile that the job was created with."""
    if meta:
        # Read and written under the lock of the workspace, so that two reports do not lose each other's keys.
        known = brief_of(ctx, job)
        update(ctx.tx, ctx.workspace, replace(known, meta={**known.meta, **meta}))


def index_job(ctx: Context, job: Job, prompt: str) -> None:
    """Write the job's search item: its title, prompt and summary."""
    body = "\n".join(part for part in (job.summary, prompt) if part)
    tags = tuple(tag for tag in (job.anchor, job.task) if tag)
    item = Item(job.id, "task", job.last_seq, ctx.now_ms, job.title, body, "job", tags, job.status)
    index_item(ctx.tx, ctx.workspace, item)


def check_runner(value: str, limit: int = MAX_RUNNER) -> str:
    return _one_line(value, "runner_id", limit, "Use a name such as host:1234.")


def check_kind(value: str, field: str = "kind") -> str:
    return _one_line(value, field, MAX_KIND)


def _one_line(value: str, field: str, limit: int, recovery: str | None = None) -> str:
    trimmed = value.strip()
    if not trimmed or CONTROL.search(trimmed) or len(trimmed.encode()) > limit:
        message = f"must be one line of 1 to {limit} bytes"
        raise invalid(field, message, recovery, kind="length", max_chars=limit)
    return trimmed


def check_priority(value: str) -> str:
    name = {"NORMAL": "MEDIUM"}.get(value.strip().upper(), value.strip().upper())
    if name not in PRIORITIES:
        message = f"{shorten(value, 40)!r} is no priority"
        raise invalid("priority", message, "Use LOW, MEDIUM or HIGH.", expected="LOW, MEDIUM, HIGH")
    return name


def check_status(value: str, allowed: tuple[str, ...] = STATUSES) -> str:
    name = value.strip().upper()
    if name not in allowed:
        known = ", ".join(allowed)
        raise invalid("status", f"{shorten(value, 40)!r} is none of {known}", f"Use one of {known}.", expected=known)
    return name


def cut(ctx: Context, text: str, limit: int, field: str) -> str:
    """The text truncated to `limit` characters, with a warning if something was lost."""
    trimmed = text.strip()
    if len(trimmed) <= limit:
        return trimmed
    recovery = "Keep it short; put the rest into a note or card and give its id in refs."
    ctx.warn("TEXT_CUT", f"{field} was cut from {len(trimmed)} to {limit} characters", recovery)
    return shorten(trimmed, limit)


def clean_refs(refs: list[str]) -> list[str]:
    """The refs without empty ones and duplicates, in the given order."""
    return list(dict.fromkeys(ref for ref in (" ".join(given.split()) for given in refs) if ref))
