"""`clew think`: record one step of reasoning."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import answered


def register(app: typer.Typer) -> None:
    app.command()(think)


def think(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(help="The thought.")],
    kind: Annotated[str | None, typer.Option("--kind", "-k", help="hypothesis, evidence, conclusion, ...")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Session id; else a new session begins.")] = None,
    revises: Annotated[int | None, typer.Option("--revises", help="Number of the thought it replaces.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Record a thought in a session; name the session to go on in it.

    Examples:

    - `clew think -k hypothesis "The cache is stale after a write"`
    - `clew think "S1 holds: the log shows old rows" --session 1b4e28ba-2fa1-4d2a-8c56-0a1b2c3d4e5f`
    """
    answered(ctx, "think", {"text": " ".join(words), "kind": kind, "session": session, "revises": revises}, as_json)
