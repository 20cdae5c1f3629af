"""`clew sessions`: the thought sessions of a workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import describe_warnings, say, show_table
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(sessions)


def sessions(
    ctx: typer.Context,
    search: Annotated[str | None, typer.Argument(help="Words of a thought, a title or a tag.", metavar="WORDS")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only sessions with this tag; may be given again.")] = None,
    limit: Annotated[int, typer.Option(help="Most sessions to list.", min=1, max=100)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """List thought sessions, the last changed first, or find them by what was thought.

    Examples:

    - `clew sessions`
    - `clew sessions autovacuum`
    - `clew sessions --tag project:acme --limit 5`
    """
    with opened(settings_of(ctx)) as clew:
        if search:
            answer = call(clew, "session_search", {"query": search, "limit": limit})
        else:
            answer = call(clew, "session_list", {"tags": tag or [], "limit": limit})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    found = answer.envelope["result"]["sessions"]
    if tag and search:
        found = [item for item in found if set(tag) <= set(item["tags"])]
    if not found:
        say("No sessions.")
    rows = [
        (item["id"], str(item["thoughtCount"]), item["status"], item["updatedAt"][:16], item["title"]) for item in found
    ]
    show_table(("session", "thoughts", "status", "changed", "title"), rows)
    describe_warnings(answer.envelope["warnings"])
