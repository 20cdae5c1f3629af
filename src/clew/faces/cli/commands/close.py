"""`clew close`: end a step, with proof or openly without."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import answered


def register(app: typer.Typer) -> None:
    app.command()(close)


def close(
    ctx: typer.Context,
    step: Annotated[str | None, typer.Argument(help="s:1 or STEP-...; default: your first open step.")] = None,
    proof: Annotated[str | None, typer.Option("--proof", help="Receipt id of clew prove, or what was run.")] = None,
    unproven: Annotated[str | None, typer.Option("--unproven", help="Why it closes without proof.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="What to know about it later.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="Default: the task you started or named last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Close a step. `clew prove -- COMMAND` gives the proof; without it the step closes as unproven and stays listed.

    Examples:

    - `clew close s:0`
    - `clew close s:1 --unproven "prose only, read by hand"`
    """
    answered(ctx, "close", {"step": step, "proof": proof, "unproven": unproven, "note": note, "task": task}, as_json)
