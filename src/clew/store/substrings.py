"""An index for "holds this text": every three characters in a row of a text are a term.

SQLite has it as an FTS5 table without content. A row's number is made of the workspace's number and the seq of what the
text belongs to, so that a search keeps to its workspace and walks from the newest to the oldest. The index finds
candidates; whoever asks compares the text itself. PostgreSQL compares texts fast enough without it.
"""

from __future__ import annotations

from clew.store.database import Transaction

SHORTEST = 3
MOST_TERMS = 4
MOST_CANDIDATES = 1000
_SEQ_BITS = 40
_COMMON = " etaoinsrhldcumfpgwybvkxjqz"
"""Letters of English text and code, the most frequent first; all other characters are rarer."""


def index_substrings(tx: Transaction, workspace_number: int, seq: int, text: str) -> None:
    if tx.engine == "sqlite":
        tx.run("INSERT INTO node_grams (rowid, folded) VALUES (?, ?)", _first_row(workspace_number) + seq, text)


def candidates(tx: Transaction, workspace_number: int, text: str) -> tuple[int, ...] | None:
    """Seqs of all texts that may hold this one; None when they are many or the index does not help."""
    if tx.engine != "sqlite" or len(text) < SHORTEST:
        return None
    first = _first_row(workspace_number)
    rows = tx.all(
        "SELECT rowid AS number FROM node_grams WHERE node_grams MATCH ? AND rowid BETWEEN ? AND ?"
        " ORDER BY rowid DESC LIMIT ?",
        _query(text),
        first,
        first + (1 << _SEQ_BITS) - 1,
        MOST_CANDIDATES + 1,
    )
    return None if len(rows) > MOST_CANDIDATES else tuple(row["number"] - first for row in rows)


def _first_row(workspace_number: int) -> int:
    """Row numbers of a workspace are this plus a seq."""
    return workspace_number << _SEQ_BITS


def _query(text: str) -> str:
    """All of the text's terms that look rarest. Fewer are quicker and let hardly more through."""
    terms = dict.fromkeys(text[place : place + SHORTEST] for place in range(len(text) - SHORTEST + 1))
    rarest = sorted(terms, key=lambda term: (-sum(map(_rarity, term)), term))[:MOST_TERMS]
    return " AND ".join('"' + term.replace('"', '""') + '"' for term in rarest)


def _rarity(character: str) -> int:
    place = _COMMON.find(character)
    return place if place >= 0 else len(_COMMON)
