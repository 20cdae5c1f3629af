"""A process that stands inside a write transaction until it is told to go on, and tells what became of it."""

from __future__ import annotations

import sys
from pathlib import Path

from clew.errors import ClewError
from clew.store import postgres, postgres_connections
from clew.store.database import Database
from clew.store.sqlite import SqliteDatabase
from clew.store.workspaces import find_workspace

PUT = "INSERT INTO meta (key, value) VALUES (?, ?)"


def opened(place: str, wait: float) -> Database:
    """The store at a path or a URL, whose writers wait so many seconds for each other."""
    if "://" in place:
        return postgres.PostgresDatabase(place, wait_seconds=wait)
    return SqliteDatabase(Path(place), busy_seconds=wait)


def main() -> None:
    place, key, idle = sys.argv[1], sys.argv[2], float(sys.argv[3])
    postgres_connections.IDLE_SECONDS = idle
    database = opened(place, 60)
    try:
        with database.write() as tx:
            find_workspace(tx, "ws")
            tx.run(PUT, key, "x")
            assert tx.value("SELECT value FROM meta WHERE key = ?", key) == "x"
            print("inside", flush=True)
            sys.stdin.readline()
        print("done", flush=True)
    except ClewError as problem:
        print(problem.code, flush=True)


if __name__ == "__main__":
    main()
