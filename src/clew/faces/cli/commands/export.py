"""`clew export`: writes thought sessions or governed memory as files that other programs read."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.commands.import_ import report_row
from clew.faces.cli.commands.session import complete_id
from clew.faces.cli.output import progress_line, say, show_table
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.callback()(group)
    app.command("thoughtbox")(thoughtbox)
    app.command("memory")(memory)


def group() -> None:
    """Write the workspace for other programs."""


def thoughtbox(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="Directory to write to.", metavar="DIR")],
    session: Annotated[list[str] | None, typer.Option(help="Only this session; may be given again.")] = None,
    project: Annotated[str, typer.Option(help="Project directory inside DIR.")] = "_default",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Write thought sessions as a Thoughtbox directory and check every file of it.

    Examples:

    - `clew export thoughtbox ~/thoughtbox-copy`
    - `clew export thoughtbox ./out --session 017020a3 --project acme`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        keys = [complete_id(clew, key) for key in session or []]
        arguments = {"path": path, "project": project, "sessionIds": keys}
        answer = call(clew, "export_thoughtbox", arguments, progress)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    show_table(
        ("session", "thoughts", "files", "place"),
        [(key, thoughts, state, place) for key, thoughts, _, state, place in map(report_row, result["reports"])],
    )
    state = "complete" if result["valid"] else "damaged"
    say(f"{result['sessions']} sessions, {result['thoughts']} thoughts, files {state}")


def memory(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="File to write.", metavar="FILE")] = "memory.tar.gz",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Write governed memory into one file, with every version: a backup, or a copy for another machine.

    Example: `clew export memory ~/backup/memory.tar.gz`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "export_memory", {"path": path})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(f"{result['files']} files, {result['bytes']} bytes in {result['path']}")
