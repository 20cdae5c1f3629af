"""`clew backup`: a copy of the store while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clew.faces.cli.output import say, show_json
from clew.faces.cli.root import opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(backup)


def backup(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="File to write; it must not exist.", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the file and its size as JSON.")] = False,
) -> None:
    """Copy the whole store, every workspace, into one file while servers and agents go on.

    The copy is one moment of the store, checked and synced before it gets its name. PostgreSQL has a tool of its own,
    which the answer names.

    Example: `clew backup ~/backup/clew-monday.db`
    """
    with opened(settings_of(ctx)) as clew:
        size = clew.database.backup(path.expanduser().absolute())
    if as_json:
        show_json({"path": str(path), "bytes": size})
    else:
        say(f"{size} bytes in {path}")
