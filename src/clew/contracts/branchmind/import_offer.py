"""Offers a BranchMind store for import, until anything from it was imported.

A server that was started as a replacement of BranchMind finds its old store and an empty workspace. A client that then
looks for missing data has to be offered the import, before new ids take the numbers of the old ones.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from clew.canonical import digest
from clew.contract import contract_of
from clew.errors import suggest, warning
from clew.original_store import original_store
from clew.registry.envelope import ImportOffer, import_offer
from clew.settings import Settings
from clew.store.database import Database, Transaction
from clew.store.workspaces import read_meta, write_meta
from clew.surroundings import clew_command


def found_store(settings: Settings) -> Path | None:
    found = original_store(str(settings.home), str(settings.project_root))
    return Path(found) if found is not None else None


def note_import(tx: Transaction, store: Path) -> None:
    write_meta(tx, _key(store), str(store))


def waiting_store(settings: Settings, database: Database, toolset: str) -> Path | None:
    """The store that a client of this toolset may expect: it exists, and nothing was imported from it."""
    store = found_store(settings) if contract_of(toolset).offers_import else None
    if store is None:
        return None
    with database.read() as tx:
        return store if read_meta(tx, _key(store)) is None else None


@import_offer()
def branchmind_store(settings: Settings, database: Database, toolset: str) -> ImportOffer | None:
    store = waiting_store(settings, database, toolset)
    if store is None:
        return None
    line = import_command(settings, store)
    told = warning(
        "IMPORT_OFFERED",
        f"{store} is a store of BranchMind, and nothing of it was imported yet.",
        f"Import it with import_branchmind before anything new is written, or in a shell: {line}",
    )
    return ImportOffer(told, suggest("import_branchmind", "Reads the old store with all its ids.", "high"))


def _key(store: Path) -> str:
    return f"imported:{digest(str(store.resolve()))}"


def import_command(settings: Settings, store: Path, *options: str) -> str:
    """The shell command that imports the store into the data directory of this server."""
    words = shlex.join(["import", "branchmind", str(store), *options])
    # A data directory that is set only in the server's own command line is unknown to a shell.
    own = f"--home {shlex.quote(str(settings.home))} " if settings.origins.get("home") == "flag" else ""
    return clew_command(own + words)
