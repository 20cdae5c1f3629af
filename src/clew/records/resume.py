"""resume: where the work stands, what binds, what was decided, what is open, what waits and what is next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import ClewError, shorten
from clew.memory import blocks
from clew.memory.files.sync import sync
from clew.memory.governance.proposals import statement_of
from clew.recall.figures import note_told
from clew.records.brief import Brief, BriefLine, Section, brief_json, fit
from clew.records.relevance import Records, Topic, open_cards, recall_of, records_of, topic_of
from clew.records.work import current_work, only_task, proving
from clew.registry.callers import own_focus, unseen_since
from clew.registry.context import Context
from clew.registry.envelope import command, one_line
from clew.registry.operation import Input, Name, operation
from clew.registry.permission import other_workspaces
from clew.store.events import EventRow, events_after
from clew.surroundings import clew_command
from clew.tasks.overview import rows_json
from clew.tasks.plans import Work, open_plans, open_tasks, tasks_of, work_by_id
from clew.tasks.proof_receipts import UNPROVEN
from clew.tasks.proofs import STALE, Proof, unproven_since
from clew.tasks.steps import Step, first_open
from clew.tasks.views.outlook import OVER
from clew.tasks.views.standing import Extra, Standing, Wish, standing_of

DEFAULT_CHARS = 2_000
MOST_TASKS = 30
MOST_EVENTS = 300
MOST_UNPROVEN = 5
MOST_OPEN = 30
MOST_OTHERS = 5
ALARM = 90
FEW_DONE = 4
PEOPLE = ("", "observatory", "clew-cli")
"""Authors behind which a person sits: the page, the shell, an edited file."""
VERBS = {
    "step_done": "closed",
    "step_reopened": "reopened",
    "step_blocked": "blocked",
    "step_unblocked": "unblocked",
    "step_defined": "changed",
    "step_deleted": "deleted",
    "step_noted": "noted on",
    "steps_added": "added steps to",
    "task_created": "created",
    "task_completed": "set the status of",
    "task_edited": "edited",
    "task_deleted": "deleted",
    "plan_created": "created",
    "evidence_captured": "proved",
    "card_written": "wrote",
    "card_changed": "changed",
    "block_written": "wrote",
    "block_removed": "removed",
    "memory_edited": "edited",
    "proposal_staged": "proposed",
    "proposal_applied": "approved",
    "proposal_rejected": "rejected",
    "proposal_rolled_back": "rolled back",
    "record_retracted": "retracted",
    "job_completed": "completed",
    "job_failed": "failed",
}
"""What happened, as one would tell it; other events are bookkeeping and are not told."""


class Resume(Input):
    synonyms: ClassVar[dict[str, str]] = {"target": "task", "id": "task", "task_id": "task", "plan": "task"}

    task: Annotated[Name | None, Field(description="TASK- or PLAN- id; default: what you work on.")] = None
    max_chars: Annotated[int, Field(ge=0, le=200_000, description="Most characters of the answer.")] = DEFAULT_CHARS


def resume_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    text: str = result["text"]
    return text.splitlines()


@operation("resume", mode="own", portal=True, lines=resume_lines)
def resume(ctx: Context, args: Resume) -> dict[str, Any]:
    """Show where the work stands: next step, rules, decisions, what is open, unproven or waits. Reads only."""
    told = where_it_stands(ctx, args)
    note_told(ctx, "resume", len(told["text"]))
    return told


def where_it_stands(ctx: Context, args: Resume) -> dict[str, Any]:
    """What resume answers, for whoever tells it in another way and counts that itself."""
    sync(ctx)
    with ctx.reading() as reading:
        work = _work(reading, args.task)
        texts = _texts(reading, work)
    # Between two reads and not inside one: a search opens transactions of its own.
    recalled = recall_of(ctx, work, texts)
    with ctx.reading() as reading:
        # Read again, because somebody may have closed or renamed the task while the search ran.
        work = _work(reading, args.task)
        brief = _of_task(reading, work, recalled) if work and work.is_task else _of_plans(reading, work, recalled)
        cut = fit(brief, args.max_chars)
        return {"task": work.id if work else None, **brief_json(cut)}


def _work(ctx: Context, named: str | None) -> Work | None:
    """What is named, else what the caller works on, else what its client last worked on, else the focus of all.

    Only shown, never acted on: so it may be another's, as long as it is open.
    """
    if named is not None:
        return work_by_id(ctx, named.strip().upper())
    return current_work(ctx) or only_task(ctx)


def _texts(ctx: Context, work: Work | None) -> list[str]:
    """The task's own words, the nearest first."""
    if work is None:
        return []
    step = first_open(ctx, work.id) if work.is_task else None
    near = [step.title, *step.success_criteria] if step else []
    return [work.title, *near, work.description or ""]


def _of_task(ctx: Context, task: Work, recalled: dict[str, float]) -> Brief:
    standing = standing_of(ctx, task, Wish(Extra.DELEGATED | Extra.PROOFS))
    records = records_of(ctx, task, topic_of(ctx, standing, recalled))
    steps = standing.subject.steps
    done = _done_steps([step for step in steps if step.completed], standing.proofs)
    closed = sum(step.completed for step in steps)
    later = standing.subject.open_steps[1:]
    doubts = (*(BriefLine("suspect step", "", line, alarm="SUSPECT", rank=1.0) for line in standing.outlook.suspects),)
    strict = ", strict" if task.reasoning_mode == "strict" else ""
    state = "" if task.status in ("TODO", "ACTIVE") else f" {task.status}"
    return Brief(
        head=f"{task.id} {_title(task)} ({task.parent}{strict}){state} {closed}/{len(steps)} done",
        now=_now(standing),
        sections=(
            Section("done", done, inline=True),
            Section(
                "then", tuple(BriefLine("open step", step.path, step.title, rank=1.0) for step in later), inline=True
            ),
            Section("doubts", doubts + records.doubts),
            *_record_sections(records),
            _since(ctx),
        ),
        waits=_waits(standing, records),
        next=_next(ctx, standing),
        again={"task": task.id},
    )


def _title(work: Work) -> str:
    return shorten(one_line(work.title), 120)


def _done_steps(steps: list[Step], proofs: Mapping[str, Proof]) -> tuple[BriefLine, ...]:
    """Done steps by name while they are few; of many only those that somebody must look at, and the number."""
    told = [_done(step, proofs.get(step.id)) for step in steps]
    settled = [entry for entry in told if not entry.alarm]
    # Steps with an alarm do not count: they are named in any case.
    if len(settled) <= FEW_DONE:
        return tuple(told)
    proven = sum(1 for step in steps if (proof := proofs.get(step.id)) is not None and proof.settled)
    return (BriefLine("done step", "", f"{len(settled)} steps, {proven} of them proven"), *(e for e in told if e.alarm))


def _done(step: Step, proof: Proof | None) -> BriefLine:
    """A done step with its grade; whatever is not proven is an alarm."""
    if proof is None or proof.settled:
        return BriefLine("done step", step.path, f"{step.title} (proven)" if proof else step.title)
    return BriefLine("done step", step.path, step.title, alarm=shorten(proof.line(), ALARM))


def _now(standing: Standing) -> str:
    """The next step with what shows that it is done, who holds it and what stands in its way."""
    step, subject = standing.subject.first_open, standing.subject
    if step is None:
        return f"now {standing.outlook.now}"
    gate, proof = subject.gates[step.id], standing.open_proof
    # These two are confirmed by closing the step, so they are nothing to do before it.
    checks = [name for name in gate.missing if name not in ("criteria", "tests")]
    parts = [
        *(line for line in step.success_criteria if line != step.title),
        *(f"test: {line}" for line in step.tests),
        f"confirm: {', '.join(checks)}" if checks else "",
        f"do: {step.next_action}" if step.next_action else "",
        f"so far {shorten(proof.line(), ALARM)}" if proof is not None and proof.state != UNPROVEN else "",
        f"leased by {subject.lease.holder}" if subject.lease else "",
        f"BLOCKED: {step.block_reason or 'yes'}" if step.blocked else "",
        *(f"blocker: {line}" for line in step.blockers),
    ]
    told = "; ".join(shorten(one_line(part), 160) for part in parts if part)
    return f"now {step.path} {shorten(one_line(step.title), 120)}" + (f": {shorten(told, 480)}" if told else "")


def _record_sections(records: Records) -> tuple[Section, ...]:
    kept = {"rules": records.rules, "decisions": records.decisions, "known": records.known}
    kinds = {"rules": "rule", "decisions": "decision", "known": "fact"}
    counted = dict.fromkeys(kept, 0)
    for kind, count in records.unread.items():
        home = "rules" if kind in ("rule", "preference") else "known" if kind in ("lesson", "fact") else "decisions"
        counted[home] += count
    sections = [Section(name, entries, unread=counted[name], unread_kind=kinds[name]) for name, entries in kept.items()]
    return (*sections, Section("open", records.open))


def _since(ctx: Context) -> Section:
    """What others did since the caller was last here, the newest first; one entry for each author and deed."""
    since = unseen_since(ctx)
    if since is None:
        return Section("since")
    # After a long absence only the end is read; how many came before it is counted below.
    first = max(since, ctx.ws.event_seq - MOST_EVENTS)
    deeds: dict[tuple[str, str], list[str]] = {}
    # The newest first, so that a deed stands where it happened last.
    for event in reversed(events_after(ctx.tx, ctx.workspace, first, MOST_EVENTS)):
        if event.type in VERBS and event.agent != ctx.agent and not _is_proof(event):
            things = deeds.setdefault((_who(event), VERBS[event.type]), [])
            thing = _thing(event)
            if thing not in things:
                things.append(thing)
    entries = [BriefLine("change", "", f"{who} {verb} {_listed(things)}") for (who, verb), things in deeds.items()]
    return Section(
        "since", tuple(entries), inline=True, heading="since you were here:", unread=first - since, unread_kind="event"
    )


def _is_proof(event: EventRow) -> bool:
    """A run of `clew prove`: mostly the caller's own shell, and the step shows its grade anyway."""
    return event.type == "evidence_captured" and event.agent == "clew-prove"


def _who(event: EventRow) -> str:
    return "a person" if (event.agent or "") in PEOPLE or event.type == "memory_edited" else str(event.agent)


def _thing(event: EventRow) -> str:
    return " ".join(part for part in (event.subject, event.path) if part)


def _listed(things: list[str]) -> str:
    return ", ".join(things[:4]) + (f" and {len(things) - 4} more" if len(things) > 4 else "")


def _waits(standing: Standing | None, records: Records) -> str:
    """What goes on only when somebody else acts: proposals, questions of jobs, queued jobs."""
    staged, found = records.staged, []
    if staged:
        named = ", ".join(f"{block.id} {shorten(_proposal(block), 60)}".strip() for block in staged[:2])
        more = f" and {len(staged) - 2} more" if len(staged) > 2 else ""
        run = clew_command(f"approve {staged[0].id}" if len(staged) == 1 else "inbox")
        found.append(f"{len(staged)} proposal{'s' if len(staged) > 1 else ''} for a person ({named}{more}): {run}")
    checks = list(records.unapproved)
    if checks:
        found.append(f"check of {_listed(checks)} ({clew_command(f'guards approve {checks[0]}')})")
    stale = [proof for proof in standing.proofs.values() if proof.state == STALE] if standing else []
    if stale and standing:
        found.append(f"stale proofs: {clew_command(f'prove --task {standing.work.id} --again --stale')}")
    delegated = standing.delegated if standing else None
    if delegated is not None and delegated.job is not None:
        job = delegated.job
        asks = " asks for an answer" if job.needs_manager else " needs proof" if job.needs_proof else ""
        found.append(f"{job.job_id} {job.status.lower()}{' FAILED' if job.has_error else asks}")
    if delegated is not None and delegated.queued:
        found.append(f"{delegated.queued} queued job{'s' if delegated.queued > 1 else ''} for a runner")
    return f"waits: {'; '.join(found)}" if found else ""


def _proposal(block: blocks.Block) -> str:
    if block.get("Type") in ("record", "edit"):
        return f"about {block.get('TargetBlock')}"  # the record itself is shown where its kind is
    try:
        return one_line(statement_of(block))
    except ClewError:
        return ""  # its operations cannot be read; the id is enough to open it


def _next(ctx: Context, standing: Standing) -> str:
    """The one call that goes on. It names the task unless that is the caller's own focus."""
    task, step = standing.work, standing.subject.first_open
    # The line is pasted as it stands, and without the name it would act on the caller's own task.
    named = {} if own_focus(ctx) == task.id else {"task": task.id}
    if step is not None and standing.open_proof is not None and standing.open_proof.settled:
        return command("close", {**named, "step": step.path})
    if step is not None and step.tests:
        run = proving(task.id, one_line(step.tests[0]))
        return f"{run} (in a shell), then {command('close', {**named, 'step': step.path})}"
    if step is not None:
        return command("close", {**named, "step": step.path}) + " proof={command, exit_code}"
    if task.status in OVER or not standing.subject.steps:
        return command("op_call", {"name": "tasks_snapshot", "arguments": {"task": task.id}})
    return command("op_call", {"name": "tasks_complete", "arguments": {"task": task.id}})


def _of_plans(ctx: Context, plan: Work | None, recalled: dict[str, float]) -> Brief:
    """Without a task: plans and open tasks, rules, the newest decisions, what waits."""
    records = records_of(ctx, None, Topic(recalled=recalled))
    tasks = open_tasks(ctx, MOST_TASKS + 1) if plan is None else _left(ctx, plan)
    shown = tasks[:MOST_TASKS]
    rows = {row["id"]: row for row in rows_json(ctx, shown)}
    plans = open_plans(ctx)
    head = f"{plan.id} {_title(plan)}" if plan else f"workspace {ctx.workspace}"
    work = tuple(
        BriefLine("task", task.id, f"{task.title} ({task.parent}) {rows[task.id]['progress']} {task.status}", rank=1.0)
        for task in shown
    )
    count = f"{MOST_TASKS}+" if len(tasks) > MOST_TASKS else str(len(tasks))
    return Brief(
        head=f"{head}: {len(plans)} open plan{'s' * (len(plans) != 1)}, {count} open task{'s' * (len(tasks) != 1)}",
        sections=(
            Section("work", work),
            Section("doubts", records.doubts),
            _unproven(ctx, plan),
            *_record_sections(replace(records, open=_open_anywhere(ctx, records))),
            _since(ctx),
        ),
        waits=_waits(None, records),
        next=command("resume", {"task": tasks[0].id}) if tasks else _begin(ctx),
        again={"task": plan.id} if plan else {},
    )


def _begin(ctx: Context) -> str:
    """What to do where nothing is to be done; in an empty workspace, what is kept may be in another one."""
    begin = "start, with the title of what is to be done"
    # An empty workspace mostly means that a client was started in another directory than before.
    others = other_workspaces(ctx, MOST_OTHERS) if not ctx.ws.event_seq else []
    if not others:
        return begin
    named = ", ".join(f"{row['id']} ({row['events']} events)" for row in others)
    return f"{begin}. This workspace is empty; others here: {named}; workspace={others[0]['id']} in a call reads one"


def _unproven(ctx: Context, plan: Work | None) -> Section:
    """What finished tasks were closed on without proof: it stays listed until it is proven."""
    found = unproven_since(ctx)
    if plan is not None:
        mine = {task.id for task in tasks_of(ctx, plan.id)}
        found = [(step, proof) for step, proof in found if step.task in mine]
    entries = [
        BriefLine("unproven step", f"{step.task} {step.path}", step.title, rank=1.0, alarm=shorten(proof.line(), ALARM))
        for step, proof in found[:MOST_UNPROVEN]
    ]
    left = max(0, len(found) - MOST_UNPROVEN)
    return Section("unproven", tuple(entries), unread=left, unread_kind="unproven step")


def _open_anywhere(ctx: Context, records: Records) -> tuple[BriefLine, ...]:
    """Open questions of every task: without a task in hand, none of them is somebody else's business."""
    known = {entry.id for entry in records.open}
    return (*records.open, *(entry for entry in open_cards(ctx, MOST_OPEN) if entry.id not in known))


def _left(ctx: Context, plan: Work) -> list[Work]:
    return [task for task in tasks_of(ctx, plan.id) if task.status not in OVER]
