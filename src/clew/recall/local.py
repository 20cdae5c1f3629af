"""What only a person at this machine may ask for: paths of the disk, downloads."""

from __future__ import annotations

from clew.errors import ClewError
from clew.registry.context import Context


def only_here(ctx: Context, name: str) -> None:
    if not ctx.session.local:
        raise ClewError(
            "NOT_ALLOWED",
            f"{name} reads files of the machine that Clew runs on, so it is for the command line only",
            f"Run `clew {name.replace('_', ' ')}` on that machine.",
        )
