"""`clew tasks`: prints plans, tasks and steps as a tree, with what the gate of each open step still asks for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.app import Clew
from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import has_colour, say, show_json, visible
from clew.faces.cli.root import call, opened, settings_of
from clew.registry.envelope import Answer

if TYPE_CHECKING:
    from rich.tree import Tree

Row = dict[str, Any]

PAGE = 200
STEPS = 1000
WIDE = 200
STATUS_STYLE = {"ACTIVE": "bold green", "DONE": "dim", "PARKED": "yellow", "CANCELED": "dim strike", "TODO": ""}


def register(app: typer.Typer) -> None:
    app.command()(tasks)


def tasks(
    ctx: typer.Context,
    target: Annotated[str | None, typer.Argument(help="Only this plan or task.")] = None,
    show_all: Annotated[bool, typer.Option("--all", help="What is parked or canceled as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tree as JSON.")] = False,
) -> None:
    """Show plans, tasks and steps as a tree, with what each open step still needs.

    Examples:

    - `clew tasks`
    - `clew tasks PLAN-001 --all`
    - `clew tasks --json`
    """
    with opened(settings_of(ctx)) as clew:
        found = gather(clew, target, show_all)
    if isinstance(found, Answer):
        raise typer.Exit(show_answer(found, as_json))
    if as_json:
        show_json(found)
    elif not found["plans"]:
        say("No plans yet. Start with: clew call tasks_macro_start task_title='...'")
    else:
        draw(found)


def gather(clew: Clew, target: str | None, show_all: bool) -> Row | Answer:
    """Plans with their tasks and steps, or the answer of the call that failed."""
    listed = listing(clew, {"include_all": show_all, **({"target": target} if target else {})})
    if isinstance(listed, Answer):
        return listed
    steps = {plan["id"]: steps_of(clew, plan["id"]) for plan in listed["plans"]}
    for plan in listed["plans"]:
        own = [task for task in listed["tasks"] if task["parent"] == plan["id"]]
        plan["tasks"] = [
            {**task, "steps": [step for step in steps[plan["id"]] if step["task"] == task["id"]]} for task in own
        ]
    focus = call(clew, "tasks_focus_get", {}).envelope["result"]["focus"]
    return {"workspace": clew.settings.workspace, "focus": focus, "plans": listed["plans"]}


def listing(clew: Clew, arguments: Row) -> Row | Answer:
    """All plans and tasks, read page by page; or the answer of the call that failed."""
    found: Row = {"plans": [], "tasks": []}
    cursors: Row = {"plans_cursor": 0, "tasks_cursor": 0}
    while True:
        asked = {**arguments, **cursors, "plans_limit": PAGE, "tasks_limit": PAGE, "max_chars": 1_000_000}
        answer = call(clew, "tasks_context", asked)
        if not answer.ok:
            return answer
        result = answer.envelope["result"]
        for name in found:
            found[name] += result[name]
            cursors[f"{name}_cursor"] += len(result[name])
        if not any(result[f"{name}_pagination"]["has_more"] for name in found):
            return found


def steps_of(clew: Clew, plan: str) -> list[Row]:
    answer = call(clew, "tasks_mirror", {"plan": plan, "limit": STEPS})
    steps: list[Row] = answer.envelope["result"].get("steps", [])
    return steps


def draw(found: Row) -> None:
    from rich.console import Console
    from rich.tree import Tree

    colour = has_colour(sys.stdout)
    # A pipe has no width; Rich would take 80 columns and break titles in the middle.
    console = Console(no_color=not colour, highlight=False, width=None if colour else WIDE)
    for plan in found["plans"]:
        tree = Tree(work_text(plan, plan["plan_progress"], found["focus"]))
        for task in plan["tasks"]:
            branch = tree.add(work_text(task, task["progress"], found["focus"]))
            add_steps(branch, task["steps"])
        console.print(tree)


def add_steps(branch: Tree, steps: list[Row]) -> None:
    """Add each step below the one its path names. Parents come before their children in the list."""
    places: dict[str, Tree] = {}
    for step in steps:
        above = step["path"].rpartition(".")[0]
        places[step["path"]] = places.get(above, branch).add(step_text(step))


def work_text(work: Row, progress: str, focus: str | None) -> Any:
    from rich.text import Text

    text = Text.assemble(
        (work["id"], "bold"), f" {visible(work['title'])}  ", (work["status"], STATUS_STYLE[work["status"]])
    )
    text.append(f" {progress}", "dim")
    if work["id"] == focus:
        text.append("  <- focus", "bold cyan")
    return text


def step_text(step: Row) -> Any:
    from rich.text import Text

    mark, style = ("x", "dim") if step["completed"] else ("!", "bold red") if step["blocked"] else (" ", "")
    text = Text.assemble((f"[{mark}] ", style), (f"{step['path']} {visible(step['title'])}", style))
    wants = [*step["missing"], *(f"proof of {name}" for name in step["missing_proof"])]
    if step["blocked"] and not step["completed"]:
        text.append(f"  blocked: {visible(step['block_reason'] or 'no reason given')}", "red")
    if wants and not step["completed"]:
        text.append(f"  needs {', '.join(wants)}", "yellow")
    return text
