"""`clew why ID` and `clew blame FILE[:LINE]`: the reasons behind a record, and behind a file."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.asking import answer_with


def why(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="Any record.", metavar="ID")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show why a record holds: its reason, what it rests on, what it replaced and why.

    Example: `clew why D-7`
    """
    answer_with(ctx, "why", {"id": id}, as_json)


def blame(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="A file of the project, or one of its lines.", metavar="FILE[:LINE]")],
    limit: Annotated[int, typer.Option(help="Most of each sort.", min=1, max=50)] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show what touched a file: the commit of a line, decisions and rules about it, runs that covered it, sessions.

    Examples:

    - `clew blame src/relay/lease.py`
    - `clew blame src/relay/lease.py:42`
    """
    answer_with(ctx, "blame", {"file": file, "limit": limit}, as_json)


COMMANDS = {"why": why, "blame": blame}
