"""Vectors in the store: one for each item and model, eight bits a number, and how far each model has come.

Every vector that is written gets the next number of its workspace and model. A process that has read up to a number
requests only those above it, so a number is never reused: `last_number` is stored in `vector_progress` and does not
decrease when the newest vector is removed. When a model's vectors are deleted and rebuilt, the numbers begin again
under another epoch, and processes start over.

If a PostgreSQL server has pgvector, vectors are also stored as `halfvec` and compared by the server. The server
generates that column from the bytes, so it can neither lag nor differ. Vectors and questions are whole numbers (see
`recall/likeness.py`): what the server adds up is exactly what a process would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from clew.index.item_reads import last_change
from clew.store.database import EPOCH, Transaction, placeholders

LARGEST = 127

Floats = NDArray[np.float32]


class Packed(NamedTuple):
    """A quantized vector, a quarter of the size without a loss that affects ranking: `scale` times signed bytes."""

    scale: float
    data: bytes


class Numbering(NamedTuple):
    epoch: str
    last: int


@dataclass(frozen=True)
class StoredVector:
    id: int
    digest: str
    vector: Packed


def packed(vector: Floats) -> Packed:
    # A scale for each vector, by its largest number; of a zero vector 1, so that nothing is divided by 0.
    scale = np.float32(float(np.abs(vector).max(initial=0.0)) / LARGEST or 1.0)
    return Packed(float(scale), np.round(vector / scale).astype(np.int8).tobytes())


def unpacked(rows: Sequence[bytes], dimensions: int) -> NDArray[np.int8]:
    """The bytes of many vectors as a matrix."""
    return np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), dimensions)


def progress(tx: Transaction, workspace: str, model: str) -> int:
    """The number of the last index change that this model has embedded."""
    sql = "SELECT change FROM vector_progress WHERE workspace = ? AND model = ?"
    return int(tx.value(sql, workspace, model) or 0)


def lag(tx: Transaction, workspace: str, model: str) -> int:
    """How many items still wait for this model."""
    done = progress(tx, workspace, model)
    if done >= last_change(tx, workspace):
        return 0
    sql = "SELECT count(*) FROM item_terms WHERE workspace = ? AND change > ? AND terms IS NOT NULL"
    return int(tx.value(sql, workspace, done))


def digests(tx: Transaction, workspace: str, model: str, ids: list[int]) -> dict[int, str]:
    if not ids:
        return {}
    sql = f"SELECT id, digest FROM item_vector WHERE {_HERE} IN ({placeholders(len(ids))})"
    return {row["id"]: row["digest"] for row in tx.all(sql, workspace, model, *ids)}


def same_text(tx: Transaction, model: str, wanted: list[str]) -> dict[str, Packed]:
    """Vectors of texts that were embedded before, by digest."""
    if not wanted:
        return {}
    sql = f"SELECT digest, scale, data FROM item_vector WHERE model = ? AND digest IN ({placeholders(len(wanted))})"
    found = tx.tuples(sql, model, *wanted)
    return {digest: Packed(scale, bytes(data)) for digest, scale, data in found}


def keep(
    tx: Transaction, workspace: str, model: str, vectors: list[StoredVector], gone: list[int], change: int
) -> None:
    """Write a batch of vectors that was made from the changes up to `change`."""
    row = tx.one(_PROGRESS, workspace, model)
    if row and row["change"] >= change:
        # Another process was faster and may have embedded newer texts of these items; ours may be outdated.
        return
    if gone:
        sql = f"DELETE FROM item_vector WHERE {_HERE} IN ({placeholders(len(gone))})"
        tx.run(sql, workspace, model, *gone)
    first = (row["last_number"] if row else 0) + 1
    tx.many(
        _PUT,
        [
            (workspace, model, stored.id, number, stored.digest, *stored.vector)
            for number, stored in enumerate(vectors, first)
        ],
    )
    # The epoch counts for the first batch only: on a conflict the statement leaves it as it is.
    tx.run(_ADVANCE, workspace, model, change, uuid4().hex, first + len(vectors) - 1)


def vectors_after(
    tx: Transaction, workspace: str, model: str, number: int, most: int
) -> list[tuple[int, int, float, bytes]]:
    """Ids, numbers, scales and bytes in the order of the numbers."""
    sql = (
        "SELECT id, number, scale, data FROM item_vector WHERE workspace = ? AND model = ? AND number > ?"
        " ORDER BY number LIMIT ?"
    )
    return [(id, last, scale, data) for id, last, scale, data in tx.tuples(sql, workspace, model, number, most)]


def numbering(tx: Transaction, workspace: str, model: str) -> Numbering:
    """The last number of a model's vectors, and the epoch."""
    row = tx.one(_PROGRESS, workspace, model)
    return Numbering(f"{tx.generation}-{row['store']}-{row['epoch']}", row["last_number"]) if row else Numbering("", 0)


def count(tx: Transaction, workspace: str, model: str) -> int:
    return int(tx.value("SELECT count(*) FROM item_vector WHERE workspace = ? AND model = ?", workspace, model))


def is_empty(tx: Transaction) -> bool:
    """Whether no workspace has a vector of any model."""
    return tx.value("SELECT 1 FROM item_vector LIMIT 1") is None


def forget_other_models(tx: Transaction, model: str) -> None:
    """Drop the vectors of every model but this one."""
    tx.no_timeout()
    tx.run("DELETE FROM item_vector WHERE model <> ?", model)
    tx.run("DELETE FROM vector_progress WHERE model <> ?", model)


_HERE = "workspace = ? AND model = ? AND id"
_PUT = (
    "INSERT INTO item_vector (workspace, model, id, number, digest, scale, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, model, id) DO UPDATE SET"
    " number = excluded.number, digest = excluded.digest, scale = excluded.scale, data = excluded.data"
)
_PROGRESS = (
    f"SELECT change, epoch, last_number, {EPOCH} AS store FROM vector_progress WHERE workspace = ? AND model = ?"
)
_ADVANCE = (
    "INSERT INTO vector_progress (workspace, model, change, epoch, last_number) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, model) DO UPDATE SET change = excluded.change, last_number = excluded.last_number"
)


INSTALL_LOCK = 0x434C4556

Scores = list[tuple[int, float]]
"""Ids with the dot products of their vector and the question's numbers."""


@dataclass(frozen=True)
class VectorServer:
    """The vectors of one workspace and model on a server that compares them; `schema` is where pgvector lives."""

    schema: str
    workspace: str
    model: str

    def nearest(self, tx: Transaction, numbers: Iterable[float], most: int) -> Scores:
        """The highest first, equal ones by id."""
        # The one statement that is meant to read a whole table: a store rarely has a second workspace of this size.
        tx.run("SET LOCAL enable_seqscan = on")
        sql = (
            f"SELECT id, {self._product()} AS score FROM item_vector WHERE workspace = ? AND model = ?"
            " ORDER BY score DESC, id LIMIT ?"
        )
        found = tx.tuples(sql, _text(numbers), self.workspace, self.model, most)
        tx.run("SET LOCAL enable_seqscan = off")
        return [(id, score) for id, score in found]

    def of(self, tx: Transaction, numbers: Iterable[float], ids: list[int]) -> Scores:
        """Those of these items that have a vector."""
        sql = f"SELECT id, {self._product()} FROM item_vector WHERE {_HERE} = ANY(?)"
        found = tx.tuples(sql, _text(numbers), self.workspace, self.model, ids) if ids else []
        return [(id, score) for id, score in found]

    def _product(self) -> str:
        # In a sub-select, so that the question is read once and not once for each row.
        asked = f"(SELECT CAST(CAST(? AS TEXT) AS {self.schema}.halfvec))"
        return f"-(near OPERATOR({self.schema}.<#>) {asked}) * scale"


def server(tx: Transaction, workspace: str, model: str) -> VectorServer | None:
    """The comparison of vectors in the database; None if it is not available."""
    schema = schema_of(tx)
    return VectorServer(schema, workspace, model) if schema else None


def schema_of(tx: Transaction) -> str | None:
    """The schema of the column's type, quoted; None if there is no such column."""
    return tx.value(_SCHEMA) if tx.engine == "postgres" else None


def install(tx: Transaction) -> str:
    """Enable comparison in the server; returns the reason if that is not possible, else nothing.

    All existing vectors are converted under a lock: call it while there are few, or on request.
    """
    if tx.engine != "postgres" or schema_of(tx):
        return ""
    import psycopg

    try:
        with tx.savepoint():
            tx.no_timeout()
            tx.run("SELECT pg_advisory_xact_lock(?)", INSTALL_LOCK)
            _add_column(tx)
    except psycopg.Error as problem:
        return str(problem).splitlines()[0]
    return ""


def _add_column(tx: Transaction) -> None:
    if schema_of(tx):
        return  # another process was faster
    tx.run("CREATE EXTENSION IF NOT EXISTS vector")
    schema = tx.value(
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"
        " WHERE extname = 'vector'"
    )
    tx.run(_FUNCTION.format(schema=schema))
    tx.run(f"ALTER TABLE item_vector ADD COLUMN near {schema}.halfvec GENERATED ALWAYS AS (clew_near(data)) STORED")


def _text(numbers: Iterable[float]) -> str:
    return "[" + ",".join(str(int(number)) for number in numbers) + "]"


_SCHEMA = (
    "SELECT quote_ident(nspname) FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid"
    " JOIN pg_namespace ON pg_namespace.oid = typnamespace"
    " WHERE attrelid = to_regclass('item_vector') AND attname = 'near' AND NOT attisdropped"
)
_FUNCTION = (
    "CREATE OR REPLACE FUNCTION clew_near(data bytea) RETURNS {schema}.halfvec"
    " LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN"
    " (SELECT CAST(array_agg((get_byte(data, place) # 128) - 128 ORDER BY place) AS {schema}.halfvec)"
    " FROM generate_series(0, length(data) - 1) AS place)"
)
"""Signed bytes to numbers; its body is parsed on creation, so that dumps and search paths cannot change it."""
