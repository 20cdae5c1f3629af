"""The `open` views of work: plans, tasks, steps, evidence, jobs, their events, and runners. Reads only."""

from __future__ import annotations

from clew.canonical import Json, picked
from clew.errors import shorten, suggest
from clew.ids import JOB_EVENT
from clew.reasoning.documents import noted_about, noted_by_path
from clew.reasoning.scope import scope_of
from clew.registry.callers import own_focus
from clew.registry.context import Context
from clew.registry.record import Named, Opened, namer, opener
from clew.store.rows import find, find_many, select
from clew.tasks.evidence import Evidence, evidence_by_id, evidence_json
from clew.tasks.gates import gate_of
from clew.tasks.jobs.attention import attention_of
from clew.tasks.jobs.job import QUEUED, RUNNING, Job, brief_of, job_json
from clew.tasks.jobs.runners import OFFLINE, RunnerLease, find_lease
from clew.tasks.jobs.thread import event_json, newest_events
from clew.tasks.leases import lease_json, lease_of
from clew.tasks.overview import how_far, rows_json
from clew.tasks.plans import Work, work_by_id
from clew.tasks.proof_receipts import ProofReceipt, is_damaged, receipt_by_id, receipt_json
from clew.tasks.proofs import Proof, proof_state, proof_states, state_words
from clew.tasks.reasoning_gate import strict_json
from clew.tasks.steps import Step, find_step
from clew.tasks.task_nodes import nodes_of
from clew.tasks.views.outlook import progress
from clew.tasks.views.sections import OPENED, sections_json
from clew.tasks.views.status_view import everything, status_view_of

BRIEF = 160
"""Characters of a card's text that an opened plan or task shows: a preview, not the whole record."""


@namer("plan", "task")
def work_names(ctx: Context, ids: list[str]) -> list[Named]:
    found = find_many(ctx.tx, ctx.workspace, Work, ids)
    status = how_far(ctx, found)
    return [Named(work.id, work.kind, work.shown_title, status[work.id]) for work in found]


@namer("step")
def step_names(ctx: Context, ids: list[str]) -> list[Named]:
    found = find_many(ctx.tx, ctx.workspace, Step, ids)
    return [Named(step.id, "step", step.title, step.state) for step in found]


@namer("job")
def job_names(ctx: Context, ids: list[str]) -> list[Named]:
    return [Named(job.id, "job", job.title, job.status) for job in find_many(ctx.tx, ctx.workspace, Job, ids)]


@namer("receipt")
def receipt_names(ctx: Context, ids: list[str]) -> list[Named]:
    found = find_many(ctx.tx, ctx.workspace, ProofReceipt, ids)
    return [Named(item.id, "receipt", shorten(item.command or item.text, 140), item.grade) for item in found]


@namer("evidence")
def evidence_names(ctx: Context, ids: list[str]) -> list[Named]:
    return [
        Named(item.id, "evidence", shorten(item.text, 140)) for item in find_many(ctx.tx, ctx.workspace, Evidence, ids)
    ]


@opener("plan", "task")
def open_target(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened:
    """A plan or task by relevance to its step in focus; with drafts, as the audit view."""
    work = work_by_id(ctx, id)
    view = status_view_of(ctx, work, everything("audit" if include_drafts else "focus_only"))
    steps = view.subject.steps
    proofs = proof_states(ctx, steps)
    scope = view.subject.scope
    noted = noted_by_path(ctx, scope.branch.id, scope.notes, work.id, limit)
    return {
        "kind": work.kind,
        "id": work.id,
        "summary": shorten(work.title, 140),
        "status": work.status,
        "focus": ctx.ws.focus or own_focus(ctx),
        "progress": progress(steps, proofs) if work.is_task else None,
        "outline": [_outlined(step, proofs[step.id]) for step in steps[:limit]],
        "notes": [f"{step.path}: {note['text']}" for step in steps for note in noted.get(step.path, [])],
        "target": describe_target(ctx, id),
        **sections_json(view, OPENED),
        "cards": [_brief_card(row) for row in view.material.rows[:limit]],
        "events": view.timeline.events[-limit:],
    }


def _brief_card(row: Json) -> Json:
    """A card's kind and the beginning of its text; `open` with its id shows all of it."""
    named = {name: row[name] for name in ("id", "type", "title", "status", "tags")}
    return {**named, "text": shorten(row["text"], BRIEF) if row["text"] else row["text"]}


def _outlined(step: Step, proof: Proof) -> str:
    """A step in a line, with its status and proof; the runs are shown when the step is opened."""
    return f"{step.path} {shorten(step.title, 80)}: {', '.join(state_words(step, proof))}"


OWN = ("priority", "assignee", "tags", "depends_on", "context", "domain")
"""Optional fields of a plan or task; shown if they are set."""


def describe_target(ctx: Context, id: str) -> Opened:
    """A plan's or task's own fields."""
    work = work_by_id(ctx, id)
    own = {name: value for name in OWN if (value := getattr(work, name))}
    shown = {**rows_json(ctx, [work])[0], "description": work.description, **own}
    rest = ("reasoning_mode",) if work.is_task else ("contract", "contract_data")
    return shown | picked(work, *rest)


@opener("step")
def open_step(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    step = find_step(ctx, id)
    if step is None:
        return None
    gate, strict = gate_of(ctx, step), strict_json(ctx, work_by_id(ctx, step.task), step)
    evidence = select(ctx.tx, ctx.workspace, Evidence, "entity = ? ORDER BY number DESC LIMIT ?", id, limit)
    scope = scope_of(ctx, step.task)
    nodes = [node.content() for node in nodes_of(ctx, step.task) if node.step == id]
    return {
        "kind": "step",
        "id": step.id,
        "summary": shorten(step.title, 140),
        "task": step.task,
        "path": step.path,
        "status": step.state,
        "proof": shorten(proof_state(ctx, step).line(), 200),
        "step": step.content(),
        "notes": noted_about(ctx, scope.branch.id, scope.notes, step.task, step.path, limit),
        "gate": picked(gate, "required", "missing", "missing_proof") | ({"reasoning": strict} if strict else {}),
        "lease": lease_json(lease_of(ctx, id)),
        "nodes": nodes[:limit],
        "evidence": [item.id for item in evidence],
    }


@opener("receipt")
def open_receipt(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened:
    """A receipt, and whether its row is unchanged."""
    receipt = receipt_by_id(ctx, id)
    summary = shorten(f"{receipt.grade}: {receipt.command or receipt.text}", 140)
    return {
        "kind": "receipt",
        "id": receipt.id,
        "summary": summary,
        "task": receipt.owner,
        "receipt": {**receipt_json(receipt), "intact": not is_damaged(ctx, receipt)},
    }


@opener("evidence")
def open_evidence(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened:
    item = evidence_by_id(ctx, id)
    sql = "SELECT checkpoint FROM evidence_checkpoint WHERE workspace = ? AND evidence = ? ORDER BY checkpoint"
    rows = ctx.tx.all(sql, ctx.workspace, id)
    return {
        "kind": "evidence",
        "id": item.id,
        "summary": shorten(item.text, 140),
        "task": item.owner,
        "checkpoints": [row["checkpoint"] for row in rows],
        "evidence": evidence_json(item),
    }


AROUND = 5


@opener("job")
def open_job(ctx: Context, id: str, limit: int, include_drafts: bool) -> Json | None:
    """The job with its newest events; with drafts, its order too."""
    job = find(ctx.tx, ctx.workspace, Job, id)
    if job is None:
        return None
    rows = newest_events(ctx, job, limit + 1)
    shown: Json = {
        "kind": "job",
        "id": job.id,
        "summary": f"{job.status}: {shorten(job.summary or job.title, 120)}",
        "job": {**_job_row(job), "attention": attention_of(job, ctx.now_ms).to_json()},
        "events": [event_json(row) for row in rows[:limit]],
        "count": min(len(rows), limit),
        "has_more_events": len(rows) > limit,
    }
    if include_drafts:
        shown |= picked(brief_of(ctx, job), "prompt", "meta")
    _next(ctx, job)
    return shown


@opener("job_event")
def open_job_event(ctx: Context, id: str, limit: int, include_drafts: bool) -> Json | None:
    """One event with those just before it, and its job."""
    match = JOB_EVENT.fullmatch(id)
    name, seq = (match.group(1), int(match.group(2))) if match else ("", 0)
    job = find(ctx.tx, ctx.workspace, Job, name)
    if job is None:
        return None
    around = min(limit, AROUND)
    # The event itself, those before it, and one more to detect whether there are more.
    rows = newest_events(ctx, job, around + 2, seq + 1)
    if not rows or rows[0].seq != seq:
        return None
    event = event_json(rows[0])
    before = [event_json(row) for row in rows[1 : around + 1]]
    return {
        "kind": "job_event",
        "ref": id,
        "summary": f"{event['kind']}: {shorten(event['message'], 120)}",
        "event": event,
        "job": _job_row(job),
        "context": {"events": before, "has_more_events": len(rows) > around + 1},
    }


@opener("runner")
def open_runner(ctx: Context, id: str, limit: int, include_drafts: bool) -> Json | None:
    """A runner's lease and the jobs it holds. A runner without a lease is known by its jobs only."""
    runner = id.removeprefix("runner:")
    lease = find_lease(ctx, runner)
    running_first = f"CASE status WHEN '{RUNNING}' THEN 0 ELSE 1 END"
    where = f"runner = ? ORDER BY {running_first}, updated_at_ms DESC, number LIMIT ?"
    held = select(ctx.tx, ctx.workspace, Job, where, runner, limit + 1)
    if lease is None and not held:
        return None
    state = lease.status if lease is not None and lease.holds(ctx.now_ms) else OFFLINE
    jobs = held[:limit]
    return {
        "kind": "runner",
        "id": id,
        "status": state,
        "summary": f"{state}: {runner}" + (f" on {lease.active_job}" if lease and lease.active_job else ""),
        "lease": _lease(lease, ctx.now_ms) if lease is not None else None,
        "meta": lease.meta if lease is not None else None,
        "jobs": [_job_row(job) for job in jobs],
        "count": len(jobs),
        "has_more": len(held) > limit,
    }


def _job_row(job: Job) -> Json:
    """The job with the common fields of opened records, in addition to those of the job operations."""
    return {**job_json(job), "id": job.id, "task_id": job.task, "anchor_id": job.anchor}


def _lease(lease: RunnerLease, now_ms: int) -> Json:
    left = max(lease.lease_expires_at_ms - now_ms, 0)
    return {**lease.to_json(), "lease_active": lease.holds(now_ms), "expires_in_ms": left}


def _next(ctx: Context, job: Job) -> None:
    """Suggest the usual next calls after opening a job."""
    if attention_of(job, ctx.now_ms).needs_manager:
        ctx.suggest(suggest("tasks_jobs_radar", "Shows how to answer it: reply_job and reply_message.", "high"))
    elif job.status in (QUEUED, RUNNING):
        ctx.suggest(suggest("tasks_jobs_tail", "Follows the job.", "medium", job=job.id, after_seq=job.last_seq))
    else:
        ctx.suggest(suggest("tasks_jobs_requeue", "Starts another attempt.", "low", job=job.id))
