"""`clew next`: prints the next action of the plan or task in focus, as a command that can be pasted."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import describe_warnings, say, show_json, suggested_command
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.command("next")(next_command)


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
