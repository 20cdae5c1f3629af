"""Facts about the whole store, under a name each: outside of any workspace."""

from __future__ import annotations

from clew.store.database import Transaction


def read_meta(tx: Transaction, key: str) -> str | None:
    value = tx.value("SELECT value FROM meta WHERE key = ?", key)
    return None if value is None else str(value)


def write_meta(tx: Transaction, key: str, value: str) -> None:
    tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value
    )


def delete_meta(tx: Transaction, key: str) -> None:
    tx.run("DELETE FROM meta WHERE key = ?", key)


def keep_meta(tx: Transaction, key: str, value: str) -> str:
    """Write the value unless there is one already; the one that stands."""
    tx.run("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", key, value)
    return read_meta(tx, key) or value
