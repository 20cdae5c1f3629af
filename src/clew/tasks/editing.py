"""Editing what a plan or task says about itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import invalid, suggest
from clew.ids import PLAN, TASK, normal_tags
from clew.registry.context import Context
from clew.registry.operation import Meta, Name, Names, operation
from clew.tasks.changes import change_work
from clew.tasks.journal import Change
from clew.tasks.plans import Work, check_revision, find_work, work_by_id
from clew.tasks.targets import OfWork, Revised, target_work
from clew.tasks.wording import Heading, Prose, heading, prose

ReasoningMode = Literal["normal", "deep", "strict"]

PLAN_ONLY = ("contract", "contract_data")
TASK_ONLY = ("domain", "phase", "component", "assignee", "reasoning_mode")


class Edit(OfWork, Revised):
    title: Heading | None = None
    description: Prose | None = None
    context: Prose | None = None
    priority: Annotated[Name | None, Field(description="Such as LOW, MEDIUM or HIGH.")] = None
    tags: Names | None = None
    depends_on: Annotated[Names | None, Field(description="Ids of plans and tasks that come first.")] = None
    new_domain: Annotated[Name | None, Field(description="Tasks only: the area of work.")] = None
    reasoning_mode: Annotated[ReasoningMode | None, Field(description="Tasks only: strict guards closing.")] = None
    contract: Annotated[Prose | None, Field(description="Plans only.")] = None
    contract_data: Meta | None = None


@operation("tasks_edit", writes=True, intent="edit", example={"task": "TASK-001", "title": "Read every file"})
def tasks_edit(ctx: Context, args: Edit) -> dict[str, Any]:
    """Change title, description, context, priority, tags, dependencies or mode of a plan or task."""
    work = target_work(ctx, args)
    check_revision(work, args.expected_revision)
    given = {name: getattr(args, name) for name in _ARGUMENTS if getattr(args, name) is not None}
    if not given:
        raise invalid("title", "nothing to edit", "Give at least one field to change.")
    fields = {_FIELD.get(name, name): value for name, value in given.items()}
    new = edited(ctx, work, fields)
    change = Change(f"{work.kind}_edited", f"{work.kind}_edit", {"task": work.id, "fields": sorted(fields)})
    work, event = change_work(ctx, work, new, change)
    return {"id": work.id, "kind": work.kind, "revision": work.revision, "event": event}


_ARGUMENTS = (
    "title",
    "description",
    "context",
    "priority",
    "tags",
    "depends_on",
    "new_domain",
    "reasoning_mode",
    "contract",
    "contract_data",
)
_FIELD = {"new_domain": "domain"}


def edited(ctx: Context, work: Work, fields: dict[str, Any]) -> Work:
    """The work with other fields, each checked; used by edit and patch alike."""
    for name in fields:
        check_belongs(work, name)
    values = {name: _checked(ctx, work, name, value) for name, value in fields.items()}
    new = replace(work, **values)
    if (new.contract, new.contract_data) != (work.contract, work.contract_data):
        new = replace(new, contract_versions=work.contract_versions + 1)
    return new


def check_belongs(work: Work, field: str) -> None:
    """Some fields exist on plans only, some on tasks only."""
    if (field in PLAN_ONLY and work.is_task) or (field in TASK_ONLY and not work.is_task):
        other = "plan" if work.is_task else "task"
        raise invalid(field, f"{work.id} is a {work.kind}; only a {other} has it", f"Leave {field} out.")


def _checked(ctx: Context, work: Work, name: str, value: Any) -> Any:
    if name == "title":
        return heading(value)
    if name == "tags":
        return tuple(normal_tags(list(value)))
    if name == "depends_on":
        return check_dependencies(ctx, work, value)
    return prose(value) if isinstance(value, str) else value


def check_dependencies(ctx: Context, work: Work, ids: Iterable[str]) -> tuple[str, ...]:
    """Existing ids, in the order given, that do not lead back to the work itself."""
    wanted = tuple(dict.fromkeys(id.strip() for id in ids if id.strip()))
    for id in wanted:
        if not (PLAN.fullmatch(id) or TASK.fullmatch(id)):
            raise invalid("depends_on", f"{id[:60]!r} is not a plan or task id", "Use ids such as TASK-002.")
        if work.id in _reachable(ctx, work_by_id(ctx, id)):
            raise invalid(
                "depends_on",
                f"{id} rests on {work.id} already",
                "Leave it out: a circle of dependencies never ends.",
                [suggest("tasks_context", "Shows the tasks.")],
            )
    return wanted


def _reachable(ctx: Context, start: Work) -> set[str]:
    seen, waiting = {start.id}, list(start.depends_on)
    while waiting:
        id = waiting.pop()
        if id not in seen:
            seen.add(id)
            found = find_work(ctx, id)
            waiting += found.depends_on if found else ()
    return seen
