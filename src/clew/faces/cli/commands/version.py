"""`clew version`: prints the versions of Clew and Python."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

from clew import __version__
from clew.faces.cli.output import say, show_json


def register(app: typer.Typer) -> None:
    app.command()(version)


def version(as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False) -> None:
    """Say which Clew this is.

    Example: `clew version --json`
    """
    if as_json:
        show_json({"clew": __version__, "python": platform.python_version()})
    else:
        say(f"clew {__version__} (Python {platform.python_version()})")
