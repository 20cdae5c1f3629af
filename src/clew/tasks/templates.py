"""Built-in templates: checklists for plans, steps for tasks."""

from __future__ import annotations

from dataclasses import dataclass

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


# Ids, numbers of lines and the one step that requires proof are those of BranchMind's contract.
TEMPLATES = (
    Template(
        "basic-plan",
        "plan",
        "Basic plan",
        "Three lines for work that is small and clear.",
        checklist=(
            "Agree on the goal and on what must not change",
            "Build it",
            "Verify it and write down what was learnt",
        ),
    ),
    Template(
        "principal-plan",
        "plan",
        "Principal plan",
        "Nine lines for work that others will rest on.",
        checklist=(
            "State the goal, the scope and what is left out",
            "Name constraints, people concerned and risks",
            "Say how success is measured",
            "Compare alternatives and settle the architecture",
            "Cut milestones, from the smallest useful one",
            "Build in slices, each verified before the next",
            "Verify the whole: tests, safety, documents, performance",
            "Roll out with monitoring and a way back",
            "Look back after shipping and keep the lessons",
        ),
    ),
    Template(
        "basic-task",
        "task",
        "Basic task",
        "Clarify, implement, verify.",
        steps=(
            StepSpec(
                "Clarify goal and constraints",
                ("The goal fits in one sentence", "What must not change is listed"),
                ("Someone else can repeat the goal from the notes",),
            ),
            StepSpec(
                "Implement change",
                ("The change does what the goal says", "Nothing outside the goal is touched"),
                ("The tests that cover the change pass",),
            ),
            StepSpec(
                "Verify and document",
                ("The whole test suite passes", "What a user must know is written down"),
                ("A run of the suite is recorded as proof",),
            ),
        ),
    ),
    Template(
        "principal-task",
        "task",
        "Principal task",
        "Frame, design, implement, prove, hand over. One step asks for proof.",
        steps=(
            StepSpec(
                "Frame the problem",
                ("The problem, its limits and its stakes are written down", "What would show it solved is named"),
                ("The frame names at least one thing that would refute it",),
            ),
            StepSpec(
                "Design the approach",
                ("At least two approaches were weighed", "The choice and its reason are a decision card"),
                ("The strongest objection to the choice has an answer",),
            ),
            StepSpec(
                "Implement incrementally",
                ("Each slice works on its own", "Every slice was verified before the next"),
                ("The tests of each slice pass",),
            ),
            StepSpec(
                "Verify with proofs",
                ("The claims of the frame are checked one by one", "Each check can be run again by others"),
                ("Commands and their outcome are captured as proof",),
                proof_tests_mode="require",
            ),
            StepSpec(
                "Roll out and hand over",
                ("The way back was tried", "Whoever takes over knows what to watch"),
                ("The handoff reads well to someone new",),
            ),
        ),
    ),
)


@operation("tasks_templates_list")
def tasks_templates_list(ctx: Context, args: Input) -> Json:
    """List the built-in templates for plans and tasks."""
    return {"workspace": ctx.workspace, "templates": [template_json(template) for template in TEMPLATES]}


def template_json(template: Template) -> Json:
    shared = picked(template, "id", "kind", "title", "description")
    if template.kind == "plan":
        return {**shared, "plan_steps": list(template.checklist)}
    names = ("title", "success_criteria", "tests", "proof_tests_mode")
    return {**shared, "steps": [picked(spec, *names) for spec in template.steps]}


def template_by_id(id: str, kind: str, field: str = "template") -> Template:
    """The built-in template of this kind."""
    known = {template.id: template for template in TEMPLATES if template.kind == kind}
    found = known.get(id.strip().lower())
    if found is not None:
        return found
    names = ", ".join(known)
    ways = [suggest("tasks_templates_list", "Shows the templates.")]
    raise unknown_id(f"{kind} template", id, f"Use one of {names} as {field}.", ways)
