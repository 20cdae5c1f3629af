"""Puts the parts together: settings, database, dispatcher. Opens nothing until the first call."""

from __future__ import annotations

from clew.clock import Clock, system_clock
from clew.registry.dispatch import Dispatcher
from clew.settings import Settings
from clew.store.behind import end_work
from clew.store.database import Database


class Clew:
    def __init__(self, settings: Settings, clock: Clock = system_clock) -> None:
        self.settings = settings
        self.database = open_database(settings)
        self.dispatcher = Dispatcher(settings, self.database, clock)

    def close(self) -> None:
        end_work(self.database)
        self.database.close()


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
                "UNAVAILABLE", "PostgreSQL support is not installed", "Install it: pip install 'clew[postgres]'."
            ) from missing
        return PostgresDatabase(settings.database_url)
    from clew.store.sqlite import SqliteDatabase

    return SqliteDatabase(settings.database_file)
