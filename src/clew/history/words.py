"""The database's own text index over the turns: FTS5 on SQLite, tsvector under GIN on PostgreSQL.

A row's number is made of the workspace's number and the turn's: FTS5, which has no other columns, keeps a search to its
workspace by a range.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.store.database import Transaction

_TURN_BITS = 40
_WORD = re.compile(r"\w+")
MOST_WORDS = 40


def index_words(tx: Transaction, workspace: str, workspace_number: int, texts: Sequence[tuple[int, str]]) -> None:
    """Index turns, each a number and its text; what was indexed under the number before goes."""
    first = _first_row(workspace_number)
    if tx.engine == "sqlite":
        tx.many("DELETE FROM history_words WHERE rowid = ?", [(first + number,) for number, _ in texts])
        rows = [(first + number, text) for number, text in texts]
        tx.many("INSERT INTO history_words (rowid, text) VALUES (?, ?)", rows)
        return
    tx.many(
        "INSERT INTO history_words (workspace, number, words) VALUES (?, ?, to_tsvector('english', ?))"
        " ON CONFLICT (workspace, number) DO UPDATE SET words = excluded.words",
        [(workspace, first + number, text) for number, text in texts],
    )


def matching(tx: Transaction, workspace: str, workspace_number: int, query: str, most: int) -> list[int]:
    """The numbers of turns that share words with the query, the best first."""
    words = list(dict.fromkeys(_WORD.findall(query.lower())))[:MOST_WORDS]
    if not words:
        return []
    first = _first_row(workspace_number)
    if tx.engine == "sqlite":
        sql = (
            "SELECT rowid AS number FROM history_words WHERE history_words MATCH ?"
            " AND rowid BETWEEN ? AND ? ORDER BY rank, rowid DESC LIMIT ?"
        )
        last = first + (1 << _TURN_BITS) - 1
        rows = tx.all(sql, " OR ".join(f'"{word}"' for word in words), first, last, most)
    else:
        sql = (
            "SELECT number FROM history_words, to_tsquery('english', ?) AS asked WHERE workspace = ?"
            " AND words @@ asked ORDER BY ts_rank(words, asked) DESC, number DESC LIMIT ?"
        )
        rows = tx.all(sql, " | ".join(words), workspace, most)
    return [row["number"] - first for row in rows]


def _first_row(workspace_number: int) -> int:
    return workspace_number << _TURN_BITS
