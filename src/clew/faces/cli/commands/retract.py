"""`clew retract`: say that a record no longer holds, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import answered


def register(app: typer.Typer) -> None:
    app.command()(retract)


def retract(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="Any id that open takes.")],
    why: Annotated[str, typer.Option("--why", help="The reason; whoever meets the record is told.")],
    replaced_by: Annotated[str | None, typer.Option("--replaced-by", help="Id of what holds instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Take back any record by its id. Nothing is deleted; what rested on it is listed.

    Examples:

    - `clew retract CARD-1 --why "The measurement was wrong"`
    - `clew retract D-20260213-001 --why "We changed our mind" --replaced-by D-20261116-001`
    """
    answered(ctx, "retract", {"id": id, "why": why, "replaced_by": replaced_by}, as_json)
