"""Puts the parts together: settings, database, dispatcher. Opens nothing until the first call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.clock import Clock, system_clock
from clew.registry.dispatch import Dispatcher
from clew.settings import Settings
from clew.store.database import Database

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory


class Clew:
    def __init__(self, settings: Settings, clock: Clock = system_clock, database: Database | None = None) -> None:
        """`database` is one that somebody else has opened and will close."""
        self._borrowed = database is not None
        self._passing = _passing_home() if settings.storage == "memory" else None
        if self._passing is not None:
            settings = replace(settings, home=Path(self._passing.name), database_url=None)
        self.database = database or open_database(settings)
        self.dispatcher = Dispatcher(settings, self.database, clock)

    @property
    def settings(self) -> Settings:
        """As the dispatcher has them: the first call finds out which workspace is this project's own."""
        return self.dispatcher.settings

    def close(self) -> None:
        if not self._borrowed:
            self.database.close()
        if self._passing is not None:
            self._passing.cleanup()


def _passing_home() -> TemporaryDirectory[str]:
    """A data directory that is gone with the process; on this machine only, whatever store is set."""
    from tempfile import TemporaryDirectory

    return TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True)


def open_clew(settings: Settings, clock: Clock = system_clock) -> Clew:
    return Clew(settings, clock)


def open_database(settings: Settings) -> Database:
    """The engine that the settings name. Importing only that one keeps the start short."""
    if settings.database_url:
        from clew.errors import ClewError

        try:
            from clew.store.postgres import PostgresDatabase
        except ImportError as missing:
            raise ClewError(
                "UNAVAILABLE", "PostgreSQL support is not installed", "Install it: pip install 'clew-memory[postgres]'."
            ) from missing
        return PostgresDatabase(settings.database_url)
    from clew.store.sqlite import SqliteDatabase

    return SqliteDatabase(settings.database_file)
