"""`clew sync-instructions`: rules and decisions in a managed block of AGENTS.md or CLAUDE.md."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import say
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.command("sync-instructions")(sync_instructions)


def sync_instructions(
    ctx: typer.Context,
    file: Annotated[
        str | None, typer.Option(help="AGENTS.md, CLAUDE.md, GEMINI.md or .github/copilot-instructions.md.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the block out of the file.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Write the rules and decisions in force into a block of AGENTS.md or CLAUDE.md, for clients without hooks.

    What somebody changed inside of the block is proposed and waits in the Inbox; the rest of the file is not touched.

    Examples:

    - `clew sync-instructions`
    - `clew sync-instructions --file CLAUDE.md --dry-run`
    - `clew sync-instructions --remove`
    """
    given = {"file": file, "remove": remove, "dry_run": dry_run}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "sync_instructions", {name: value for name, value in given.items() if value is not None})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    for edit in result["edits"]:
        say(f"{edit['what']} by hand: {edit['id']} {edit['text']}".replace("  ", " "))
    if result["proposed"]:
        say(f"{len(result['proposed'])} edits are proposed: clew review", "bold")
    verb = "would be " if result["dry_run"] else ""
    state = f"{verb}written" if result["changed"] else "is up to date"
    more = f"; {result['left_out']} more found no room" if result["left_out"] else ""
    say(f"{result['file']} {state}: {result['records']} records{more}")
