"""What records are called: by their id in this store, by `ID@ORIGIN` wherever they travel.

Two stores number their records by themselves, so D-1 of one is not D-1 of the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from clew.kinds.kind import KindFamily
from clew.memory import blocks
from clew.memory.kinds import kind_of, put_away
from clew.registry.context import Context
from clew.store.rows import chunks

_TOKEN = re.compile(r"\b[A-Z]{1,16}-[0-9A-Za-z][0-9A-Za-z-]{0,60}(?:@[0-9a-f]{10})?\b")
TRAVELLING = (KindFamily.DURABLE, KindFamily.ENTITY)
"""Families of records that travel. Proposals, contradictions and receipts belong to the store that made them."""


def travels(id: str, file: str) -> bool:
    return kind_of(id).family in TRAVELLING and not put_away(file)


class TravellingNames:
    """The names of a workspace's records, inside of one transaction."""

    def __init__(self, ctx: Context, origin: str) -> None:
        self._ctx = ctx
        self._origin = origin
        sql = "SELECT record, id FROM sync_record WHERE workspace = ?"
        rows = ctx.tx.all(sql, ctx.workspace)
        self._id_of: dict[str, str] = {row["record"]: row["id"] for row in rows}
        self._record_of: dict[str, str] = {row["id"]: row["record"] for row in rows}

    def id_of(self, record: str) -> str | None:
        return self._id_of.get(record)

    def record_of(self, id: str) -> str:
        """The travelling name of a record of this store; it gets one when it has none."""
        return self._record_of.get(id) or self._name(f"{id}@{self._origin}", id)

    def named(self, id: str) -> str | None:
        """The travelling name that a record of this store has already."""
        return self._record_of.get(id)

    def adopt(self, record: str) -> str:
        """What a record of another store is called here: as there, unless something else is called so."""
        known = self._id_of.get(record)
        if known is not None:
            return known
        id, _, origin = record.partition("@")
        free = next(name for name in _candidates(id, origin) if not self._is_taken(name))
        self._name(record, free)
        return free

    def outward(self, texts: Iterable[str]) -> list[str]:
        """Texts with the records that they mention by their travelling names."""
        listed = [text.replace("\r\n", "\n") for text in texts]
        wanted = {token for text in listed for token in _TOKEN.findall(text) if "@" not in token}
        unnamed = sorted(wanted - self._record_of.keys())
        for block in blocks.current(self._ctx, ids=unnamed) if unnamed else ():
            if travels(block.id, block.file):
                self.record_of(block.id)
        return [_TOKEN.sub(lambda found: self._record_of.get(found[0], found[0]), text) for text in listed]

    def inward(self, text: str) -> str:
        """A text as this store says it; what it does not know yet keeps its travelling name."""
        return _TOKEN.sub(lambda found: self._id_of.get(found[0], found[0]), text)

    def _is_taken(self, id: str) -> bool:
        return id in self._record_of or bool(blocks.last_versions(self._ctx, [id]))

    def _name(self, record: str, id: str) -> str:
        sql = "INSERT INTO sync_record (workspace, record, id) VALUES (?, ?, ?)"
        self._ctx.tx.run(sql, self._ctx.workspace, record, id)
        self._id_of[record], self._record_of[id] = id, record
        return record


def _candidates(id: str, origin: str) -> Iterable[str]:
    yield id
    yield from (f"{id}-{origin[:length]}" for length in range(4, len(origin) + 1))


def mentioning(ctx: Context, records: Iterable[str]) -> set[str]:
    """The records whose changes mention one of these."""
    found: set[str] = set()
    for part in chunks(sorted(records)):
        tests = " OR ".join("body LIKE ?" for _ in part)
        sql = f"SELECT DISTINCT record FROM sync_change WHERE workspace = ? AND ({tests})"
        found.update(row["record"] for row in ctx.tx.all(sql, ctx.workspace, *(f"%{name}%" for name in part)))
    return found
