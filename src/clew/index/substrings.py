"""A trigram index for substring search: every three consecutive characters of a text are a term.

A row's number combines the workspace's number and the seq of the record that the text belongs to. SQLite has the index
as an FTS5 table without content, in which a search keeps to its workspace by a range of numbers. PostgreSQL has it as
arrays under GIN: a term together with its workspace is one whole number. The index finds candidates; the caller
compares the text itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32

from clew.store.database import Transaction

SHORTEST = 3
MOST_TERMS = 4
MOST_CANDIDATES = 1000
NEWEST, COMMON = 300, 3
"""Threshold: with so many matches among so many of the newest texts, a scan of the texts soon fills its page."""
_SEQ_BITS = 40
_FREQUENT = " etaoinsrhldcumfpgwybvkxjqz"
"""Letters of English text and code, the most frequent first; all other characters are rarer."""


def index_substrings(tx: Transaction, workspace_number: int, seq: int, text: str) -> None:
    row = _first_row(workspace_number) + seq
    if tx.engine == "sqlite":
        tx.run("INSERT INTO node_grams (rowid, folded) VALUES (?, ?)", row, text)
    else:
        grams = _array(workspace_number, _terms(text))
        tx.run("INSERT INTO node_grams (number, grams) VALUES (?, CAST(? AS INTEGER[]))", row, grams)


def forget_substrings(tx: Transaction, workspace_number: int, seq: int, text: str) -> None:
    """Remove a text from the index; a contentless index must be given the original text."""
    row = _first_row(workspace_number) + seq
    if tx.engine == "sqlite":
        tx.run("INSERT INTO node_grams (node_grams, rowid, folded) VALUES ('delete', ?, ?)", row, text)
    else:
        tx.run("DELETE FROM node_grams WHERE number = ?", row)


def candidates(tx: Transaction, workspace_number: int, text: str) -> tuple[int, ...] | None:
    """Seqs of all texts that may contain this one; None if there are many or the index does not help."""
    if len(text) < SHORTEST:
        return None
    find = _by_words if tx.engine == "sqlite" else _by_arrays
    rows = find(tx, workspace_number, _rarest(text))
    if rows is None or len(rows) > MOST_CANDIDATES:
        return None
    first = _first_row(workspace_number)
    # Newest first, as views are read.
    return tuple(sorted((row - first for row in rows), reverse=True))


def _by_words(tx: Transaction, workspace_number: int, terms: list[str]) -> list[int]:
    rows = tx.all(
        "SELECT rowid AS number FROM node_grams WHERE node_grams MATCH ? AND rowid BETWEEN ? AND ?"
        " ORDER BY rowid DESC LIMIT ?",
        " AND ".join('"' + term.replace('"', '""') + '"' for term in terms),
        *_range(workspace_number),
        MOST_CANDIDATES + 1,
    )
    return [row["number"] for row in rows]


def _by_arrays(tx: Transaction, workspace_number: int, terms: list[str]) -> list[int] | None:
    """GIN reads all matches before it returns the first, so it is used only for terms that do not look common."""
    grams = _array(workspace_number, terms)
    newest = "SELECT grams FROM node_grams WHERE number BETWEEN ? AND ? ORDER BY number DESC LIMIT ?"
    sample = f"SELECT count(*) FROM ({newest}) AS newest WHERE grams @> CAST(? AS INTEGER[])"
    low, high = _range(workspace_number)
    if tx.value(sample, low, high, NEWEST, grams) >= COMMON:
        return None
    sql = "SELECT number FROM node_grams WHERE grams @> CAST(? AS INTEGER[]) LIMIT ?"
    rows = tx.all(sql, grams, MOST_CANDIDATES + 1)
    # Two workspaces may share a number; if the limit was reached, more of ours may come after it.
    ours = [row["number"] for row in rows if low <= row["number"] <= high]
    return ours if len(rows) <= MOST_CANDIDATES else None


def _first_row(workspace_number: int) -> int:
    """Row numbers of a workspace are this plus a seq."""
    return workspace_number << _SEQ_BITS


def _range(workspace_number: int) -> tuple[int, int]:
    first = _first_row(workspace_number)
    return first, first + (1 << _SEQ_BITS) - 1


def _terms(text: str) -> set[str]:
    return {text[place : place + SHORTEST] for place in range(len(text) - SHORTEST + 1)}


def _array(workspace_number: int, terms: Iterable[str]) -> str:
    """Terms as PostgreSQL reads an array of numbers."""
    return "{" + ",".join([_number(workspace_number, term) for term in terms]) + "}"


@lru_cache(maxsize=20_000)
def _number(workspace_number: int, term: str) -> str:
    """Two terms may share a number: it only finds candidates."""
    # The workspace seeds the checksum, so the same letters of two workspaces are two numbers; shifted into INTEGER.
    return str(crc32(term.encode(), workspace_number) - 2**31)


def _rarest(text: str) -> list[str]:
    """The terms of the text that look rarest. Fewer terms are faster and give hardly more false candidates."""
    return sorted(_terms(text), key=lambda term: (-sum(map(_rarity, term)), term))[:MOST_TERMS]


def _rarity(character: str) -> int:
    place = _FREQUENT.find(character)
    return place if place >= 0 else len(_FREQUENT)
