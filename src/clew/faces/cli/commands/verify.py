"""`clew verify`: checks the digest chains of receipts and events for later changes."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.main import Exit
from clew.faces.cli.output import say, show_json
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(verify)


def verify(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False
) -> None:
    """Check the chains of receipts and events of the workspace, and name the first break.

    Each receipt and each event holds the digest of the one before it. Exit code 1: something was changed, removed or
    slipped in.

    Examples:

    - `clew verify`
    - `clew --workspace acme/api verify --json`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "tasks_chain_verify", {})
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    found = answer.envelope["result"]
    if as_json:
        show_json(found)
    else:
        for item in found["breaks"]:
            say(f"BROKEN {item['where']} {item['problem']}")
        if found["intact"]:
            say(f"intact: {found['receipts']} receipts, {found['events']} events; head {found['heads']['events']}")
    raise typer.Exit(Exit.OK if found["intact"] else Exit.REFUSED)
