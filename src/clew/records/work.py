"""start: a task with its steps in one call.

It moves the caller's own focus only. The focus of the workspace belongs to the operations of the seeds
and is not changed.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import TASK
from clew.kinds import statuses
from clew.records.focus import proving
from clew.registry.callers import own_focus, set_own_focus
from clew.registry.context import Context
from clew.registry.operation import Input, Name, StrictModel, View, operation
from clew.tasks.changes import StepSpec, add_steps
from clew.tasks.creation import Home, NewTask, bootstrap
from clew.tasks.endings import set_status
from clew.tasks.macros import inbox
from clew.tasks.plans import Work, find_work, plan_titled, work_by_id
from clew.tasks.steps import Step
from clew.tasks.texts import Heading, Lines, heading, lines, read_step

MOST_STEPS = 200
SHOWN_STEPS = 8


class StepWish(StrictModel):
    """A step as an agent writes it down."""

    title: Annotated[Heading, Field(description="What is done in this step.")]
    criteria: Annotated[Lines, Field(description="How one sees that it is done.")] = []
    tests: Annotated[Lines, Field(description="Commands that prove it.")] = []


def step_wish(given: Any) -> Any:
    """A step in the fields of tasks_decompose, which may have no criterion here."""
    read = read_step(given)
    if not isinstance(read, dict):
        return read
    return {"criteria" if key == "success_criteria" else key: value for key, value in read.items()}


def step_list(given: Any) -> Any:
    """Converts steps keyed by numbers or names, as some models send them, to a list; a single step
    becomes a list of one."""
    if isinstance(given, dict) and not {"title", "name", "step"} & set(given):
        return list(given.values())
    return given


StepList = Annotated[
    list[Annotated[StepWish, BeforeValidator(step_wish)]],
    Field(
        max_length=MOST_STEPS,
        description="In order: texts such as 'parser; reads quotes; test: pytest -q', or {title, criteria, tests}.",
        json_schema_extra={"items": {"type": ["string", "object"]}},
    ),
    BeforeValidator(step_list),
]


class Start(Input):
    synonyms: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("task_title", "task", "name", "goal", "objective"), "title"),
        **dict.fromkeys(("todo", "todos", "tasks", "items", "checklist", "subtasks"), "steps"),
    }

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
        again = " opened again" if result.get("again") else ""
        head = f"{result['task']}{again}: {len(steps)} step{'s' * (len(steps) != 1)} added"
        return [head, shorten(" | ".join(shown), 200)]
    first = steps[0]
    run = f"; in a shell: {proving(result['task'], first['tests'][0])}" if first["tests"] else ""
    return [
        f"{result['task']} started ({result['plan']}{mode})",
        shorten(" | ".join(shown), 110) + more,
        f"next: {first['path']} {shorten(first['title'], 40)}{run}; then close step={first['path']}",
    ]


@operation(
    "start",
    writes=True,
    example={"title": "Parse .env files", "steps": ["parser; test: pytest -q", "docs"]},
    view=View(in_lines=True, lines=start_lines),
)
def start(ctx: Context, args: Start) -> dict[str, Any]:
    """Start a task with its steps; it becomes your focus. Without steps it has one: the task itself."""
    # Agents that want more steps call start again with the id; without this it would become the title
    # of a new task.
    known = find_work(ctx, args.title.strip().upper()) if TASK.fullmatch(args.title.strip().upper()) else None
    if known is not None:
        return _more_steps(ctx, known, args)
    task = NewTask(task_title=heading(args.title), reasoning_mode="strict" if args.strict else "normal")
    wanted = [_spec(step) for step in args.steps or [StepWish(title=args.title)]]
    done = bootstrap(ctx, task, _home(ctx, args.plan), wanted)
    set_own_focus(ctx, done.task.id)
    return {
        "task": done.task.id,
        "title": done.task.title,
        "plan": done.plan.id,
        "strict": args.strict,
        "steps": [step_json(step) for step in done.steps],
    }


def _more_steps(ctx: Context, task: Work, args: Start) -> dict[str, Any]:
    """Append steps to an existing task."""
    if task.status == statuses.WORK_CANCELED:
        raise _called_off(task, args)
    again = task.status == statuses.WORK_DONE
    if not args.steps:
        ways = [suggest("resume", "Shows where it stands.", "high", task=task.id)]
        now = "is done already" if again else "is there already"
        more = "Give the steps to add; they open it again." if again else "Give the steps to add to it."
        raise invalid("steps", f"{task.id} {now}", more, ways)
    if again:
        # Adding steps to a task by its id implies that it goes on.
        task, _ = set_status(ctx, task, statuses.WORK_ACTIVE)
    task, steps, _ = add_steps(ctx, task, None, [_spec(step) for step in args.steps])
    set_own_focus(ctx, task.id)
    return {
        "task": task.id,
        "title": task.title,
        "plan": task.parent,
        "strict": task.reasoning_mode == "strict",
        "steps": [step_json(step) for step in steps],
        "added": True,
        "again": again,
    }


def _called_off(task: Work, args: Start) -> ClewError:
    given = args.model_dump(exclude_defaults=True, exclude={"workspace", "title"})
    return ClewError(
        "CONFLICT",
        f"{task.id} {shorten(task.title, 60)} was canceled",
        f"Start a task of its own for what is to be done now; open id={task.id} shows why it was canceled.",
        [{"kind": "state", "field": "title"}],
        [suggest("start", "Starts a new task of the same title.", "high", **given, title=task.title)],
    )


def _spec(step: StepWish) -> StepSpec:
    title = heading(step.title, "steps.title")
    # A step needs a criterion; the default is that its title is done.
    return StepSpec(title, lines(step.criteria) or (title,), lines(step.tests))


def step_json(step: Step) -> dict[str, Any]:
    return {"path": step.path, "title": step.title, "tests": list(step.tests)}


def _home(ctx: Context, named: str | None) -> Home:
    """The plan with this id or title, else the plan of the caller's own work, else Inbox."""
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
