"""pgvector, where a PostgreSQL server has it: vectors once more as `halfvec`, compared by the server.

The server makes that column itself from the bytes, so it can neither lag nor differ. Vectors and questions are whole
numbers (see `recall/likeness.py`): what the server adds up is exactly what a process would.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.store.database import Transaction

INSTALL_LOCK = 0x434C4556

Scores = list[tuple[int, float]]
"""Ids with the products of their vector and the question's numbers."""


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
        # Not by workspace: a planner without statistics would read all of its vectors and then drop most.
        sql = f"SELECT id, {self._product()} FROM item_vector WHERE model = ? AND id = ANY(?)"
        found = tx.tuples(sql, _text(numbers), self.model, ids) if ids else []
        return [(id, score) for id, score in found]

    def _product(self) -> str:
        # In a sub-select, so that the question is read once and not once for each row.
        asked = f"(SELECT CAST(CAST(? AS TEXT) AS {self.schema}.halfvec))"
        return f"-(near OPERATOR({self.schema}.<#>) {asked}) * scale"


def server(tx: Transaction, workspace: str, model: str) -> VectorServer | None:
    """What compares vectors in the database; None where it cannot."""
    schema = schema_of(tx)
    return VectorServer(schema, workspace, model) if schema else None


def schema_of(tx: Transaction) -> str | None:
    """Where the type of the column lives, quoted; None when there is no such column."""
    return tx.value(_SCHEMA) if tx.engine == "postgres" else None


def install(tx: Transaction) -> str:
    """Let the server compare vectors from now on; says why it will not, or nothing.

    All vectors that are there are converted under a lock: call it while there are few, or when somebody asked for it.
    """
    if tx.engine != "postgres" or schema_of(tx):
        return ""
    import psycopg

    try:
        with tx.attempt():
            tx.unhurried()
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
"""Signed bytes to numbers; a body that is parsed when it is made, so that dumps and search paths cannot change it."""
