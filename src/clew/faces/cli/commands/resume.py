"""`clew resume`: where the work stands, what binds, what was decided, what is next."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import answered


def register(app: typer.Typer) -> None:
    app.command()(resume)


def resume(
    ctx: typer.Context,
    task: Annotated[str | None, typer.Argument(help="Task; default: all open work.")] = None,
    max_chars: Annotated[int, typer.Option("--max-chars", help="Most characters.")] = 2000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show where the work stands in at most 2,000 characters. Changes nothing.

    Examples:

    - `clew resume`
    - `clew resume TASK-001 --max-chars 4000`
    """
    answered(ctx, "resume", {"task": task, "max_chars": max_chars}, as_json)
