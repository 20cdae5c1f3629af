"""`clew workspaces`: lists the workspaces of this data directory."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import say, show_table
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(workspaces)


def workspaces(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(help="Most workspaces to list.", min=1, max=1000)] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """List the workspaces that hold something, the last changed first; `*` marks the one of this directory.

    Examples:

    - `clew workspaces`
    - `clew --workspace acme/api resume` shows another one
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "workspace_list", {"limit": limit})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    found = answer.envelope["result"]
    if not found["workspaces"]:
        say("No workspace holds anything yet.")
        return
    rows = [
        ("*" if row["current"] else "", row["workspace"], str(row["events"]), row["changed"][:16])
        for row in found["workspaces"]
    ]
    show_table(("", "workspace", "events", "changed"), rows)
    left = found["count"] - len(rows)
    if left:
        say(f"and {left} more")
