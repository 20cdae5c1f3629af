"""`clew tasks`: prints plans, tasks and steps as a tree, with what the gate of each open step still asks for. `clew
next`: prints the next action of the plan or task in focus, as a command that can be pasted. `clew handoff`: prints a
report in Markdown for the person or agent that takes over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.app import Clew
from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import describe_warnings, has_colour, say, show_json, suggested_command, visible
from clew.faces.cli.root import call, opened, settings_of
from clew.faces.cli.takeover import STARTS, command_of, start
from clew.registry.envelope import Answer

if TYPE_CHECKING:
    from rich.tree import Tree

Row = dict[str, Any]

# The most that tasks_context and tasks_mirror accept.
PAGE = 200
STEPS = 1000
WIDE = 200
STATUS_STYLE = {"ACTIVE": "bold green", "DONE": "dim", "PARKED": "yellow", "CANCELED": "dim strike", "TODO": ""}


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
    for plan in listed["plans"]:
        own = [task for task in listed["tasks"] if task["parent"] == plan["id"]]
        plan["tasks"] = [with_own_steps(task, mirror(clew, task["id"])) for task in own]
    focus = call(clew, "tasks_focus_get", {}).envelope["result"]["focus"]
    return {"workspace": clew.settings.workspace, "focus": focus, "plans": listed["plans"]}


def listing(clew: Clew, arguments: Row) -> Row | Answer:
    """All plans and tasks, read page by page; or the answer of the call that failed."""
    found: Row = {"plans": [], "tasks": []}
    cursors: Row = {"plans_cursor": 0, "tasks_cursor": 0}
    while True:
        # One call pages both lists; the one that is at its end gives empty pages meanwhile.
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


def with_own_steps(task: Row, found: Row) -> Row:
    steps = [{"task": task["id"], **step} for step in found["steps"]]
    more = found["total"] - len(steps)
    return {**task, "steps": steps, **({"more_steps": more} if more else {})}


def mirror(clew: Clew, task: str) -> Row:
    found: Row = call(clew, "tasks_mirror", {"task": task, "limit": STEPS}).envelope["result"]
    return found


def draw(found: Row) -> None:
    from rich.console import Console
    from rich.tree import Tree

    colour = has_colour(sys.stdout)
    # A pipe has no width; Rich would take 80 columns and break titles in the middle.
    console = Console(no_color=not colour, highlight=False, width=None if colour else WIDE)
    for plan in found["plans"]:
        tree = Tree(work_text(plan, plan["plan_progress"], found["focus"]))
        for task in plan["tasks"]:
            done = f"{task['steps_completed']}/{task['steps_count']}"
            branch = tree.add(work_text(task, done, found["focus"]))
            add_steps(branch, task["steps"])
            if task.get("more_steps"):
                branch.add(f"and {task['more_steps']} more steps")
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
        reason = visible(step["block_reason"] or "no reason given")
        canceled = reason.startswith("canceled: ")
        text.append(f"  {reason}" if canceled else f"  blocked: {reason}", "dim" if canceled else "red")
    if wants and not step["completed"]:
        text.append(f"  needs {', '.join(wants)}", "yellow")
    return text


def next_command(
    ctx: typer.Context,
    target: Annotated[str | None, typer.Argument(help="Plan or task; default: the focus.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print target, radar, ref and action as JSON.")] = False,
) -> None:
    """Say what is next for the plan or task in focus, with the command that does it. Changes nothing.

    Examples:

    - `clew next`
    - `clew next TASK-001 --json`
    """
    arguments = {"read_only": True, **({"target": target} if target else {})}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "tasks_snapshot", arguments)
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    capsule = answer.envelope["result"]["capsule"]
    chosen = capsule["map_action"] if capsule["map_first"] else capsule["action"]
    if as_json:
        show_json({**{name: capsule[name] for name in ("target", "radar", "refs")}, "action": chosen})
        return
    describe(capsule, chosen)
    describe_warnings(answer.envelope["warnings"])


def describe(capsule: dict[str, Any], chosen: dict[str, Any] | None) -> None:
    target, radar = capsule["target"], capsule["radar"]
    say(f"{target['id']} {target['title']}", "bold")
    say(f"now   {radar['now']}")
    for line in radar["blockers"]:
        say(f"stuck {line}", "red")
    if chosen is None:
        say("next  nothing; it is done", "green")
        return
    say(f"next  {chosen['purpose']}")
    say(suggested_command({"target": chosen["tool"], "params": chosen["args"]}), "cyan")


def handoff(
    ctx: typer.Context,
    target: Annotated[str | None, typer.Argument(help="Plan or task; default: the focus.")] = None,
    to: Annotated[
        str | None, typer.Option(help=f"Start this client with it: {', '.join(STARTS)}.", metavar="CLIENT")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Print a handoff in Markdown: where the work stands, what is done, what remains, what may go wrong.

    With `--to` another client is started with it as its first prompt; without a terminal that command is printed.

    Examples:

    - `clew handoff TASK-001`
    - `clew handoff > handoff.md`
    - `clew handoff --to codex`
    """
    if to is not None:
        command_of(to, "")  # an unknown name is refused before anything is read
    named = {"target": target} if target else {}
    with opened(settings_of(ctx)) as clew:
        report = call(clew, "tasks_handoff", {**named, "max_chars": 1_000_000})
        if not report.ok:
            raise typer.Exit(show_answer(report, as_json))
        known = call(clew, "tasks_resume_pack", {**named, "read_only": True, "max_chars": 1_000_000})
    result = {**report.envelope["result"], "signals": known.envelope["result"].get("signals", {})}
    if as_json:
        show_json({name: result[name] for name in ("target", "handoff", "radar", "signals")})
        return
    if to is not None:
        raise typer.Exit(start(to, list(markdown(result))))
    for line in markdown(result):
        say(line)


def markdown(result: dict[str, Any]) -> Iterator[str]:
    target, radar, parts, signals = (result[name] for name in ("target", "radar", "handoff", "signals"))
    yield f"# {target['id']}: {plain(target['title'])}"
    yield ""
    yield f"Status {target['status']}, revision {target['revision']}. Now: {plain(radar['now'])}."
    if target.get("description"):
        yield from ("", *(f"> {line}".rstrip() for line in target["description"].splitlines()))
    yield from section("Done", parts["done"])
    yield from section("Remaining", parts["remaining"])
    yield from section("Risks", parts["risks"])
    yield from section("Blockers", radar["blockers"])
    yield from section("To verify", radar["verify"])
    yield from section("Next", radar["next"])
    yield from section("Decisions", map(named, signals.get("decisions", [])))
    yield from section("Evidence", map(named, signals.get("evidence", [])))


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A heading with its list; nothing if the list is empty."""
    listed = list(lines)
    if listed:
        yield from ("", f"## {title}", "", *(f"- {plain(line)}" for line in listed))


def named(item: dict[str, Any]) -> str:
    doubt = f" (suspect: {item['suspect']['because']})" if "suspect" in item else ""
    return f"{item['id']} {item['label']} [{item['status']}]{doubt}"


def plain(text: str) -> str:
    return " ".join(text.split())


COMMANDS = {"tasks": tasks, "next": next_command, "handoff": handoff}
