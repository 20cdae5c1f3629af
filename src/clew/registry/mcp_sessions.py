"""MCP sessions over HTTP as the store keeps them: their owner, the client's data, and their connection state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from clew.canonical import Json, sha256_hex
from clew.store.database import Transaction
from clew.store.rows import TableRow, delete, find, insert, load, update

KEPT_MS = 7 * 86_400_000
"""Sessions expire after a week without a request."""
MOST_OF_OWNER = 1_000
"""Maximum number of sessions per token, most recent first."""
_STORE = ""


@dataclass(frozen=True, slots=True)
class McpSession(TableRow):
    TABLE: ClassVar[str] = "mcp_session"
    KEY: ClassVar[tuple[str, ...]] = ("digest",)
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"hello", "kept"})

    digest: str
    owner: str
    hello: Json
    kept: Json
    opened_at_ms: int
    seen_at_ms: int


def keep_session(tx: Transaction, id: str, owner: str, hello: Json, now_ms: int) -> None:
    _make_room(tx, owner, now_ms)
    insert(tx, _STORE, McpSession(_digest(id), owner, hello, {}, now_ms, now_ms))


def session_of(tx: Transaction, id: str, now_ms: int) -> McpSession | None:
    found = find(tx, _STORE, McpSession, _digest(id))
    return found if found is not None and now_ms - found.seen_at_ms < KEPT_MS else None


def note_session(tx: Transaction, id: str, kept: Json | None, now_ms: int) -> None:
    """Record that a session was used, and its state `kept`, if that changed."""
    found = find(tx, _STORE, McpSession, _digest(id))
    if found is None:
        return
    # Another server may have numbered the connection since this call began.
    number = {name: value for name, value in found.kept.items() if name == "number"}
    changed = found.kept if kept is None else {**kept, **number}
    update(tx, _STORE, replace(found, kept=changed, seen_at_ms=now_ms))


def forget_sessions(tx: Transaction, ids: Iterable[str]) -> None:
    for id in ids:
        tx.run("DELETE FROM mcp_session WHERE workspace = ? AND digest = ?", _STORE, _digest(id))


def number_of(tx: Transaction, id: str | None) -> int | None:
    """The number that the session's connection got on another server."""
    found = find(tx, _STORE, McpSession, _digest(id)) if id else None
    number = found.kept.get("number") if found is not None else None
    return number if isinstance(number, int) else None


def keep_number(tx: Transaction, id: str | None, number: int) -> None:
    found = find(tx, _STORE, McpSession, _digest(id)) if id else None
    if found is not None:
        update(tx, _STORE, replace(found, kept={**found.kept, "number": number}))


def _make_room(tx: Transaction, owner: str, now_ms: int) -> None:
    tx.run("DELETE FROM mcp_session WHERE workspace = ? AND seen_at_ms < ?", _STORE, now_ms - KEPT_MS)
    rows = tx.all(
        "SELECT * FROM mcp_session WHERE workspace = ? AND owner = ? ORDER BY seen_at_ms DESC, digest LIMIT ? OFFSET ?",
        _STORE,
        owner,
        MOST_OF_OWNER,
        MOST_OF_OWNER - 1,
    )
    for row in rows:
        delete(tx, _STORE, load(McpSession, row))


def _digest(id: str) -> str:
    return sha256_hex(id.encode("utf-8", "replace"))
