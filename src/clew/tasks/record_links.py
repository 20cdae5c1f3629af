"""How work is linked to other records, and how it is withdrawn: tasks, steps, evidence, receipts, jobs."""

from __future__ import annotations

from collections.abc import Sequence

from clew.errors import ClewError, Suggestion, suggest
from clew.kinds import statuses
from clew.reasoning.graph import nodes
from clew.reasoning.scope import scope_of
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.context import Context
from clew.registry.record import RecordLink, Restoration, Retracted, Retraction, linker, restorer, retracter
from clew.store.rows import find, find_many
from clew.surroundings import clew_command
from clew.tasks.endings import set_status
from clew.tasks.evidence import Evidence, disown, disown_evidence, evidence_by_id
from clew.tasks.gates import gate_of
from clew.tasks.jobs.job import QUEUED, RUNNING, job_by_id
from clew.tasks.jobs.queue import cancel_job
from clew.tasks.plans import Work, tasks_of, work_by_id
from clew.tasks.proof_receipts import (
    CLAIMED,
    DISOWNED,
    FAILED,
    UNPROVEN,
    WAIVERS,
    ProofReceipt,
    receipt_by_id,
)
from clew.tasks.proofs import proof_state
from clew.tasks.steps import CANCELED, Step, find_step, step_tag, steps_of
from clew.tasks.stepwork import block_step, reopen_step

PROVES, PART_OF, ABOUT = "proves", "part_of", "about"


@linker("plan", "task")
def work_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """The parent plan, the tasks or steps below, and its jobs."""
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
    """The parent task, its proof, and the cards that were written for it."""
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
    """Evidence or receipts of a step; a failed run is related to it and proves nothing."""
    sql = f"SELECT id, {grade} AS grade FROM {table} WHERE workspace = ? AND entity = ? ORDER BY number DESC LIMIT ?"
    rows = ctx.tx.all(sql, ctx.workspace, step, limit)
    gone = _disowned(ctx, step) if rows else set()
    return [
        RecordLink(row["id"], PROVES if _proves(row["grade"]) and row["id"] not in gone else ABOUT, step)
        for row in rows
    ]


def _proves(grade: str) -> bool:
    return grade not in (FAILED, DISOWNED, *WAIVERS)


def _disowned(ctx: Context, entity: str) -> set[str]:
    """The receipts of a step that were disowned, and their evidence."""
    sql = (
        "SELECT gone.id, gone.evidence FROM proof_receipt AS mark JOIN proof_receipt AS gone"
        " ON gone.workspace = mark.workspace AND gone.id = mark.again"
        " WHERE mark.workspace = ? AND mark.entity = ? AND mark.grade = ?"
    )
    rows = ctx.tx.all(sql, ctx.workspace, entity, DISOWNED)
    return {id for row in rows for id in (row["id"], row["evidence"]) if id is not None}


@linker("evidence")
def evidence_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    item = evidence_by_id(ctx, id)
    sql = "SELECT id FROM proof_receipt WHERE workspace = ? AND evidence = ? ORDER BY number LIMIT ?"
    rows = ctx.tx.all(sql, ctx.workspace, id, limit)
    proves = item.proves and id not in _disowned(ctx, item.entity)
    own = RecordLink(id, PROVES if proves else ABOUT, item.entity)
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
    """The task of a job."""
    job = job_by_id(ctx, id)
    return [RecordLink(id, ABOUT, job.task)] if job.task else []


@retracter("plan", "task")
def retract_work(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Done work is reopened; other work is canceled."""
    work = work_by_id(ctx, id)
    status = statuses.WORK_ACTIVE if work.status == statuses.WORK_DONE else statuses.WORK_CANCELED
    set_status(ctx, work, status)
    return Retracted("reopened" if status == statuses.WORK_ACTIVE else "canceled")


@retracter("step")
def retract_step(ctx: Context, id: str, said: Retraction) -> Retracted:
    """A closed step is reopened; an open one is blocked as canceled, because only deletion would let a task end."""
    task, step = _stored_step(ctx, id)
    if step.completed:
        return _reopened(ctx, task, step)
    block_step(ctx, task, step, True, f"{CANCELED}{said.line}")
    return Retracted("canceled", note=f"it stays listed in {task.id} as canceled; tasks_delete removes it")


def _stored_step(ctx: Context, id: str) -> tuple[Work, Step]:
    step = find_step(ctx, id)
    assert step is not None, f"{id} is indexed and not stored"
    return work_by_id(ctx, step.task), step


def _reopened(ctx: Context, task: Work, step: Step) -> Retracted:
    if task.status == statuses.WORK_DONE:
        task, _ = set_status(ctx, task, statuses.WORK_ACTIVE)
    reopen_step(ctx, task, step)
    return Retracted("reopened")


@retracter("evidence")
def retract_evidence(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Disowned evidence proves nothing, and neither does its receipt; their content is kept."""
    item = evidence_by_id(ctx, id)
    return _disown(ctx, item.entity, find_many(ctx.tx, ctx.workspace, ProofReceipt, [id], "evidence"), id, said)


@retracter("receipt")
def retract_receipt(ctx: Context, id: str, said: Retraction) -> Retracted:
    """The step is as if the run had never existed."""
    receipt = receipt_by_id(ctx, id)
    return _disown(ctx, receipt.entity, [receipt], receipt.evidence, said)


def _disown(
    ctx: Context, entity: str, receipts: Sequence[ProofReceipt], evidence: str | None, said: Retraction
) -> Retracted:
    """Withdraw one run under both of its ids."""
    gone = _disowned(ctx, entity)
    for receipt in receipts:
        if receipt.id not in gone:
            disown(ctx, receipt, said.line)
    if evidence is not None and find(ctx.tx, ctx.workspace, Evidence, evidence):
        disown_evidence(ctx, evidence)
    step = find_step(ctx, entity)
    return Retracted(statuses.DISOWNED, note=_left_behind(ctx, step) if step is not None and step.completed else None)


def _left_behind(ctx: Context, step: Step) -> str:
    """The remaining proof of a done step. If proof is required it is reopened, as if it had never been closed."""
    proof, task = proof_state(ctx, step), work_by_id(ctx, step.task)
    strict = task.reasoning_mode == "strict" and proof.state in (UNPROVEN, CLAIMED, FAILED)
    if strict or gate_of(ctx, step).missing_proof:
        _reopened(ctx, task, step)
        return f"{step.path} is open again, for it closes with proof only"
    if proof.state == UNPROVEN:
        return f"{step.path} stays done, UNPROVEN now; close step={step.path} with proof mends it"
    return f"{step.path} stays done, now {proof.line()}"


@restorer("plan", "task")
def restore_work(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    """Canceled work is resumed. Reopened work is closed again with proof, not by a claim."""
    work = work_by_id(ctx, id)
    if work.is_open:
        raise _closed_by_proof(id, suggest("resume", "Shows what is left.", "high", task=id))
    status = was if was in (statuses.WORK_TODO, statuses.WORK_PARKED) else statuses.WORK_ACTIVE
    set_status(ctx, work, status)
    return Restoration(status)


@restorer("step")
def restore_step(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    task, step = _stored_step(ctx, id)
    if not step.canceled:
        raise _closed_by_proof(step.path, suggest("close", "Closes it.", "high", task=task.id, step=step.path))
    block_step(ctx, task, step, False, None)
    return Restoration(statuses.OPEN)


def _closed_by_proof(what: str, way: Suggestion) -> ClewError:
    return ClewError(
        "CONFLICT", f"{what} is open, not withdrawn", "Close it with the proof of a run.", suggestions=[way]
    )


@restorer("evidence", "receipt")
def restore_proof(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    """A disowned run cannot be restored by a claim."""
    run = clew_command("prove --again")
    raise ClewError("CONFLICT", f"{id} was disowned, and only a run proves anything", f"Run it again: {run}.")


@restorer("job")
def restore_job(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    way = suggest("tasks_jobs_requeue", "Queues it again.", "high", job=id, reason=why)
    raise ClewError("CONFLICT", f"{id} has ended", "Queue it again.", suggestions=[way])


@retracter("job")
def retract_job(ctx: Context, id: str, said: Retraction) -> Retracted:
    """A waiting or running job is canceled; the result of an ended one is disowned."""
    job = job_by_id(ctx, id)
    if job.status not in (QUEUED, RUNNING):
        return Retracted(statuses.DISOWNED)
    cancel_job(ctx, job, said.why, (id,))
    return Retracted("canceled")
