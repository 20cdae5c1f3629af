"""tasks_macro_create_done: work that is done already, on record with its one step."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.scope import Target
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.tasks.bootstrap import NewTask, bootstrapped_json
from clew.tasks.completion import set_status
from clew.tasks.macros.start import start_task
from clew.tasks.overview import rows_json
from clew.tasks.steps import step_ref
from clew.tasks.stepwork import checkpoint_values, close_step
from clew.tasks.wording import Heading, Prose, StepInput


class MacroCreateDone(Input):
    task_title: Annotated[Heading, Field(description="What was done.")]
    steps: Annotated[list[StepInput], Field(min_length=1, max_length=1, description="The one step that was done.")]
    description: Prose | None = None
    plan: Annotated[Name | None, Field(description="Plan id, or the title of a new plan.")] = None
    parent: Annotated[Name | None, Field(description="Same as plan.")] = None
    target: Target = None
    plan_title: Annotated[Heading | None, Field(description="Title of a plan to create.")] = None
    agent_id: Name | None = None


@operation(
    "tasks_macro_create_done",
    writes=True,
    example={"task_title": "Fix the typo", "steps": [{"title": "Fix it", "success_criteria": ["It reads well"]}]},
)
def tasks_macro_create_done(ctx: Context, args: MacroCreateDone) -> dict[str, Any]:
    """Record work that is done already: create a task with one step, close the step and complete the task."""
    done = start_task(ctx, NewTask(**args.model_dump(exclude={"steps"}, exclude_none=True), steps=args.steps))
    task, step, events = close_step(ctx, done.task, done.steps[0], checkpoint_values("gate"))
    closed = {"task": task.id, "revision": task.revision, "step": step_ref(step), "events": events}
    task, completed = set_status(ctx, task, "DONE")
    return {
        "workspace": ctx.workspace,
        "bootstrap": bootstrapped_json(ctx, done),
        "close": closed,
        "complete": {"task": rows_json(ctx, [task])[0], "event": completed},
    }
