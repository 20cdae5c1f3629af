"""`clew guards`: lists and proposes the checks of rules; a person approves one, revokes it or lets it pass."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import say, show_json
from clew.faces.cli.person import call_as_person, confirm
from clew.faces.cli.root import call, opened, settings_of

AS_JSON = typer.Option("--json", help="Answer in JSON.")
RULE = typer.Argument(help="Rule or decision, such as R-3.", metavar="ID")
Row = dict[str, Any]


def register(app: typer.Typer) -> None:
    app.callback()(guards)
    for command in (show, propose, approve, revoke, override):
        app.command()(command)


def guards() -> None:
    """Checks of rules and decisions that are matched before an agent edits a file or runs a command.

    Example: `clew guards show`
    """


def show(ctx: typer.Context, as_json: Annotated[bool, AS_JSON] = False) -> None:
    """List the checks: which guard, which wait for your approval, and what was let pass.

    Example: `clew guards show`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "guards", {})
    if not answer.ok or as_json:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    for row in result["guards"]:
        say(f"{row['id']} {row['state']}: {row['in_words']}")
        say(f"  {row['check']['message'] if row['check'] and row['check']['message'] else row['says']}")
    for row in result["overrides"]:
        say(f"let pass {row['ts']}: {row['id']} by {row['by']}: {row['why']}")
    if not result["guards"]:
        say("No rule carries a check.")


def propose(
    ctx: typer.Context,
    id: Annotated[str, RULE],
    path: Annotated[list[str] | None, typer.Option(help="Files, as a quoted glob.", metavar="GLOB")] = None,
    command: Annotated[list[str] | None, typer.Option(help="Commands, as a quoted glob.", metavar="GLOB")] = None,
    must: Annotated[list[str] | None, typer.Option(help="What must stand in it.")] = None,
    must_not: Annotated[list[str] | None, typer.Option(help="What must not stand in it.")] = None,
    action: Annotated[str, typer.Option(help="inform, ask or deny.")] = "inform",
    message: Annotated[str, typer.Option(help="What is said; default: the rule itself.")] = "",
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Write a check into a rule or decision. It guards nothing until it is approved.

    Examples:

    - `clew guards propose R-3 --path 'src/store/migrations/*.sql' --action deny`
    - `clew guards propose R-4 --command 'git push * --force' --action ask`
    """
    given = {"paths": path, "commands": command, "must": must, "must_not": must_not, "message": message}
    arguments = {"id": id, "action": action, **{name: value for name, value in given.items() if value}}
    _decide(ctx, "guard_propose", arguments, as_json, "{id} carries the check, which waits: {approve}")


def approve(ctx: typer.Context, id: Annotated[str, RULE], as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Let the check of a rule guard from now on. Asks you at the terminal: an agent cannot answer there.

    Example: `clew guards approve R-3`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "guards", {"limit": 200})
    listed: list[Row] = answer.envelope["result"].get("guards", []) if answer.ok else []
    row = next((row for row in listed if row["id"] == id.strip().upper()), None)
    confirm(f"{id}: {row['in_words']}. Approve?" if row else f"Approve the check of {id}?")
    _decide(ctx, "guard_approve", {"id": id}, as_json, "{id} guards now: {in_words}")


def revoke(ctx: typer.Context, id: Annotated[str, RULE], as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Take the approval of a check back.

    Example: `clew guards revoke R-3`
    """
    confirm(f"Let {id} guard no longer?")
    _decide(ctx, "guard_revoke", {"id": id}, as_json, "{id} guards no longer")


def override(
    ctx: typer.Context,
    id: Annotated[str, RULE],
    why: Annotated[str, typer.Option(help="The reason; it is kept.")],
    minutes: Annotated[int, typer.Option(help="For how long.", min=1, max=1440)] = 15,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Let a guard pass for some minutes, with a reason that is kept.

    Example: `clew guards override R-3 --why "the release branch is rewritten"`
    """
    confirm(f"Let {id} pass for {minutes} minutes?")
    _decide(ctx, "guard_override", {"id": id, "why": why, "minutes": minutes}, as_json, "{id} lets pass until {until}")


def _decide(ctx: typer.Context, name: str, arguments: Row, as_json: bool, line: str) -> None:
    with opened(settings_of(ctx)) as clew:
        # Nobody was asked before a proposal: it guards nothing until it is approved.
        answer = call_as_person(clew, name, arguments, confirmed=name != "guard_propose")
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    show_json(result) if as_json else say(line.format(**result))
