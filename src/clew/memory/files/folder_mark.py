"""Folder ownership: the mark that a store leaves in `.clew/`, and the note of it in the store.

`.clew/state.json` names the stores that have written into the folder. A store records in itself that it
has left its name there. If it then finds the folder without its name, that is another folder in the
same place: a backup, a clone, a new one. Its files were not edited from what the store wrote, and are
not a stale copy either: the folder was replaced on purpose, so its files count.
"""

from __future__ import annotations

import os
import platform

from clew.memory.files.directory import Directory, store_name
from clew.memory.files.file_state import FolderState
from clew.registry.context import Context
from clew.store.workspaces import delete_meta, keep_meta, read_meta


def opened(ctx: Context, directory: Directory) -> tuple[FolderState, bool]:
    """The state of the files, and whether the folder was replaced since this store left its name in it."""
    state = directory.state()
    with ctx.reading() as bound:
        if is_ours(bound, state):
            return state, False
        name = name_of(bound)
        replaced = not state.damaged and name not in state.stores and _noted(bound, directory)
    stores = sorted({*state.stores, state.store} - {""})
    return FolderState(store=name, shared=state.shared or state.store not in ("", name), stores=stores), replaced


def is_ours(bound: Context, state: FolderState) -> bool:
    """False if the files were rendered from another store, or from a later state of this one."""
    return state.store == name_of(bound) and all(entry.seq <= bound.ws.seq for entry in state.files.values())


def name_of(bound: Context) -> str:
    return store_name({"id": bound.ws.id, "created_at_ms": bound.ws.created_at_ms})


def sign(ctx: Context, directory: Directory, state: FolderState) -> None:
    """Save the state, the first time with a note in the store.

    The note comes after the name, and only once the name is durable: a note alone would make the folder
    look replaced, and what is stored and not rendered yet would be undone by files that are merely
    behind.
    """
    directory.save(state)
    if state.store in state.stores or not state.files:
        return
    directory.settle()
    with ctx.writing() as bound:
        keep_meta(bound.tx, _key(bound, directory), "written")
    state.stores = sorted({*state.stores, state.store})
    directory.save(state)


def forget(bound: Context, directory: Directory) -> None:
    """Remove the note, in the transaction that reads a replaced folder: it is read only once, even if
    the process ends there."""
    delete_meta(bound.tx, _key(bound, directory))


def _noted(bound: Context, directory: Directory) -> bool:
    return read_meta(bound.tx, _key(bound, directory)) is not None


def _key(bound: Context, directory: Directory) -> str:
    # A database server serves several machines, and the same path is another folder on each.
    machine = platform.node() if bound.settings.database_url else ""
    return f"memory_folder:{name_of(bound)}:{machine}:{os.path.realpath(directory.root)}"
