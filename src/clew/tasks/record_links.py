"""How work is linked to other records, and how it is taken back: tasks, steps, evidence, receipts, jobs."""

from __future__ import annotations

from dataclasses import replace

from clew.index.items import mark_item
from clew.reasoning.graph import nodes
from clew.reasoning.scope import scope_of
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.context import Context
from clew.registry.record import RecordLink, Retracted, Retraction, linker, retracter
from clew.store.rows import update
from clew.tasks.changes import change_step
from clew.tasks.endings import set_status
from clew.tasks.evidence import evidence_by_id
from clew.tasks.jobs.claims import cancel_job
from clew.tasks.jobs.job import QUEUED, RUNNING, job_by_id
from clew.tasks.journal import Change
from clew.tasks.plans import Work, tasks_of, work_by_id
from clew.tasks.proof_receipts import DISOWNED, FAILED, WAIVERS, Run, receipt_by_id, write_receipt
from clew.tasks.steps import Step, find_step, step_tag, steps_of
from clew.tasks.stepwork import reopen_step

PROVES, PART_OF, ABOUT = "proves", "part_of", "about"


@linker("plan", "task")
def work_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """The plan above, the tasks or steps below, and the jobs that were given for it."""
    work = work_by_id(ctx, id)
    below = [step.id for step in steps_of(ctx, id)] if work.is_task else [task.id for task in tasks_of(ctx, id)]
    above = [RecordLink(id, PART_OF, work.parent)] if work.parent else []
    sql = "SELECT id FROM job WHERE workspace = ? AND task = ? ORDER BY number DESC LIMIT ?"
    jobs = ctx.tx.all(sql, ctx.workspace, id, limit)
    return [
        *above,
        *(RecordLink(part, PART_OF, id) for part in below[:limit]),
        *(RecordLink(row["id"], ABOUT, id) for row in jobs),
    ]


@linker("step")
def step_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """The task above, the proof of it, and the cards that were written for it."""
    step = find_step(ctx, id)
    if step is None:
        return []
    scope = scope_of(ctx, step.task)
    cards = nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, tags_all=[step_tag(step)], limit=limit).nodes
    return [
        RecordLink(id, PART_OF, step.parent or step.task),
        *_proofs(ctx, "evidence", "CASE WHEN proves = 1 THEN 'seen' ELSE 'failed' END", id, limit),
        *_proofs(ctx, "proof_receipt", "grade", id, limit),
        *(RecordLink(card.id, ABOUT, id) for card in cards),
    ]


def _proofs(ctx: Context, table: str, grade: str, step: str, limit: int) -> list[RecordLink]:
    """Evidence or receipts of a step; a run that failed is about it and proves nothing."""
    rows = ctx.tx.all(
        f"SELECT id, {grade} AS grade FROM {table} WHERE workspace = ? AND entity = ? ORDER BY number DESC LIMIT ?",
        ctx.workspace,
        step,
        limit,
    )
    gone = _disowned(ctx, step) if rows else set()
    return [
        RecordLink(row["id"], PROVES if _proves(row["grade"]) and row["id"] not in gone else ABOUT, step)
        for row in rows
    ]


def _proves(grade: str) -> bool:
    return grade not in (FAILED, DISOWNED, *WAIVERS)


def _disowned(ctx: Context, step: str) -> set[str]:
    sql = "SELECT again FROM proof_receipt WHERE workspace = ? AND entity = ? AND grade = ?"
    return {row["again"] for row in ctx.tx.all(sql, ctx.workspace, step, DISOWNED)}


@linker("evidence")
def evidence_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    item = evidence_by_id(ctx, id)
    sql = "SELECT id FROM proof_receipt WHERE workspace = ? AND evidence = ? ORDER BY number LIMIT ?"
    rows = ctx.tx.all(sql, ctx.workspace, id, limit)
    own = RecordLink(id, PROVES if item.proves else ABOUT, item.entity)
    return [own, *(RecordLink(row["id"], PART_OF, id) for row in rows)]


@linker("receipt")
def receipt_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    receipt = receipt_by_id(ctx, id)
    proves = _proves(receipt.grade) and id not in _disowned(ctx, receipt.entity)
    found = [RecordLink(id, PROVES if proves else ABOUT, receipt.entity)]
    found += [RecordLink(id, PART_OF, receipt.evidence)] if receipt.evidence else []
    return found + ([RecordLink(id, "repeats", receipt.again)] if receipt.again else [])


@linker("job")
def job_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """The task that a job was given for."""
    job = job_by_id(ctx, id)
    return [RecordLink(id, ABOUT, job.task)] if job.task else []


@retracter("plan", "task")
def retract_work(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Work that was called done is open again; work that is not done is canceled."""
    work = work_by_id(ctx, id)
    status = "ACTIVE" if work.status == "DONE" else "CANCELED"
    set_status(ctx, work, status)
    return Retracted("reopened" if status == "ACTIVE" else "canceled")


@retracter("step")
def retract_step(ctx: Context, id: str, said: Retraction) -> Retracted:
    """A closed step is open again; an open one is blocked as canceled, for only its deletion could let a task end."""
    step = find_step(ctx, id)
    assert step is not None, f"{id} is indexed and not stored"
    task = work_by_id(ctx, step.task)
    if step.completed:
        return _reopened(ctx, task, step)
    reason = f"canceled: {said.line}"
    payload = {"task": task.id, "step_id": step.id, "path": step.path, "blocked": True, "reason": reason}
    blocked = replace(step, blocked=True, block_reason=reason)
    change_step(ctx, task, step, blocked, Change("step_blocked", "step_block_set", payload))
    return Retracted("canceled", note=f"it still stands in {task.id}; tasks_delete removes it")


def _reopened(ctx: Context, task: Work, step: Step) -> Retracted:
    if task.status == "DONE":
        task, _ = set_status(ctx, task, "ACTIVE")
    reopen_step(ctx, task, step)
    return Retracted("reopened")


@retracter("evidence")
def retract_evidence(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Disowned evidence proves nothing any more; what it said stays."""
    item = evidence_by_id(ctx, id)
    update(ctx.tx, ctx.workspace, replace(item, proves=False))
    mark_item(ctx.tx, ctx.workspace, id, "disowned")
    return Retracted("disowned")


@retracter("receipt")
def retract_receipt(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Receipts are never changed. A new one, the last of its command, says that the run does not count."""
    receipt = receipt_by_id(ctx, id)
    if receipt.command:
        run = Run(receipt.source, receipt.command, None, again=receipt.id)
        text = f"disowned {id}: {said.line}"
        write_receipt(ctx, receipt.owner, receipt.entity, receipt.path, DISOWNED, text, run)
    return Retracted("disowned")


@retracter("job")
def retract_job(ctx: Context, id: str, said: Retraction) -> Retracted:
    """A job that waits or runs is canceled; what an ended one said is disowned."""
    job = job_by_id(ctx, id)
    if job.status not in (QUEUED, RUNNING):
        return Retracted("disowned")
    cancel_job(ctx, job, said.why, (id,))
    return Retracted("canceled")
