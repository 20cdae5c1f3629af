"""Vectors in the store: one for each item and model, eight bits a number, and how far each model has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.store.database import Transaction, placeholders
from clew.store.search import last_change

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Stored:
    id: int
    digest: str
    data: bytes


def packed(vector: Floats) -> bytes:
    """A scale and one signed byte for each number; a quarter of the room at no loss that ranking would notice."""
    scale = float(np.abs(vector).max(initial=0.0)) / 127 or 1.0
    return np.float32(scale).tobytes() + np.round(vector / scale).astype(np.int8).tobytes()


def unpacked(rows: Sequence[bytes], dimensions: int) -> tuple[Floats, NDArray[np.int8]]:
    """The scales and the bytes of many vectors."""
    joined = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), 4 + dimensions)
    scales = joined[:, :4].copy().view(np.float32)[:, 0]
    return scales, joined[:, 4:].view(np.int8)


def progress(tx: Transaction, workspace: str, model: str) -> int:
    """The last change of the index that this model has embedded."""
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
    sql = f"SELECT id, digest FROM vector WHERE workspace = ? AND model = ? AND id IN ({placeholders(len(ids))})"
    return {row["id"]: row["digest"] for row in tx.all(sql, workspace, model, *ids)} if ids else {}


def same_text(tx: Transaction, workspace: str, model: str, wanted: list[str]) -> dict[str, bytes]:
    """Vectors of texts that were embedded before, by digest."""
    if not wanted:
        return {}
    sql = (
        f"SELECT digest, data FROM vector WHERE workspace = ? AND model = ? AND digest IN ({placeholders(len(wanted))})"
    )
    return {row["digest"]: bytes(row["data"]) for row in tx.all(sql, workspace, model, *wanted)}


def keep(tx: Transaction, workspace: str, model: str, vectors: list[Stored], gone: list[int], change: int) -> None:
    """Write a batch and how far it reaches."""
    if gone:
        sql = f"DELETE FROM vector WHERE workspace = ? AND model = ? AND id IN ({placeholders(len(gone))})"
        tx.run(sql, workspace, model, *gone)
    for vector in vectors:
        tx.run(_PUT, workspace, model, vector.id, workspace, model, vector.digest, vector.data)
    tx.run(_PROGRESS, workspace, model, change)


def vectors_after(tx: Transaction, workspace: str, model: str, number: int, most: int) -> list[tuple[int, int, bytes]]:
    """Ids, numbers and bytes in the order of the numbers."""
    sql = "SELECT id, number, data FROM vector WHERE workspace = ? AND model = ? AND number > ? ORDER BY number LIMIT ?"
    return [(id, last, data) for id, last, data in tx.tuples(sql, workspace, model, number, most)]


def last_number(tx: Transaction, workspace: str, model: str) -> int:
    sql = "SELECT coalesce(max(number), 0) FROM vector WHERE workspace = ? AND model = ?"
    return int(tx.value(sql, workspace, model))


def count(tx: Transaction, workspace: str, model: str) -> int:
    return int(tx.value("SELECT count(*) FROM vector WHERE workspace = ? AND model = ?", workspace, model))


def forget_other_models(tx: Transaction, model: str) -> None:
    """Drop the vectors of every model but this one."""
    tx.run("DELETE FROM vector WHERE model <> ?", model)
    tx.run("DELETE FROM vector_progress WHERE model <> ?", model)


def restart(tx: Transaction, workspace: str, model: str) -> None:
    """Embed everything anew; what is stored serves until it is replaced."""
    tx.run("DELETE FROM vector_progress WHERE workspace = ? AND model = ?", workspace, model)


_PUT = (
    "INSERT INTO vector (workspace, model, id, number, digest, data) VALUES (?, ?, ?,"
    " (SELECT coalesce(max(number), 0) + 1 FROM vector WHERE workspace = ? AND model = ?), ?, ?)"
    " ON CONFLICT (workspace, model, id) DO UPDATE SET"
    " number = excluded.number, digest = excluded.digest, data = excluded.data"
)
_PROGRESS = (
    "INSERT INTO vector_progress (workspace, model, change) VALUES (?, ?, ?)"
    " ON CONFLICT (workspace, model) DO UPDATE SET change = excluded.change"
    " WHERE excluded.change > vector_progress.change"
)
