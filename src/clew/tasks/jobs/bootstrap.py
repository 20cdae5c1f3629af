"""How to start a runner: shown where jobs wait and nobody is there to take them. The server starts none itself."""

from __future__ import annotations

import sys
from pathlib import Path

from clew.registry.context import Context


def runner_command(ctx: Context) -> dict[str, str]:
    """A line to paste into a shell. An address of a database is never part of it: it may hold a password."""
    home = str(ctx.settings.home)
    program = _program()
    return {
        "cmd": f'{program} --home "{home}" --workspace "{ctx.workspace}" runner',
        "runner_bin": program,
        "storage_dir": home,
    }


def _program() -> str:
    own = Path(sys.executable).parent / "clew"
    return f'"{own}"' if own.exists() else f'"{sys.executable}" -m clew'
