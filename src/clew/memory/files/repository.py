"""Memory files inside the project's own repository, and the rules that differ there.

Git writes these files too: a checkout, a merge or a reset. Git's version counts as it is, and a file
that it removed is gone, because each branch has its own view of memory. Clones do not know of each
other, so their ids must differ.
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from clew.project_files import checkout_stamp
from clew.registry.context import Context
from clew.store.workspaces import keep_meta

TRACKED = ("decisions", "knowledge", "entities")
"""The folders that are committed. Proposals, receipts and reports belong to each clone."""
SUFFIX_LENGTH = 6
GIT = "git"
"""The origin of versions that git wrote: edits from another clone or branch."""


def repository_of(ctx: Context) -> Path | None:
    """The project whose repository contains the memory files of this workspace; None if they are elsewhere."""
    settings = ctx.settings
    if settings.memory_dir is None or ctx.workspace != settings.workspace:
        return None
    root = settings.project_root
    return root if settings.memory_dir.is_relative_to(root) and (root / ".git").exists() else None


def id_suffix(ctx: Context) -> str:
    """The suffix of this clone's ids; empty if files are not in a repository."""
    if repository_of(ctx) is None:
        return ""
    return "-" + keep_meta(ctx.tx, f"clone:{ctx.workspace}", uuid4().hex[:SUFFIX_LENGTH])


def checkout_of(ctx: Context) -> str:
    """An identifier of git's checkout: it changes whenever git writes files. Empty without a repository."""
    root = repository_of(ctx)
    return checkout_stamp(root) if root is not None else ""
