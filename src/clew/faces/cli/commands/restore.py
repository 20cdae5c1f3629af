"""`clew restore`: back to a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clew.faces.cli.output import say, show_json
from clew.faces.cli.root import opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(restore)


def restore(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="A file that `clew backup` wrote.", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Replace everything in the store by a backup, also for servers that run; the present state is kept beside it.

    Example: `clew restore ~/backup/clew-monday.db`
    """
    with opened(settings_of(ctx)) as clew:
        kept = clew.database.restore(path.expanduser().absolute())
    if as_json:
        show_json({"path": str(path), "kept": str(kept)})
    else:
        say(f"restored from {path}; what was there before is in {kept}")
