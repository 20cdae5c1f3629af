"""`clew merge-memory`: the merge driver that `clew init` registers with git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from clew.app import merge_memory_files
from clew.faces.cli.output import complain

Version = Annotated[Path, typer.Argument(exists=True, dir_okay=False)]
CONFLICT = 1


def register(app: typer.Typer) -> None:
    app.command("merge-memory")(merge_memory)


def merge_memory(base: Version, ours: Version, theirs: Version) -> None:
    """Merge three versions of a memory file record by record, into OURS. Git runs it; `clew init` registers it.

    Exits with 1 where a person has to decide between two versions of a record, which then stand between conflict
    markers.

    Example: `git config merge.clew.driver "clew merge-memory %O %A %B"`
    """
    texts = [path.read_bytes().decode() for path in (base, ours, theirs)]
    merged = merge_memory_files(*texts)
    if merged is None:
        raise typer.Exit(_merge_lines(base, ours, theirs))
    text, conflicts = merged
    ours.write_bytes(text.encode())
    for id in conflicts:
        complain(f"changed differently on both sides: {id}")
    raise typer.Exit(CONFLICT if conflicts else 0)


def _merge_lines(base: Path, ours: Path, theirs: Path) -> int:
    """As git merges text: for a file in which records cannot be matched."""
    done = subprocess.run(["git", "merge-file", str(ours), str(base), str(theirs)], check=False)
    return min(abs(done.returncode), CONFLICT)
