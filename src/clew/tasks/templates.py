"""Built-in templates: checklists for plans, steps for tasks."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from clew.canonical import Json, picked
from clew.errors import suggest, unknown_id
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.tasks.changes import StepSpec


@dataclass(frozen=True, slots=True)
class Template:
    id: str
    kind: str
    title: str
    description: str
    checklist: tuple[str, ...] = ()
    steps: tuple[StepSpec, ...] = ()


@cache
def templates() -> tuple[Template, ...]:
    source = files("clew.tasks").joinpath("templates.toml").read_text(encoding="utf-8")
    return tuple(_template(**given) for given in tomllib.loads(source)["template"])


def _template(checklist: Sequence[str] = (), steps: Sequence[Json] = (), **head: str) -> Template:
    return Template(checklist=tuple(checklist), steps=tuple(_step(**step) for step in steps), **head)


def _step(success_criteria: list[str], tests: list[str], **rest: Any) -> StepSpec:
    return StepSpec(success_criteria=tuple(success_criteria), tests=tuple(tests), **rest)


@operation("tasks_templates_list")
def tasks_templates_list(ctx: Context, args: Input) -> Json:
    """List the built-in templates for plans and tasks."""
    return {"workspace": ctx.workspace, "templates": [template_json(template) for template in templates()]}


def template_json(template: Template) -> Json:
    shared = picked(template, "id", "kind", "title", "description")
    if template.kind == "plan":
        return {**shared, "plan_steps": list(template.checklist)}
    names = ("title", "success_criteria", "tests", "proof_tests_mode")
    return {**shared, "steps": [picked(spec, *names) for spec in template.steps]}


def template_by_id(id: str, kind: str, field: str = "template") -> Template:
    """The built-in template of this kind."""
    known = {template.id: template for template in templates() if template.kind == kind}
    found = known.get(id.strip().lower())
    if found is not None:
        return found
    names = ", ".join(known)
    ways = [suggest("tasks_templates_list", "Shows the templates.")]
    raise unknown_id(f"{kind} template", id, f"Use one of {names} as {field}.", ways)
