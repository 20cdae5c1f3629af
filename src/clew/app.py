"""Puts the parts together: settings, database, dispatcher. Opens nothing until the first call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clew.clock import Clock, system_clock
from clew.registry.dispatch import Dispatcher
from clew.settings import Settings
from clew.store.database import Database
from clew.store.database import short_lock_waits as short_lock_waits

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from clew.store.transfer import CopiedTable, Report


class Clew:
    def __init__(self, settings: Settings, clock: Clock = system_clock, database: Database | None = None) -> None:
        """`database` was opened by the caller, who also closes it."""
        self._borrowed = database is not None
        self._passing = _passing_home() if settings.storage == "memory" else None
        if self._passing is not None:
            settings = replace(settings, home=Path(self._passing.name), database_url=None)
        self.database = database or open_database(settings)
        self.dispatcher = _dispatcher(settings, self.database, clock)

    @property
    def settings(self) -> Settings:
        """As the dispatcher has them: the first call finds out which workspace is this project's own."""
        return self.dispatcher.settings

    def close(self) -> None:
        if not self._borrowed:
            self.database.close()
        if self._passing is not None:
            self._passing.cleanup()


def _dispatcher(settings: Settings, database: Database, clock: Clock) -> Dispatcher:
    if settings.server is None:
        return Dispatcher(settings, database, clock)
    from clew.remote.dispatcher import RemoteDispatcher

    return RemoteDispatcher(settings, database, clock)


def _passing_home() -> TemporaryDirectory[str]:
    """A data directory that is gone with the process; on this machine only, whatever store is set."""
    from tempfile import TemporaryDirectory

    return TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True)


def open_clew(settings: Settings, clock: Clock = system_clock) -> Clew:
    return Clew(settings, clock)


def open_database(settings: Settings) -> Database:
    """The engine that the settings name. Importing only that one keeps the start short."""
    if settings.server:
        from clew.remote.store import RemoteStore

        return cast("Database", RemoteStore(settings.server, settings.ca_file))
    if settings.database_url:
        from clew.errors import ClewError

        try:
            from clew.store.postgres import PostgresDatabase
        except ImportError as missing:
            raise ClewError(
                "UNAVAILABLE", "PostgreSQL support is not installed", "Install it: pip install 'clew-memory[postgres]'."
            ) from missing
        return PostgresDatabase(
            settings.database_url,
            auto_migrate=settings.auto_migrate,
            most_connections=settings.database_connections,
            read_url=settings.database_read_url,
        )
    from clew.store.sqlite import SqliteDatabase

    return SqliteDatabase(settings.database_file, auto_migrate=settings.auto_migrate)


def person_of_token(clew: Clew) -> str:
    """The person whose token CLEW_PERSON_TOKEN is, as the server knows it that has the store; else empty."""
    from clew.remote.dispatcher import RemoteDispatcher

    assert isinstance(clew.dispatcher, RemoteDispatcher)
    return clew.dispatcher.person_of_token()


def schema_versions(settings: Settings, migrate: bool) -> tuple[int, int]:
    """The schema of the store, brought up to date where asked for, and the newest that this Clew knows."""
    from clew.store.migrations import latest

    database = open_database(replace(settings, auto_migrate=True))
    try:
        found = database.stored_version()
        return (database.schema_version() if migrate and found < latest() else found), latest()
    finally:
        database.close()


def fence_workspaces(settings: Settings, on: bool) -> list[str]:
    """Turn row-level security of a PostgreSQL store on or off; returns the tables that have it now."""
    if not settings.database_url:
        from clew.errors import ClewError

        raise ClewError(
            "UNAVAILABLE",
            "row-level security needs PostgreSQL",
            "With SQLite, anyone who may read the file reads everything; give each group its own data directory.",
        )
    from clew.store.postgres import PostgresDatabase

    database = PostgresDatabase(settings.database_url, auto_migrate=settings.auto_migrate)
    try:
        return database.fence_workspaces(on)
    finally:
        database.close()


def back_up(clew: Clew, target: Path) -> int:
    """Copy the store into a file, with what people have written into memory files until now; returns its size."""
    _agree_with_files(clew)
    return clew.database.backup(target)


def restore(clew: Clew, source: Path) -> tuple[Path, list[Path]]:
    """Replace the store and the memory files by a backup; returns where the present ones are kept."""
    from clew.memory.files.set_aside import files_set_aside, memory_folders

    _agree_with_files(clew)
    with files_set_aside(list(memory_folders(clew.settings).values())) as folders:
        kept = clew.database.restore(source)
    _agree_with_files(clew)
    return kept, folders


def _agree_with_files(clew: Clew) -> None:
    """Read in what people wrote into memory files, and write what they lack; any look at memory does both."""
    from clew.memory.files.set_aside import memory_folders
    from clew.registry.connection import Connection

    for workspace in memory_folders(clew.settings):
        arguments = {"workspace": workspace, "limit": 1}
        clew.dispatcher.call("list_proposals", arguments, Connection(toolset="full", durable=False, local=True))


def merge_memory_files(base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]] | None:
    """Three versions of a memory file as one, with the ids that a person has to decide about; None where it cannot."""
    from clew.memory.files.block_merge import merge_files

    merged = merge_files(base, ours, theirs)
    return (merged.text, merged.conflicts) if merged else None


def directories_of_sessions() -> list[Path]:
    """The directories in which clients of this machine have had sessions."""
    from clew.history.projects import directories_of_sessions
    from clew.surroundings import expanded

    return list(directories_of_sessions(expanded("~")))


def migrate_store(settings: Settings, target: str, report: Report | None = None) -> list[CopiedTable]:
    """Copy the store that the settings name to the other engine: a PostgreSQL URL, or a data directory."""
    from clew.store.transfer import transfer

    url = target if "://" in target else None
    home = settings.home if url else Path(target).expanduser().absolute()
    source = open_database(settings)
    other = open_database(replace(settings, home=home, database_url=url))
    try:
        return transfer(source, other, report)
    finally:
        other.close()
        source.close()
