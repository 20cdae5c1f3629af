"""resume: the status of the work, the rules and decisions in force, what is open or waiting, and the next call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import ClewError, shorten, suggest
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.files.sync import sync
from clew.memory.governance.proposals import statement_of
from clew.reasoning.documents import noted_by_path
from clew.recall.figures import count_shown
from clew.records.activity import activity_lines
from clew.records.brief import Brief, BriefLine, Section
from clew.records.brief_fit import fit
from clew.records.comments import questions_told
from clew.records.focus import current_work, only_task, proving
from clew.records.last_work import last_work, later_steps, other_tasks, steps_done
from clew.records.relevance import Records, most_read, note_cards, records_of, step_of
from clew.records.topic import Topic, recall_of, topic_of
from clew.registry.callers import name_focus, own_focus, unseen_since
from clew.registry.context import Context
from clew.registry.envelope import command, one_line
from clew.registry.operation import Input, Name, View, operation
from clew.registry.permission import other_workspaces
from clew.store.events import events_after
from clew.surroundings import clew_command
from clew.tasks.overview import rows_json
from clew.tasks.plans import Work, open_plans, open_tasks, tasks_of, work_by_id
from clew.tasks.proof_receipts import CLAIMED, FAILED, OVERRIDDEN, SEEN, UNPROVEN
from clew.tasks.proofs import PROVEN, STALE, Proof, unproven_since
from clew.tasks.steps import Step, first_open
from clew.tasks.views.outlook import path_ranges, progress
from clew.tasks.views.status_view import Extra, StatusView, Wish, status_view_of

DEFAULT_CHARS = 4_000
MOST_CHARS = 200_000
MOST_TASKS = 30
MOST_EVENTS = 300
MOST_UNPROVEN = 5
MOST_OTHERS = 5
ALARM = 90
FEW_DONE = 5
"""Maximum number of done steps to name; beyond it, only those whose test was neither seen to pass nor claimed."""
MOST_NOTES = 20


class Resume(Input):
    synonyms: ClassVar[dict[str, str]] = {"target": "task", "id": "task", "task_id": "task", "plan": "task"}

    task: Annotated[Name | None, Field(description="TASK- or PLAN- id, then yours; default: what you work on.")] = None
    max_chars: Annotated[int, Field(ge=0, le=MOST_CHARS, description="Most characters of the answer.")] = DEFAULT_CHARS
    all: Annotated[bool, Field(description="Every record in force.")] = False


def resume_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    text: str = result["text"]
    return text.splitlines()


@operation("resume", mode="own", view=View(in_lines=True, lines=resume_lines))
def resume(ctx: Context, args: Resume) -> dict[str, Any]:
    """Show where the work stands: next step, rules, decisions, what is open, unproven or waits. Reads only."""
    _take_up(ctx, args.task)
    told = current_status(ctx, args)
    count_shown(ctx, "resume", len(told["text"]))
    return told


def _take_up(ctx: Context, named: str | None) -> None:
    """Focus what was named, so that later `close` and `remember` calls apply to it, unless it has no open steps."""
    if named is None:
        return
    with ctx.reading() as reading:
        work = work_by_id(reading, named.strip().upper())
    if work.is_task and work.is_open:
        name_focus(ctx, work.id)


def current_status(ctx: Context, args: Resume) -> dict[str, Any]:
    """What resume returns, for callers that render it differently and count that themselves."""
    sync(ctx)
    limit = MOST_CHARS if args.all else args.max_chars
    with ctx.reading() as reading:
        work = _work(reading, args.task)
        texts = _texts(reading, work)
    # Between two reads and not inside one: a search opens its own transactions.
    recalled = recall_of(ctx, work, texts)
    with ctx.reading() as reading:
        # Read again: the task may have been closed or renamed while the search ran.
        work = _work(reading, args.task)
        most = most_read(limit)
        if work is not None and work.is_task:
            brief = _of_task(reading, work, recalled, most)
        else:
            brief = _of_plans(reading, work, recalled, most)
        cut = fit(brief, limit)
        if cut.room is not None:
            ctx.suggest(suggest("resume", "Shows what was left out.", "medium", **brief.again, max_chars=cut.room))
        return {"task": work.id if work else None, **cut.to_json()}


def _work(ctx: Context, named: str | None) -> Work | None:
    """The named task, else the caller's own, else the one its client last worked on, else the workspace focus.

    For display only, never to act on, so it may be another caller's as long as it is open.
    """
    if named is not None:
        return work_by_id(ctx, named.strip().upper())
    return current_work(ctx) or only_task(ctx)


def _texts(ctx: Context, work: Work | None) -> list[str]:
    """The task's own texts, most specific first."""
    if work is None:
        return []
    step = first_open(ctx, work.id) if work.is_task else None
    near = [step.title, *step.success_criteria] if step else []
    return [work.title, *near, work.description or ""]


def _of_task(ctx: Context, task: Work, recalled: dict[str, float], most: int) -> Brief:
    view = status_view_of(ctx, task, Wish(Extra.DELEGATED | Extra.PROOFS))
    records = records_of(ctx, task, topic_of(ctx, view, recalled, most), most)
    steps, proofs = view.subject.steps, view.proofs
    done = _done_steps([step for step in steps if step.completed], proofs)
    later = later_steps(ctx, [step for step in view.subject.open_steps[1:] if not step.canceled])
    doubts = (*(BriefLine("suspect step", "", line, alarm="SUSPECT", rank=1.0) for line in view.outlook.suspects),)
    noted = _noted(ctx, view)
    strict = ", strict" if task.reasoning_mode == "strict" else ""
    state = "" if task.status in (statuses.WORK_TODO, statuses.WORK_ACTIVE) else f" {task.status}"
    return Brief(
        head=f"{task.id} {_title(task)} ({task.parent}{strict}){state}",
        done=progress(steps, proofs),
        now=_now(view, noted.here),
        sections=(
            Section("done", done, inline=True),
            later,
            other_tasks(ctx, task),
            last_work(ctx, view),
            Section("doubts", doubts + records.doubts),
            *_record_sections(records, _since(ctx, records, proofs)),
            Section("notes", noted.others),
            Section("thoughts", records.thoughts, heading="open thoughts"),
        ),
        waits=_waits(ctx, view, records),
        next=_next(ctx, view),
        again={"task": task.id},
    )


def _title(work: Work) -> str:
    return shorten(one_line(work.title), 120)


def _done_steps(steps: list[Step], proofs: Mapping[str, Proof]) -> tuple[BriefLine, ...]:
    """Names the done steps if they are few; if many, only those whose test is not even claimed to pass."""
    few = len(steps) <= FEW_DONE
    found = [(step, proofs[step.id]) for step in steps]
    return tuple(
        _done(step, proof) for step, proof in found if few or proof.state in UNTRIED or proof.of_another_command
    )


UNTRIED = (UNPROVEN, FAILED, OVERRIDDEN)


def _done(step: Step, proof: Proof) -> BriefLine:
    """A done step with its grade, and the reason if it was closed without proof; never the command."""
    grade = SEEN if proof.state in (PROVEN, STALE) else proof.state
    marks = (", not the step's test" if proof.of_another_command else "") + (", stale" if proof.changed else "")
    reason = f": {shorten(proof.reason, ALARM)}" if proof.reason and proof.state in UNTRIED else ""
    return BriefLine("done step", step.path, f"{step.title} ({grade}{marks}{reason})")


@dataclass(frozen=True, slots=True)
class _Noted:
    """Notes: those about the current step, which are shown on its line, and the rest of the task's."""

    here: str
    others: tuple[BriefLine, ...]


def _noted(ctx: Context, view: StatusView) -> _Noted:
    scope, step = view.subject.scope, view.subject.first_open
    at_step = noted_by_path(ctx, scope.branch.id, scope.notes, view.work.id, MOST_NOTES)
    done = sorted({step.path for step in view.subject.steps if step.completed} & set(at_step))
    told = [BriefLine("note", path, note["text"]) for path in done for note in at_step[path]]
    here = [note["text"] for note in at_step.get(step.path, ())] if step is not None else []
    for card in reversed(note_cards(ctx, scope, MOST_NOTES)):
        text = card.text or card.title or ""
        if step is not None and step_of(card) == step.id:
            here.insert(0, text)
        else:
            told.insert(0, BriefLine("note", card.id, text))
    told[:0] = [BriefLine("note", step.path, text) for text in here[1:] if step is not None]
    return _Noted(here[0] if here else "", tuple(told))


def _now(view: StatusView, noted: str) -> str:
    """The next step, with its acceptance criteria, who has claimed it and what blocks it."""
    step, subject = view.subject.first_open, view.subject
    if step is None:
        return f"now {view.outlook.now}"
    # These two are confirmed by closing the step, so they are not to-dos before it.
    checks = [name for name in subject.gates[step.id].missing if name not in ("criteria", "tests")]
    parts = [*_asked_of(step, checks), *_stands(step, view, noted)]
    told = "; ".join(shorten(one_line(part), 160) for part in parts)
    return f"now {step.path} {shorten(one_line(step.title), 120)}" + (f": {shorten(told, 480)}" if told else "")


def _asked_of(step: Step, checks: list[str]) -> Iterator[str]:
    yield from (line for line in step.success_criteria if line and line != step.title)
    yield from (f"test: {line}" for line in step.tests)
    if checks:
        yield f"confirm: {', '.join(checks)}"
    if step.next_action:
        yield f"do: {step.next_action}"


def _stands(step: Step, view: StatusView, noted: str) -> Iterator[str]:
    """What was reached so far, and what blocks progress."""
    proof, lease = view.open_proof, view.subject.lease
    if proof is not None and proof.state != UNPROVEN:
        yield f"so far {shorten(proof.line(), ALARM)}"
    if noted:
        yield f"noted: {noted}"
    if lease:
        yield f"leased by {lease.holder}"
    if step.blocked:
        yield f"{'' if step.canceled else 'BLOCKED: '}{step.block_reason or 'yes'}"
    yield from (f"blocker: {line}" for line in step.blockers)


def _record_sections(records: Records, since: Section) -> tuple[Section, ...]:
    """The record sections in reading order: what binds, what was decided, what is new, open and known."""
    kept = [
        Section(name, entries, unread=records.unread.get(name, 0), unread_kind=_KIND_OF.get(name, name))
        for name, entries in records.view.items()
    ]
    told_first = [section for section in kept if section.name in ("rules", "decisions")]
    others = [section for section in kept if section not in told_first]
    return (*told_first, since, Section("open", records.open), *others)


_KIND_OF = {"rules": "rule", "decisions": "decision", "known": "fact"}


def _since(ctx: Context, records: Records, proofs: Mapping[str, Proof]) -> Section:
    """What others did since the caller's last visit, newest first; one entry per author and action."""
    since = unseen_since(ctx)
    if since is None:
        return Section("since")
    # After a long absence only the most recent events are read; the number skipped is counted below.
    first = max(since, ctx.ws.event_seq - MOST_EVENTS)
    # Newest first, so that an action is listed at its latest occurrence.
    events = [event for event in events_after(ctx.tx, ctx.workspace, first, MOST_EVENTS) if event.agent != ctx.agent]
    told = activity_lines(ctx, events[::-1], proofs, records.proposed)
    return Section(
        "since",
        tuple(BriefLine("change", "", line) for line in told),
        inline=True,
        heading="since you were here:",
        unread=first - since,
        unread_kind="event",
    )


def _waits(ctx: Context, view: StatusView | None, records: Records) -> str:
    """What needs someone to act: questions from people, proposals, questions from jobs, queued jobs."""
    found = [*questions_told(ctx), *_waiting_proposals(records), *_waiting_checks(list(records.unapproved))]
    if view:
        found += _waiting_work(view)
    return f"waits: {'; '.join(found)}" if found else ""


def _waiting_proposals(records: Records) -> Iterator[str]:
    staged = records.staged
    if not staged:
        return
    # Proposals about a record are shown on the line of that record.
    others = [block for block in staged if block.id not in records.proposed]
    left = len(others) - 2 + records.waiting - len(staged)
    named = ", ".join(f"{block.id} {shorten(_proposal(block), 60)}".strip() for block in others[:2])
    about = f" ({named}{_and_more(left)})" if named else ""
    run = clew_command(f"approve {staged[0].id}" if records.waiting == 1 else "inbox")
    yield f"{_counted(records.waiting, 'proposal')} for a person{about}: {run}"


def _waiting_checks(checks: list[str]) -> Iterator[str]:
    if checks:
        run = clew_command(f"guards approve {checks[0]}")
        yield f"check of {', '.join(checks[:3])}{_and_more(len(checks) - 3)} ({run})"


def _waiting_work(view: StatusView) -> Iterator[str]:
    """Stale proofs, and jobs that need a person."""
    if any(proof.state == STALE for proof in view.proofs.values()):
        yield f"stale proofs: {clew_command(f'prove --task {view.work.id} --again --stale')}"
    delegated = view.delegated
    if delegated is not None and delegated.job is not None:
        job, marks = delegated.job.job, delegated.job.attention
        asks = " asks for an answer" if marks.needs_manager else " needs proof" if marks.needs_proof else ""
        yield f"{job.id} {job.status.lower()}{' FAILED' if marks.has_error else asks}"
    if delegated is not None and delegated.queued:
        yield f"{_counted(delegated.queued, 'queued job')} for a runner"


def _and_more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count > 1 else ''}"


def _proposal(block: blocks.Block) -> str:
    if block.get("Type") in ("record", "edit"):
        return f"about {block.get('TargetBlock')}"  # the record itself is listed under its kind
    try:
        return one_line(statement_of(block))
    except ClewError:
        return ""  # its operations cannot be parsed; the id is enough to open it


def _next(ctx: Context, view: StatusView) -> str:
    """The one call that continues the work. It names the task unless that is the caller's own focus."""
    task, step = view.work, view.subject.first_open
    # The line is pasted verbatim; without the id it would act on the caller's own task.
    named = {} if own_focus(ctx) == task.id else {"task": task.id}
    if step is not None and step.canceled:  # only canceled steps are left, and none of them lets the task end
        gone = {"task": task.id, "step_id": step.id}
        drop = command("op_call", {"name": "tasks_delete", "arguments": gone})
        return f"{drop}, which drops the canceled {step.path}"
    if step is not None and view.open_proof is not None and view.open_proof.settled:
        return command("close", {**named, "step": step.path})
    if step is not None and step.tests:
        run = proving(task.id, one_line(step.tests[0]))
        return f"{run} (in a shell), then {command('close', {**named, 'step': step.path})}"
    if step is not None:
        return command("close", {**named, "step": step.path}) + " proof={command, exit_code}"
    if not task.is_open:
        return _another(ctx)
    if not view.subject.steps:
        return command("start", {"title": task.id}) + " steps=[...], which adds steps"
    return command("op_call", {"name": "tasks_complete", "arguments": {"task": task.id}})


def _another(ctx: Context) -> str:
    """What to do when a task is finished: another open task, else a new one."""
    left = open_tasks(ctx, MOST_TASKS)
    if not left:
        return BEGIN
    more = f", {len(left) - 1} more open" if len(left) > 1 else ""
    return f"{command('resume', {'task': left[0].id})} ({shorten(one_line(left[0].title), 60)}{more}), or {BEGIN}"


BEGIN = "start, with the title of what is to be done"


def _of_plans(ctx: Context, plan: Work | None, recalled: dict[str, float], most: int) -> Brief:
    """The brief without a task: plans and open tasks, rules, the newest decisions, what is waiting."""
    records = records_of(ctx, None, Topic(recalled=recalled), most)
    tasks = open_tasks(ctx, MOST_TASKS + 1) if plan is None else _left(ctx, plan)
    shown = tasks[:MOST_TASKS]
    rows = {row["id"]: row for row in rows_json(ctx, shown)}
    plans = open_plans(ctx)
    head = f"{plan.id} {_title(plan)}" if plan else f"workspace {ctx.workspace}"
    work = tuple(
        BriefLine("task", task.id, f"{task.title} ({task.parent}) {steps_done(rows[task.id])} {task.status}", rank=1.0)
        for task in shown
    )
    count = f"{MOST_TASKS}+" if len(tasks) > MOST_TASKS else str(len(tasks))
    return Brief(
        head=f"{head}: {len(plans)} open plan{'s' * (len(plans) != 1)}, {count} open task{'s' * (len(tasks) != 1)}",
        sections=(
            Section("work", work),
            Section("doubts", records.doubts),
            _unproven(ctx, plan),
            last_work(ctx, None),
            *_record_sections(records, _since(ctx, records, {})),
            Section("thoughts", records.thoughts, heading="open thoughts"),
        ),
        waits=_waits(ctx, None, records),
        next=command("resume", {"task": tasks[0].id}) if tasks else _begin(ctx),
        again={"task": plan.id} if plan else {},
    )


def _begin(ctx: Context) -> str:
    """What to suggest when there is no work; an empty workspace lists others that may hold the records."""
    # An empty workspace usually means that the client was started in a different directory than before.
    others = other_workspaces(ctx, MOST_OTHERS) if not ctx.ws.event_seq else []
    if not others:
        return BEGIN
    named = ", ".join(f"{row['id']} ({row['events']} events)" for row in others)
    return f"{BEGIN}. This workspace is empty; others here: {named}; workspace={others[0]['id']} in a call reads one"


def _unproven(ctx: Context, plan: Work | None) -> Section:
    """Finished tasks that were closed without proof, one line each; listed until they are proven."""
    found = unproven_since(ctx)
    if plan is not None:
        mine = {task.id for task in tasks_of(ctx, plan.id)}
        found = [(step, proof) for step, proof in found if step.task in mine]
    tasks: dict[str, list[tuple[Step, Proof]]] = {}
    for step, proof in found:
        tasks.setdefault(step.task, []).append((step, proof))
    entries = [
        BriefLine("unproven task", task, _doubted(steps) + _repeated(task, steps), rank=1.0)
        for task, steps in tasks.items()
    ]
    left = max(0, len(entries) - MOST_UNPROVEN)
    return Section("unproven", tuple(entries[:MOST_UNPROVEN]), unread=left, unread_kind="unproven task")


def _doubted(found: list[tuple[Step, Proof]]) -> str:
    """For example `3 steps: 2 claimed (s:0, s:2); s:1 writer unproven: no compiler here`."""
    counted = {state: [step.path for step, proof in found if proof.state == state] for state in (CLAIMED, STALE)}
    named = [
        f"{step.path} {shorten(one_line(step.title), 40)} {proof.state}"
        + (f": {shorten(one_line(proof.reason), 40)}" if proof.reason else "")
        for step, proof in found
        if proof.state not in counted
    ]
    told = [f"{len(paths)} {state} ({path_ranges(paths)})" for state, paths in counted.items() if paths]
    more = [f"and {len(named) - 3} more"] if len(named) > 3 else []
    return f"{len(found)} step{'s' * (len(found) != 1)}: {'; '.join([*told, *named[:3], *more])}"


def _repeated(task: str, found: list[tuple[Step, Proof]]) -> str:
    """The command that repeats a run that was seen to pass before files changed."""
    stale = any(proof.state == STALE for _, proof in found)
    return f"; {clew_command(f'prove --task {task} --again --stale')}" if stale else ""


def _left(ctx: Context, plan: Work) -> list[Work]:
    return [task for task in tasks_of(ctx, plan.id) if task.is_open]
