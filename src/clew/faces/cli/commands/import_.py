"""`clew import`: data of other programs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.opening import call, opened, settings_of
from clew.faces.cli.output import describe_warnings, progress_line, say, show_table


def register(app: typer.Typer) -> None:
    app.callback()(group)
    app.command("thoughtbox")(thoughtbox)


def group() -> None:
    """Read data of other programs into the workspace."""


def thoughtbox(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="Thoughtbox directory.", metavar="DIR")] = "~/.thoughtbox",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be imported.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Import the sessions of a Thoughtbox directory; running it again adds only what is new.

    Examples:

    - `clew import thoughtbox`
    - `clew import thoughtbox ~/backup/dot-thoughtbox --dry-run`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        answer = call(clew, "import_thoughtbox", {"path": path, "dryRun": dry_run}, progress)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    show_table(("session", "thoughts", "added", "files", "place"), [report_row(report) for report in result["reports"]])
    say(
        f"{result['sessions']} sessions, {result['thoughts']} thoughts: {result['added']} added,"
        f" {result['already']} already there"
    )
    for memory in result["patterns"]:
        say(f"{memory['entities']} entities as patterns, {memory['dropped']} ghosts dropped")
    for problem in result["problems"]:
        say(f"  {problem}", "yellow")
    describe_warnings(answer.envelope["warnings"])


def report_row(report: dict[str, Any]) -> tuple[str, ...]:
    integrity = report["integrity"]
    state = "-" if integrity is None else "complete" if integrity["valid"] else "damaged"
    return report["sessionId"], str(report["thoughts"]), str(report.get("added", "")), state, report["place"]
