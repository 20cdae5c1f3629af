"""Mind-Mem's initial directory tree: created only if that program uses the folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from clew.memory import validator
from clew.memory.files import places, plain_files
from clew.memory.files.directory import CONFIGURATION, KERNELS, Directory, FilesProblem
from clew.memory.files.governed_write import laying_out
from clew.memory.files.sync import after_rendering
from clew.memory.governance.policy import STATE_FILE, default_configuration_text, default_state_text
from clew.memory.kinds import TREE, preamble
from clew.registry.context import Context

ONCE = {
    "MEMORY.md": (
        "# Memory Protocol v1.0\n\n"
        "The files of this workspace are shared by people, Clew and Mind-Mem.\n\n"
        "- What is taken for true stands in `decisions/`, `tasks/`, `entities/`, `knowledge/`; agents propose.\n"
        "- Every claim names its sources. What no longer holds is superseded, not edited away.\n"
        "- What happened on a day stands in `memory/YYYY-MM-DD.md`; lines are only added there.\n"
    ),
    "memory/maint-state.json": '{\n  "last_run": null,\n  "last_weekly": null\n}\n',
    "summaries/weekly/.gitkeep": "",
}
"""Files that Mind-Mem requires and Clew never reads: created if they are missing, and not changed afterwards."""


def _named_for_mind_mem(ctx: Context) -> bool:
    """Whether the folder was set in the environment variable that Mind-Mem reads."""
    return ctx.settings.origins.get("memory_dir") == "MIND_MEM_WORKSPACE"


@laying_out("mind_mem")
def lay_out(ctx: Context) -> None:
    """Create the missing parts of Mind-Mem's initial tree, if that program uses the folder.

    Existing files are not changed, and elsewhere a file is created with its first block.
    """
    # Earlier versions wrote the default kernels here; with them Mind-Mem reads none of its own, and ranks differently.
    for path in plain_files.never_edited(ctx, KERNELS):
        plain_files.remove(ctx, path)
    if not (validator.applies(ctx) or _named_for_mind_mem(ctx)):
        return
    wanted: dict[str, Callable[[], str]] = {
        CONFIGURATION: default_configuration_text,
        STATE_FILE: default_state_text,
    }
    known = plain_files.ever_written(ctx, list(wanted))
    for path, text in wanted.items():
        if path not in known:
            plain_files.write(ctx, path, text(), "init")
    if STATE_FILE not in known:
        _lay_out_blocks(ctx)


def _lay_out_blocks(ctx: Context) -> None:
    known = set(places.files(ctx))
    for path in TREE:
        if path not in known:
            places.set_preamble(ctx, path, preamble(path))


@after_rendering("mind_mem")
def complete(ctx: Context, directory: Directory) -> None:
    """Create the files of ONCE that are missing. Anything under their names, also a link, is left alone."""
    if not plain_files.text(ctx, CONFIGURATION):
        return
    with suppress(FilesProblem):  # nothing of ours depends on them
        for path, text in ONCE.items():
            if not os.path.lexists(directory.root / path):
                directory.replace(path, text.encode())
