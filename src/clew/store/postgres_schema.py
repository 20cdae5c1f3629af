"""The schema in a PostgreSQL database: compatibility checks and migrations."""

from __future__ import annotations

from typing import Any

import psycopg

from clew.errors import ClewError
from clew.store.migrations import (
    OLDEST_WRITER,
    latest,
    may_write,
    pending,
    statements,
    too_new,
    too_old,
    writers_note,
)
from clew.store.row_security import fence_new_tables

MIGRATION_LOCK = 0x434C4557


def check_encoding(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database whose encoding cannot store every text: a write of other characters would fail."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ClewError(
            "STORE_UNAVAILABLE",
            f"the database is encoded in {encoding}, and Clew needs UTF8",
            "Make one by `createdb --encoding=UTF8 --template=template0 NAME`, and let CLEW_DATABASE_URL name it.",
        )


def check_restored(connection: psycopg.Connection[Any]) -> None:
    """Refuse an empty database in place of ours: most likely a restore is pending, which our tables would break."""
    if stored_version(connection) == 0:
        raise ClewError(
            "STORE_UNAVAILABLE",
            "the database was replaced by an empty one",
            "Restore it from a backup; or restart Clew to begin anew.",
        )


def migrate(connection: psycopg.Connection[Any], auto_migrate: bool = True) -> None:
    """Migrate the database to the newest schema; one process at a time."""
    version = stored_version(connection)
    if version == latest():
        return
    if version < latest() and not auto_migrate:
        raise too_old("the database", version)
    if version > latest():
        if not may_write(version, _meta(connection, OLDEST_WRITER)):
            raise too_new("the database", version)
        return
    with connection.transaction():
        # A timeout of the role or the database suits everyday statements; a migration may rewrite a large table.
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        for number in pending(stored_version(connection)):
            for statement in statements(number, "postgres"):
                connection.execute(statement)
            _keep_meta(connection, "schema_version", str(number))
        if stored_version(connection) == latest():
            _keep_meta(connection, OLDEST_WRITER, writers_note())
        fence_new_tables(connection)


def stored_version(connection: psycopg.Connection[Any]) -> int:
    # A scan, not to_regclass: that reads from a cache that may miss tables another process just created.
    present = "SELECT 1 FROM pg_tables WHERE tablename = 'meta' AND schemaname = current_schema()"
    if connection.execute(present).fetchone() is None:
        return 0
    return int(_meta(connection, "schema_version") or 0)


def _meta(connection: psycopg.Connection[Any], key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = %s", (key,)).fetchone()
    return str(row[0]) if row else None


def _keep_meta(connection: psycopg.Connection[Any], key: str, value: str) -> None:
    sql = "INSERT INTO meta (key, value) VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    connection.execute(sql, (key, value))
