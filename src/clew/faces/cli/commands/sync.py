"""`clew sync`: exchange memory with other stores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import describe_warnings, progress_line, say
from clew.faces.cli.person import decided
from clew.faces.cli.root import call, opened, settings_of

REMOTE = "A folder, git:REMOTE (name or address), ssh:HOST:PATH, or https://HOST of a Clew server."


def register(app: typer.Typer) -> None:
    app.command()(sync)


def sync(
    ctx: typer.Context,
    remote: Annotated[str, typer.Argument(help=REMOTE, metavar="REMOTE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Exchange memory with other machines through a folder, a git remote, ssh or a server.

    Records that two stores changed are merged field by field; what both changed differently waits in the Inbox. With
    `git:` the bundles live under a ref of their own, which no branch and no work tree ever holds; with `ssh:` in a
    folder of the other machine, which needs no Clew. A Clew server is spoken to with CLEW_TOKEN or CLEW_TOKEN_FILE.

    Examples:

    - `clew sync ~/Dropbox/clew`
    - `clew sync git:origin`
    - `clew sync ssh:mira@desk:clew`
    - `clew sync https://clew.example.com`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        arguments = {"remote": remote}
        answer = decided(clew, "sync", arguments, call(clew, "sync", arguments, progress))
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    show_exchange(answer.envelope["result"])
    describe_warnings(answer.envelope["warnings"])


def show_exchange(result: dict[str, Any]) -> None:
    say(f"{result['received']} changes received, {result['sent']} sent; memory is at {result['digest'][:16]}")
    for id in result["conflicts"]:
        say(f"changed differently in two stores: {id}; see `clew inbox`", "yellow")
    for id in result["erased"]:
        say(f"erased as in another store: {id}", "yellow")
    for problem in result["problems"]:
        say(f"not taken in: {problem}", "yellow")
