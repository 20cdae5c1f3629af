"""Which task and step a caller means, and the command that proves a step.

Separate from `start`, so that a reader does not import everything that writes a task.
"""

from __future__ import annotations

import re

from clew.ids import STEP, STEP_PATH, TASK, normal_id
from clew.registry.callers import last_state, own_focus
from clew.registry.context import Context
from clew.surroundings import clew_command
from clew.tasks.commands import named_commands
from clew.tasks.plans import Work, find_work, open_tasks
from clew.tasks.steps import Step, steps_of

LONGEST_RUN = 300
"""A test command longer than this is not repeated in every response; `open` shows it."""
_STEP_OF = re.compile(rf"(?:({TASK.pattern})[\s/:.]*)?({STEP_PATH.pattern})", re.IGNORECASE)


def proving(task: str, test: str) -> str:
    """The shell command that proves the first open step of a task."""
    # Never truncated, because it is pasted: a truncated command runs something else.
    named = named_commands([test])
    run = named[0] if named else test
    return clew_command(f"prove --task {task} -- {run if len(run) <= LONGEST_RUN else 'COMMAND'}")


def open_focus(ctx: Context) -> str | None:
    """The caller's own focus while it is open; a canceled or done task is not a focus."""
    focus = own_focus(ctx)
    found = find_work(ctx, focus) if focus else None
    return found.id if found is not None and found.is_open else None


def current_work(ctx: Context) -> Work | None:
    """The caller's current work, else what its client last worked on, else the workspace focus, if it is not over.

    For display only, never to act on: it may be another caller's.
    """
    last = last_state(ctx)
    for id in (own_focus(ctx), last.focus if last else None, ctx.ws.focus):
        found = find_work(ctx, id) if id else None
        if found is not None and found.is_open:
            return found
    return None


def step_named(ctx: Context, given: str) -> str | None:
    """The id of the step that a path names, such as `s:1` of the caller's work or `TASK-001 s:1`; None
    if it is not a path."""
    match = _STEP_OF.fullmatch(given.strip())
    if match is None:
        return None
    work = find_work(ctx, match[1].upper()) if match[1] else current_work(ctx) or only_task(ctx)
    steps = steps_of(ctx, work.id) if work is not None and work.is_task else []
    return next((step.id for step in steps if step.path == match[2].lower()), None)


def task_and_step(given: str) -> tuple[str | None, str]:
    """The task and the path of `TASK-001 s:1`; no task if only a step is named."""
    match = _STEP_OF.fullmatch(given.strip())
    return (match[1].upper(), match[2].lower()) if match is not None and match[1] else (None, given)


def only_task(ctx: Context) -> Work | None:
    """The open task, if there is only one."""
    left = open_tasks(ctx, 2)
    return left[0] if len(left) == 1 else None


def step_titled(ctx: Context, task: Work, given: str) -> Step | None:
    """The one step of a task that has this title."""
    plain = given.strip().casefold()
    found = [step for step in steps_of(ctx, task.id) if step.title.casefold() == plain]
    return found[0] if len(found) == 1 else None


def step_name(given: str) -> str:
    """Normalizes `1`, `s1` and `S:1` to s:1."""
    plain = normal_id(given)
    bare = plain.lower().removeprefix("step").strip(" :-")
    number = bare.removeprefix("s").strip(" :")
    return f"s:{number}" if number.isdigit() and not STEP.fullmatch(plain.upper()) else plain
