"""`clew start`: begin a task with its steps."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import answered


def register(app: typer.Typer) -> None:
    app.command()(start)


def start(
    ctx: typer.Context,
    title: Annotated[list[str], typer.Argument(help="What is to be done.")],
    step: Annotated[
        list[str] | None,
        typer.Option("--step", "-s", help="A step, such as 'parser; test: pytest'; repeatable."),
    ] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="Plan id or title.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Steps close only on runs that Clew saw.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Start a task with its steps; it becomes your focus.

    Examples:

    - `clew start Parse .env files -s "parser; test: pytest -q" -s docs`
    - `clew start Release 1.2 --plan Releases --strict`
    """
    answered(ctx, "start", {"title": " ".join(title), "steps": step, "plan": plan, "strict": strict}, as_json)
