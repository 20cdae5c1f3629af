"""`clew backup` and `clew restore`: a copy of the store while it is in use, and the way back to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clew.faces.cli.output import say, show_json
from clew.faces.cli.root import opened, settings_of


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


COMMANDS = {"backup": backup, "restore": restore}
