"""Keeps the history current: once transcripts were imported, a session that ends is read without being asked."""

from __future__ import annotations

import logging
import threading

from clew.errors import ClewError
from clew.history.clients import load_clients
from clew.history.intake import find_unread, read_in
from clew.history.port import ProjectPlaces
from clew.history.turn_store import sessions
from clew.registry.context import Context
from clew.store.database import PATIENCE, Database, DatabaseResource

log = logging.getLogger(__name__)


def keep_current(ctx: Context, places: ProjectPlaces) -> None:
    """Read what clients wrote since the last import, behind the call. Whoever never imported anything is left alone."""
    with ctx.reading() as bound:
        if not sessions(bound, 1):
            return
    ctx.database.resources.of(HistoryKeeper).wake(ctx, places)


class HistoryKeeper(DatabaseResource):
    """Reads transcripts in one thread for each database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[Context, ProjectPlaces]] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def wake(self, ctx: Context, places: ProjectPlaces) -> None:
        unbound = Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.agent)
        with self._lock:
            self._waiting[ctx.workspace] = (unbound, places)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="clew-history", daemon=True)
                self._thread.start()

    def close(self, patience: float) -> None:
        with self._lock:
            self._closed = True
            self._waiting.clear()
            thread = self._thread
        if thread is not None:
            thread.join(max(patience, PATIENCE))

    def _run(self) -> None:
        while (found := self._next()) is not None:
            try:
                self._read(*found)
            except ClewError as problem:
                # What was not read is read at the end of the next session, or by the next import.
                log.warning("transcripts were not read: %s", problem.message)

    def _next(self) -> tuple[Context, ProjectPlaces] | None:
        with self._lock:
            if not self._waiting:
                self._thread = None
                return None
            return self._waiting.pop(next(iter(self._waiting)))

    def _read(self, ctx: Context, places: ProjectPlaces) -> None:
        for client in load_clients():
            with ctx.reading() as bound:
                report, unread = find_unread(bound, client, places)
            for transcript in unread:
                if self._closed:
                    return
                read_in(ctx, client, [transcript], str(places.project), report)
