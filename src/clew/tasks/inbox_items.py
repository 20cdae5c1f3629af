"""Work that waits for a person: blocked steps, jobs with a question or without reports, steps closed without proof."""

from __future__ import annotations

from collections import Counter

from clew.canonical import Json, picked
from clew.errors import shorten
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.registry.record import InboxItem, inbox_items
from clew.store.events import last_doers
from clew.store.rows import select
from clew.tasks.jobs.attention import INBOX_ORDER, OPEN, attention_of
from clew.tasks.jobs.job import Job
from clew.tasks.jobs.runners import OFFLINE, active_leases, state_of
from clew.tasks.jobs.thread import newest_events
from clew.tasks.proofs import proof_states, unproven_since
from clew.tasks.steps import CANCELED, Step, done_steps

LOOKED_AT = 300
"""Maximum number of closed steps whose proofs are checked: reading files takes time."""
MARKED = 1_000
"""Maximum number of steps that a board marks."""
MARKS = (
    ("has_error", "reports an error", "error"),
    ("needs_manager", "asks a question", "question"),
    ("needs_proof", "needs proof", "proof_gate"),
    ("stale", "has gone silent", ""),
)


@inbox_items("job")
def asking_jobs(ctx: Context, limit: int) -> list[InboxItem]:
    where = f"{OPEN} ORDER BY {INBOX_ORDER} LIMIT ?"
    jobs = select(ctx.tx, ctx.workspace, Job, where, ctx.now_ms, limit)
    alive = {lease.runner: lease for lease in active_leases(ctx)} if jobs else {}
    found = [_job(ctx, job, state_of(alive, job.runner) == OFFLINE) for job in jobs]
    return [item for item in found if item is not None]


def _job(ctx: Context, job: Job, is_offline: bool) -> InboxItem | None:
    shown = attention_of(job, ctx.now_ms).to_json()
    mark = next((item for item in MARKS if shown[item[0]]), None)
    if mark is None:
        return None
    name, words, kind = mark
    idle = {
        "stale": "Its claim has ended: the next runner may take it and begin anew.",
        "needs_manager": "The runner waits, or goes on without an answer.",
    }.get(name, "The runner goes on as it can; the job may end as failed.")
    if is_offline and job.runner and name != "stale":
        idle = "Its runner is offline: it reads an answer when it is back, or the next runner takes the job."
    return InboxItem(
        *(job.id, "job", f"{job.title}: {words}", job.updated_at_ms, idle),
        by=job.runner,
        about=(job.task,) if job.task else (),
        note=_last_words(ctx, job, kind),
        facts={"mark": name, "status": job.status},
    )


def _last_words(ctx: Context, job: Job, kind: str) -> str:
    """The runner's message that set the mark; never a person's answer."""
    events = [event for event in newest_events(ctx, job, 20) if event.kind not in ("manager", "message")]
    raised = [event for event in events if event.kind == kind]
    spoken = [event for event in events if event.message and event.kind not in ("created", "claimed")]
    return next((shorten(event.message, 400) for event in [*raised, *spoken]), "")


@inbox_items("step")
def blocked_steps(ctx: Context, limit: int) -> list[InboxItem]:
    """Blocked steps of open work. Canceled steps wait for no one."""
    over = "SELECT 1 FROM work WHERE workspace = step.workspace AND id = step.task AND status IN ('DONE', 'CANCELED')"
    is_blocked = f"blocked = 1 AND completed = 0 AND COALESCE(block_reason, '') NOT LIKE '{CANCELED}%'"
    where = f"{is_blocked} AND NOT EXISTS ({over}) ORDER BY updated_at_ms LIMIT ?"
    steps = select(ctx.tx, ctx.workspace, Step, where, limit)
    idle = "The step stays blocked, and its task cannot be finished."
    by = last_doers(ctx.tx, ctx.workspace, "step_blocked", sorted({step.task for step in steps}))
    return [
        InboxItem(
            *(step.id, "step", f"{step.title} is blocked", step.updated_at_ms, idle),
            by=by.get((step.task, step.path)),
            about=(step.task,),
            note=step.block_reason or "no reason was given",
            facts={"task": step.task, "path": step.path, "reason": step.block_reason},
        )
        for step in steps
    ]


@inbox_items("proof")
def doubtful_work(ctx: Context, limit: int) -> list[InboxItem]:
    """Closed steps without observed proof: claimed, unproven, failed, or stale while the task is open."""
    sql = (
        "SELECT id FROM work WHERE workspace = ? AND kind = 'task' AND status NOT IN ('DONE', 'CANCELED')"
        " ORDER BY updated_at_ms DESC, number DESC LIMIT ?"
    )
    rows = ctx.tx.all(sql, ctx.workspace, LOOKED_AT)
    steps = done_steps(ctx, [row["id"] for row in rows])[:LOOKED_AT]
    since = unproven_since(ctx)
    judged = [*proof_states(ctx, steps).values(), *(proof for _, proof in since)]
    known = {step.id: step for step in (*steps, *(step for step, _ in since))}
    doubtful = [proof for proof in judged if not proof.settled]
    tasks = sorted({known[proof.step].task for proof in doubtful})
    closers = last_doers(ctx.tx, ctx.workspace, "step_done", tasks)
    idle = "It is shown as such in every resume and handoff until it is proven."
    found = [
        InboxItem(
            *(step.id, "proof", f"{step.title}: closed, {proof.state}", step.completed_at_ms or 0, idle),
            by=closers.get((step.task, step.path)) or (proof.receipt.agent if proof.receipt is not None else None),
            about=(step.task,),
            note=proof.line(),
            facts={
                "task": step.task,
                "path": step.path,
                **picked(proof, "state", "repeat", "commands"),
            },
        )
        for proof in doubtful
        if (step := known[proof.step])
    ]
    return sorted(found, key=lambda item: (item.ts_ms, item.id))[:limit]


@operation("tasks_marks", example={})
def tasks_marks(ctx: Context, args: Input) -> Json:
    """Count by task what a board marks: steps that are blocked, and closed ones that nobody has seen proven."""
    blocked, doubtful = blocked_steps(ctx, MARKED), doubtful_work(ctx, MARKED)
    return {"workspace": ctx.workspace, "blocked": _by_task(blocked), "doubtful": _by_task(doubtful)}


def _by_task(found: list[InboxItem]) -> dict[str, int]:
    return dict(sorted(Counter(item.about[0] for item in found).items()))
