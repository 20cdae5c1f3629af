"""start and close: work as an agent meets it.

A task with its steps begins in one call; each step ends with proof, or openly without it. Both act on the caller's own
focus only. The focus of the workspace belongs to the operations of the seeds and stays where it is.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import STEP, STEP_PATH, TASK, normal_id
from clew.registry.callers import last_state, own_focus, set_own_focus
from clew.registry.context import Context
from clew.registry.operation import Input, Name, StrictModel, operation
from clew.tasks.changes import StepSpec, add_steps
from clew.tasks.commands import named_commands
from clew.tasks.creation import Home, NewTask, attempt, bootstrap
from clew.tasks.endings import set_status
from clew.tasks.evidence_capture import CapturedProof, capture_proof
from clew.tasks.gates import Override, proof_refused
from clew.tasks.macros import inbox
from clew.tasks.plans import Work, find_work, known_work, open_tasks, plan_titled, work_by_id
from clew.tasks.proof_receipts import UNPROVEN, receipts
from clew.tasks.proofs import ProjectFiles, Proof, proof_state, waive
from clew.tasks.steps import Step, find_step, first_open, step_selector, steps_of
from clew.tasks.stepwork import close_step, note_step
from clew.tasks.texts import Heading, Lines, Prose, heading, lines, read_step
from clew.tasks.views.outlook import OVER

MOST_STEPS = 200
SHOWN_STEPS = 8
CONFIRMED = {"criteria": True, "tests": True}
"""Closing a step says that its criteria are met and its tests were looked at."""
_STEP_OF = re.compile(rf"(?:({TASK.pattern})[\s/:.]*)?({STEP_PATH.pattern})", re.IGNORECASE)


class StepWish(StrictModel):
    """A step as an agent writes it down."""

    title: Annotated[Heading, Field(description="What is done in this step.")]
    criteria: Annotated[Lines, Field(description="How one sees that it is done.")] = []
    tests: Annotated[Lines, Field(description="Commands that prove it.")] = []


def step_wish(given: Any) -> Any:
    """A step in the words of tasks_decompose, which may go without a criterion here."""
    read = read_step(given)
    if not isinstance(read, dict):
        return read
    return {"criteria" if key == "success_criteria" else key: value for key, value in read.items()}


StepList = Annotated[
    list[Annotated[StepWish, BeforeValidator(step_wish)]],
    Field(
        max_length=MOST_STEPS,
        description="In order: texts such as 'parser; reads quotes; test: pytest -q', or {title, criteria, tests}.",
        json_schema_extra={"items": {"type": ["string", "object"]}},
    ),
]


class Start(Input):
    synonyms: ClassVar[dict[str, str]] = {"task_title": "title", "task": "title", "name": "title"}

    title: Annotated[Heading, Field(description="What is to be done; or a TASK- id, to add steps to that task.")]
    steps: StepList = []
    plan: Annotated[Name | None, Field(description="Plan id or title; default: the plan you work on.")] = None
    strict: Annotated[bool, Field(description="Steps close only on runs that Clew saw.")] = False


def start_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    mode = ", strict" if result["strict"] else ""
    steps = result["steps"]
    shown = [f"{step['path']} {shorten(step['title'], 28)}" for step in steps[:SHOWN_STEPS]]
    more = f" and {len(steps) - SHOWN_STEPS} more" if len(steps) > SHOWN_STEPS else ""
    if result.get("added"):
        return [f"{result['task']}: {len(steps)} step{'s' * (len(steps) != 1)} added", shorten(" | ".join(shown), 200)]
    first = steps[0]
    run = f"; in a shell: {proving(result['task'], first['tests'][0], 60)}" if first["tests"] else ""
    return [
        f"{result['task']} started ({result['plan']}{mode})",
        shorten(" | ".join(shown), 110) + more,
        f"next: {first['path']} {shorten(first['title'], 40)}{run}; then close step={first['path']}",
    ]


def proving(task: str, test: str, most: int) -> str:
    """The shell command that proves the first open step of a task."""
    named = named_commands([test])
    return f"clew prove --task {task} -- {shorten(named[0] if named else test, most)}"


@operation(
    "start",
    writes=True,
    portal=True,
    lines=start_lines,
    example={"title": "Parse .env files", "steps": ["parser; test: pytest -q", "docs"]},
)
def start(ctx: Context, args: Start) -> dict[str, Any]:
    """Start a task with its steps; it becomes your focus. Without steps it has one: the task itself."""
    # Agents that want more steps call start again with the id; without this it would become the title of a new task.
    known = find_work(ctx, args.title.strip().upper()) if TASK.fullmatch(args.title.strip().upper()) else None
    if known is not None:
        return _more_steps(ctx, known, args)
    wanted = [_spec(step) for step in args.steps or [StepWish(title=args.title)]]
    task = NewTask(task_title=heading(args.title), reasoning_mode="strict" if args.strict else "normal")
    done = bootstrap(ctx, task, _home(ctx, args.plan), wanted)
    set_own_focus(ctx, done.task.id)
    return {
        "task": done.task.id,
        "title": done.task.title,
        "plan": done.plan.id,
        "strict": args.strict,
        "steps": [_step_json(step) for step in done.steps],
    }


def _more_steps(ctx: Context, task: Work, args: Start) -> dict[str, Any]:
    """Steps at the end of a task that is there."""
    if not args.steps:
        ways = [suggest("resume", "Shows where it stands.", "high", task=task.id)]
        raise invalid("steps", f"{task.id} is there already", "Give the steps to add to it.", ways)
    task, steps, _ = add_steps(ctx, task, None, [_spec(step) for step in args.steps])
    set_own_focus(ctx, task.id)
    return {
        "task": task.id,
        "title": task.title,
        "plan": task.parent,
        "strict": task.reasoning_mode == "strict",
        "steps": [_step_json(step) for step in steps],
        "added": True,
    }


def _spec(step: StepWish) -> StepSpec:
    title = heading(step.title, "steps.title")
    # A step needs a criterion; where none is given, that what it says is done.
    return StepSpec(title, lines(step.criteria) or (title,), lines(step.tests))


def _step_json(step: Step) -> dict[str, Any]:
    return {"path": step.path, "title": step.title, "tests": list(step.tests)}


def _home(ctx: Context, named: str | None) -> Home:
    """The plan that is named by id or title, else the plan of the caller's own work, else Inbox."""
    if named is not None:
        known = find_work(ctx, named.strip().upper()) or plan_titled(ctx, named.strip())
        if known is not None:
            return Home(plan=_plan_of(ctx, known))
        return Home(title=heading(named, "plan"))
    focus = own_focus(ctx)
    own = find_work(ctx, focus) if focus else None
    return Home(plan=_plan_of(ctx, own)) if own is not None else inbox(ctx)


def _plan_of(ctx: Context, work: Work) -> Work:
    return work_by_id(ctx, work.parent) if work.parent else work


class RunProof(StrictModel):
    """A run as the agent saw it. Clew did not see it, so it counts as claimed."""

    command: Annotated[Prose, Field(min_length=1, description="What was run.")]
    exit_code: Annotated[int, Field(ge=-255, le=255)] = 0
    output: Annotated[Prose | None, Field(description="Its last lines.")] = None
    files: Annotated[list[Name], Field(max_length=1000, description="Files that it covers.")] = []


def run_proof(given: Any) -> Any:
    """An object under the names that other tools give to a run."""
    if not isinstance(given, dict):
        return given
    named = {_RUN_NAMES.get(key, key): value for key, value in given.items()}
    return {**named, "files": [named["files"]]} if isinstance(named.get("files"), str) else named


_RUN_NAMES = {
    **dict.fromkeys(("cmd", "run", "shell"), "command"),
    **dict.fromkeys(("exitCode", "exit", "code", "status", "returncode"), "exit_code"),
    **dict.fromkeys(("stdout", "result", "tail"), "output"),
    "covers": "files",
}

ProofGiven = Annotated[
    Prose | RunProof,
    BeforeValidator(run_proof),
    Field(
        description="Receipt id of `clew prove`, or {command, exit_code, output, files}.",
        json_schema_extra={"anyOf": [{"type": "string"}, {"type": "object"}]},
    ),
]


class Close(Input):
    synonyms: ClassVar[dict[str, str]] = {"step_id": "step", "path": "step", "reason": "unproven", "evidence": "proof"}

    step: Annotated[Name | None, Field(description="s:1 or STEP-...; default: your first open step.")] = None
    proof: ProofGiven | None = None
    unproven: Annotated[Prose | None, Field(description="Why it closes without proof; stays listed.")] = None
    note: Annotated[Prose | None, Field(description="What to know about it later.")] = None
    task: Annotated[Name | None, Field(description="Default: the task you started or named last.")] = None


def close_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    shown = [f"{result['step']} closed {result['closed']}/{result['of']}: {result['proof']}"]
    if result["next"] is not None:
        following = result["next"]
        run = f"; in a shell: {proving(result['task'], following['tests'][0], 60)}" if following["tests"] else ""
        shown.append(f"next: {following['path']} {shorten(following['title'], 60)}{run}")
    else:
        shown.append(f"{result['task']} {result['status']}")
    return shown


@operation("close", writes=True, portal=True, lines=close_lines, example={"step": "s:0", "unproven": "prose only"})
def close(ctx: Context, args: Close) -> dict[str, Any]:
    """Close a step with proof: a run that Clew saw, or one you report. Without proof it says so and stays listed."""
    task, step = _open_step(ctx, args)
    if args.unproven is not None and not args.unproven.strip():
        raise invalid("unproven", "must say why", "Give the reason.", kind="non_empty")
    if args.note is not None:
        task, _ = note_step(ctx, task, step, args.note)
    # Before the state is asked for, so that the proof of this very call counts.
    if args.proof is not None:
        task, _ = capture_proof(ctx, task, step, _proof(ctx, args.proof))
    proof = proof_state(ctx, step)
    if proof.state == UNPROVEN and args.unproven is None:
        raise _nothing_proves(step)
    override, strict = None, task.reasoning_mode == "strict"
    # Stricter than the gate of the step, which lets pass what names no test and requires no proof.
    if strict and args.unproven is None and not proof.settled:
        raise proof_refused(step, proof)
    if args.unproven is not None and not proof.settled:
        # A strict task keeps the reason as an override with a risk; any other just says that nothing proves the step.
        if strict:
            override = Override(reason=args.unproven, risk="closed without proof that Clew saw")
        elif proof.state == UNPROVEN:
            waive(ctx, step, UNPROVEN, args.unproven)
    task, step, _ = close_step(ctx, task, step, CONFIRMED, override)
    proof = proof_state(ctx, step)
    set_own_focus(ctx, task.id)
    return _closed(ctx, task, step, proof)


def _open_step(ctx: Context, args: Close) -> tuple[Work, Step]:
    """The step that is meant, of the task that is named or the caller's own. Another's focus is never acted on."""
    # Not the focus of the workspace: another agent may have moved it a moment ago.
    named = args.task or own_focus(ctx)
    if named is None and args.step is not None and STEP.fullmatch(args.step.strip().upper()):
        found = find_step(ctx, args.step.strip().upper())
        named = found.task if found is not None else None
    if named is None:
        raise _no_task(ctx, args)
    task = work_by_id(ctx, named.strip().upper())
    if not task.is_task:
        raise invalid("task", f"{task.id} is a plan, and only steps of tasks close", "Name a task.", known_work(ctx))
    if args.step is None:
        step = first_open(ctx, task.id)
        if step is None:
            ways = [suggest("resume", "Shows where the work stands.", "high", task=task.id)]
            raise ClewError("CONFLICT", f"{task.id} has no open step", "Start another task.", suggestions=ways)
        return task, step
    try:
        return task, step_selector(ctx, task, step_name(args.step), "step")
    except ClewError as error:
        following = first_open(ctx, task.id)
        if error.code in ("UNKNOWN_ID", "INVALID_INPUT") and following is not None:
            given = args.model_dump(exclude_none=True, exclude={"workspace", "task", "step"})
            reason = f"Closes {following.path} {shorten(following.title, 60)}, the first open step."
            error.suggestions = [suggest("close", reason, "high", **given, task=task.id, step=following.path)]
        raise


def current_work(ctx: Context) -> Work | None:
    """What the caller works on, else what its client last worked on, else the focus of all, if it is not over.

    To be shown, never to be acted on: it may be another's.
    """
    last = last_state(ctx)
    for id in (own_focus(ctx), last.focus if last else None, ctx.ws.focus):
        found = find_work(ctx, id) if id else None
        if found is not None and found.status not in OVER:
            return found
    return None


def step_named(ctx: Context, given: str) -> str | None:
    """The id of the step that a path names, such as `s:1` of the caller's work or `TASK-001 s:1`; None for no path."""
    match = _STEP_OF.fullmatch(given.strip())
    if match is None:
        return None
    work = find_work(ctx, match[1].upper()) if match[1] else current_work(ctx) or only_task(ctx)
    steps = steps_of(ctx, work.id) if work is not None and work.is_task else []
    return next((step.id for step in steps if step.path == match[2].lower()), None)


def only_task(ctx: Context) -> Work | None:
    """The one task that is open, where there is only one."""
    left = open_tasks(ctx, 2)
    return left[0] if len(left) == 1 else None


def step_name(given: str) -> str:
    """`1`, `s1` and `S:1` are s:1."""
    plain = normal_id(given)
    bare = plain.lower().removeprefix("step").strip(" :-")
    number = bare.removeprefix("s").strip(" :")
    return f"s:{number}" if number.isdigit() and not STEP.fullmatch(plain.upper()) else plain


def _proof(ctx: Context, given: str | RunProof) -> CapturedProof:
    if isinstance(given, str):
        return CapturedProof(receipts(given), [], [], ["tests"])
    item: dict[str, Any] = {"command": given.command, "exit_code": given.exit_code}
    if given.output is not None:
        item["output"] = given.output
    if given.files:
        item |= {"covers": given.files, "files": ProjectFiles(ctx).digests(given.files)}
    return CapturedProof([], [item], [], ["tests"])


def _closed(ctx: Context, task: Work, step: Step, proof: Proof) -> dict[str, Any]:
    steps = steps_of(ctx, task.id)
    following = first_open(ctx, task.id)
    status = "done" if following is None else "open"
    if following is None:
        try:
            # In a savepoint: the step is closed even if the task as a whole may not be, for a stale proof of another
            # step, say.
            with attempt(ctx):
                set_status(ctx, task, "DONE")
        except ClewError as error:
            status = f"stays open: {error.message}"
    return {
        "task": task.id,
        "step": step.path,
        "closed": sum(item.completed for item in steps),
        "of": len(steps),
        "state": proof.state,
        "proof": proof.line(),
        "status": status,
        "next": _step_json(following) if following is not None else None,
    }


def _nothing_proves(step: Step) -> ClewError:
    run = f" -- {step.tests[0]}" if step.tests else " -- COMMAND"
    return ClewError(
        "PROOF_REQUIRED",
        f"nothing proves {step.path} {shorten(step.title, 60)}",
        f"In a shell: clew prove --step {step.id}{run}. Or proof={{command, exit_code}}, or unproven with a reason.",
        # A reason that nobody thought about must not be at hand: only what the step asks for is.
        suggestions=[suggest("open", "Shows what the step asks for.", "high", id=step.id)],
        details={"step_id": step.id, "path": step.path},
    )


def _no_task(ctx: Context, args: Close) -> ClewError:
    """Names the open tasks with the same call about each of them."""
    given = args.model_dump(exclude_none=True, exclude={"workspace", "task"})
    ways = [
        suggest("close", f"Closes a step of {work.id} {shorten(work.title, 60)}.", "high", **given, task=work.id)
        for work in open_tasks(ctx, 3)
    ]
    return ClewError(
        "INVALID_INPUT",
        "task: you have not started or named one on this connection",
        "Name the task; resume shows what is open.",
        [{"kind": "missing_required", "field": "task"}],
        ways or [suggest("resume", "Shows what is open.")],
    )
