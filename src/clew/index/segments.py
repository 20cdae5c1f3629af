"""A pack: the items of consecutive changes of the index as arrays, with their words sorted by term.

Rows of the store are the truth. A pack says the same in a form that is read a hundred times as fast, so that a process
that starts need not cut every text again. Its numbers for words and names are its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import orjson
from numpy.typing import NDArray

from clew.index.items import QUESTION
from clew.index.postings import FIELD_COUNT, Ints, Names, Numbers, Run, build_run, cut, join_runs, kept_run
from clew.store.database import Database, Row, Transaction, placeholders
from clew.store.workspaces import find_workspace

NO_DOCUMENT = -1
CODED = ("source", "status", "speaker", "document")
"""Columns of few values: a number for each item, and a list of what the numbers stand for."""

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Pack:
    low: int
    """Holds what was written after this change,"""
    high: int
    """up to this one."""
    gone: Ints
    """Items that older packs hold and that were removed since."""
    ids: Ints
    seq: Ints
    when: Ints
    question: NDArray[np.bool_]
    lengths: Numbers
    """Words in each field, a row for each item."""
    codes: dict[str, Codes]
    names: dict[str, list[Any]]
    refs: list[str]
    terms: list[str]
    run: Run

    def __len__(self) -> int:
        return len(self.ids)


def pack_rows(rows: Sequence[Row], low: int, high: int) -> Pack:
    """A pack of rows as `changed_items` gives them."""
    # A row can be gone already although an earlier change of this chunk wrote it.
    there = [row for row in rows if row["terms"] is not None and row["ref"] is not None]
    gone = [row["id"] for row in rows if row["terms"] is None or row["ref"] is None]
    vocabulary, texts = Names(), [row["terms"] for row in there]
    keys, lengths = cut(texts, vocabulary)
    names = {column: Names() for column in CODED}
    coded = {
        "source": (names["source"][row["source"]] for row in there),
        "status": (names["status"][row["status"] or ""] for row in there),
        "speaker": (names["speaker"][row["speaker"] or ""] for row in there),
        "document": (_document(row, names["document"]) for row in there),
    }
    codes = {column: np.fromiter(values, np.int32, len(there)) for column, values in coded.items()}
    return Pack(
        low=low,
        high=high,
        gone=np.array(gone, np.int64),
        ids=_column(there, "id"),
        seq=_column(there, "seq"),
        when=np.fromiter(map(_happened, there), np.int64, len(there)),
        question=np.fromiter(map(_asks, texts), bool, len(there)),
        lengths=lengths.astype(np.uint32),
        codes=codes,
        names={column: list(values) for column, values in names.items()},
        refs=[row["ref"] for row in there],
        terms=list(vocabulary),
        run=build_run(0, keys, lengths.sum(axis=1)),
    )


def _column(rows: Sequence[Row], name: str) -> Ints:
    return np.fromiter((row[name] for row in rows), np.int64, len(rows))


def _document(row: Row, documents: Names) -> int:
    return documents[row["branch"], row["doc"]] if row["doc"] is not None else NO_DOCUMENT


def _happened(row: Row) -> int:
    return int(row["event_ts_ms"] if row["event_ts_ms"] is not None else row["ts_ms"])


def _asks(text: str) -> bool:
    """The body of a question ends with a mark of its own."""
    return text.split("\n", 2)[1].endswith(QUESTION)


def joined(left: Pack, right: Pack) -> Pack:
    """One pack of two that follow each other. What the right one replaces is left out."""
    kept = ~np.isin(left.ids, np.concatenate((right.ids, right.gone)))
    run, terms = _used(kept_run(left.run, kept), left.terms)
    numbers = Names(zip(terms, range(len(terms)), strict=True))
    mapped = numbers_for(right.terms, numbers)
    codes, names = _joined_codes(left, right, kept)
    # Before the first pack there is nothing that could be gone.
    gone = np.setdiff1d(np.union1d(left.gone, right.gone), right.ids) if left.low else np.zeros(0, np.int64)
    return Pack(
        low=left.low,
        high=right.high,
        gone=gone,
        ids=np.concatenate((left.ids[kept], right.ids)),
        seq=np.concatenate((left.seq[kept], right.seq)),
        when=np.concatenate((left.when[kept], right.when)),
        question=np.concatenate((left.question[kept], right.question)),
        lengths=np.concatenate((left.lengths[kept], right.lengths)),
        codes=codes,
        names=names,
        refs=[ref for ref, stays in zip(left.refs, kept.tolist(), strict=True) if stays] + right.refs,
        terms=list(numbers),
        run=join_runs(run, right.run.renumbered(mapped)),
    )


def numbers_for(values: Sequence[Any], names: Names) -> Numbers:
    """What each of a pack's own numbers is among these names; new ones are added."""
    return np.fromiter(map(names.__getitem__, values), np.uint32, len(values))


def renamed(codes: Codes, numbers: Numbers) -> Codes:
    """Codes in other numbers; what is below 0 stands for no name and stays."""
    if not len(numbers):
        return codes
    return np.where(codes >= 0, numbers.astype(np.int32)[np.maximum(codes, 0)], codes)


def _joined_codes(left: Pack, right: Pack, kept: NDArray[np.bool_]) -> tuple[dict[str, Codes], dict[str, list[Any]]]:
    codes, names = {}, {}
    for column in CODED:
        known = Names(zip(left.names[column], range(len(left.names[column])), strict=True))
        mapped = renamed(right.codes[column], numbers_for(right.names[column], known))
        codes[column] = np.concatenate((left.codes[column][kept], mapped))
        names[column] = list(known)
    return codes, names


def _used(run: Run, terms: list[str]) -> tuple[Run, list[str]]:
    """Without words that no item holds any more."""
    held = np.unique(run.keys // np.uint32(FIELD_COUNT))
    if len(held) == len(terms):
        return run, terms
    numbers = np.zeros(len(terms), np.uint32)
    numbers[held] = np.arange(len(held), dtype=np.uint32)
    return run.renumbered(numbers), [terms[number] for number in held.tolist()]


FORM = 1
"""The layout below. A pack of another form is not read, and is replaced."""
PIECE = 1 << 20
PIECES_AT_ONCE = 4

_ARRAYS = {
    "gone": np.int64,
    "ids": np.int64,
    "seq": np.int64,
    "moments": np.int64,
    "question": np.bool_,
    "lengths": np.uint32,
    **dict.fromkeys(CODED, np.int32),
    "words": np.uint32,
    "keys": np.uint32,
    "begins": np.int64,
    "ends": np.int64,
    "slots": np.int32,
    "counts": np.uint16,
}
_LISTS = ("names", "refs", "terms")


class DamagedPack(Exception):
    """Not what was written."""


@dataclass(frozen=True)
class Label:
    """What stands on a pack."""

    number: int
    form: int
    low: int
    high: int
    items: int
    sizes: dict[str, int]
    """Bytes of each part."""


def labels(tx: Transaction, workspace: str) -> list[Label]:
    """The packs of a workspace, oldest changes first, as far as they follow each other."""
    sql = "SELECT number, form, low, high, items, sizes FROM index_pack WHERE workspace = ? ORDER BY low, high, number"
    found: list[Label] = []
    for row in tx.all(sql, workspace):
        label = Label(**{**row, "sizes": orjson.loads(row["sizes"])})
        if label.form != FORM or label.low != (found[-1].high if found else 0):
            break
        found.append(label)
    return found


def packed_to(tx: Transaction, workspace: str) -> int:
    """The last change that packs hold."""
    found = labels(tx, workspace)
    return found[-1].high if found else 0


def read_pack(tx: Transaction, workspace: str, label: Label) -> Pack:
    parts = {name: _array(tx, workspace, label, name, kind) for name, kind in _ARRAYS.items()}
    lists = {name: orjson.loads(_bytes(tx, workspace, label, name).tobytes()) for name in _LISTS}
    lengths = parts["lengths"].reshape(-1, FIELD_COUNT)
    return Pack(
        low=label.low,
        high=label.high,
        gone=parts["gone"],
        ids=parts["ids"],
        seq=parts["seq"],
        when=parts["moments"],
        question=parts["question"],
        lengths=lengths,
        codes={column: parts[column] for column in CODED},
        names={**lists["names"], "document": [tuple(place) for place in lists["names"]["document"]]},
        refs=lists["refs"],
        terms=lists["terms"],
        run=Run(
            0,
            label.items,
            parts["words"],
            np.concatenate(([0], np.cumsum(lengths.sum(axis=1, dtype=np.int64)))),
            *(parts[name] for name in ("keys", "begins", "ends", "slots", "counts")),
        ),
    )


def _array(tx: Transaction, workspace: str, label: Label, name: str, kind: Any) -> NDArray[Any]:
    return _bytes(tx, workspace, label, name).view(kind)


def _bytes(tx: Transaction, workspace: str, label: Label, name: str) -> NDArray[np.uint8]:
    """A part in one piece, filled piece by piece, so that it stands in memory only once."""
    found, at = np.empty(label.sizes[name], np.uint8), 0
    for ordinal in range(-(-len(found) // PIECE)):
        for crc, data in tx.tuples(_READ_PIECE, workspace, label.number, name, ordinal):
            if crc32(data) != crc or at + len(data) > len(found):
                raise DamagedPack(f"{name} of pack {label.number}")
            found[at : at + len(data)] = np.frombuffer(data, np.uint8)
            at += len(data)
    if at != len(found):
        raise DamagedPack(f"{name} of pack {label.number}")
    return found


def keep_pack(database: Database, workspace: str, pack: Pack, replaced: list[Label]) -> bool:
    """Store a pack in place of others; False when another process was first.

    The pieces go in by short transactions, so that no writer waits for all of them. They count once their label is
    there; what a killed process leaves without one is swept away by the next.
    """
    parts = _parts(pack)
    pieces = list(_pieces(parts))
    with database.write() as tx:
        number = _sweep(tx, workspace)
    for first in range(0, len(pieces), PIECES_AT_ONCE):
        with database.write() as tx:
            tx.many(_WRITE_PIECE, [(workspace, number, *piece) for piece in pieces[first : first + PIECES_AT_ONCE]])
    with database.write() as tx:
        return _finish(tx, workspace, number, pack, parts, len(pieces), replaced)


def _finish(
    tx: Transaction,
    workspace: str,
    number: int,
    pack: Pack,
    parts: dict[str, NDArray[np.uint8]],
    pieces: int,
    replaced: list[Label],
) -> bool:
    find_workspace(tx, workspace)  # On PostgreSQL this makes two who finish at once wait for each other.
    known = labels(tx, workspace)
    before = [label for label in known if label not in replaced]
    whole = tx.value(_COUNT_PIECES, workspace, number) == pieces
    if not whole or [label for label in replaced if label not in known] or _end(before) != pack.low:
        _drop(tx, workspace, [number])
        return False
    _drop(tx, workspace, [label.number for label in replaced])
    sizes = orjson.dumps({name: len(part) for name, part in parts.items()}).decode()
    tx.run(_WRITE_LABEL, workspace, number, FORM, pack.low, pack.high, len(pack), sizes)
    return True


def _end(found: list[Label]) -> int:
    return found[-1].high if found else 0


def _sweep(tx: Transaction, workspace: str) -> int:
    """Drop what cannot be read or was never finished; returns a number for a new pack."""
    known = {label.number for label in labels(tx, workspace)}
    stored = {
        row["number"]
        for table in ("index_pack", "index_piece")
        for row in tx.all(f"SELECT DISTINCT number FROM {table} WHERE workspace = ? ORDER BY number", workspace)
    }
    _drop(tx, workspace, sorted(stored - known))
    sql = (
        "INSERT INTO counter (workspace, name, value) VALUES (?, 'index_pack', 1)"
        " ON CONFLICT (workspace, name) DO UPDATE SET value = counter.value + 1 RETURNING value"
    )
    return int(tx.value(sql, workspace))


def drop_packs(tx: Transaction, workspace: str) -> None:
    for table in ("index_pack", "index_piece"):
        tx.run(f"DELETE FROM {table} WHERE workspace = ?", workspace)


def _drop(tx: Transaction, workspace: str, numbers: list[int]) -> None:
    if numbers:
        for table in ("index_pack", "index_piece"):
            sql = f"DELETE FROM {table} WHERE workspace = ? AND number IN ({placeholders(len(numbers))})"
            tx.run(sql, workspace, *numbers)


def _parts(pack: Pack) -> dict[str, NDArray[np.uint8]]:
    arrays: dict[str, NDArray[Any]] = {
        "gone": pack.gone,
        "ids": pack.ids,
        "seq": pack.seq,
        "moments": pack.when,
        "question": pack.question,
        "lengths": pack.lengths,
        **pack.codes,
        "words": pack.run.words,
        "keys": pack.run.keys,
        "begins": pack.run.begins,
        "ends": pack.run.ends,
        "slots": pack.run.slots,
        "counts": pack.run.counts,
    }
    parts: dict[str, NDArray[Any]] = {
        name: np.ascontiguousarray(arrays[name], kind).reshape(-1) for name, kind in _ARRAYS.items()
    }
    lists: dict[str, Any] = {"names": pack.names, "refs": pack.refs, "terms": pack.terms}
    return {
        **{name: part.view(np.uint8) for name, part in parts.items()},
        **{name: np.frombuffer(orjson.dumps(value), np.uint8) for name, value in lists.items()},
    }


def _pieces(parts: dict[str, NDArray[np.uint8]]) -> Iterator[tuple[str, int, int, bytes]]:
    for name, part in parts.items():
        for ordinal, at in enumerate(range(0, len(part), PIECE)):
            data = part[at : at + PIECE].tobytes()
            yield name, ordinal, crc32(data), data


def pack_stats(tx: Transaction, workspace: str) -> Row:
    """How much of the index is packed, for whoever asks about its state."""
    found = labels(tx, workspace)
    return {
        "count": len(found),
        "items": sum(label.items for label in found),
        "change": _end(found),
        "bytes": sum(sum(label.sizes.values()) for label in found),
    }


_READ_PIECE = "SELECT crc, data FROM index_piece WHERE workspace = ? AND number = ? AND name = ? AND ordinal = ?"
_WRITE_PIECE = "INSERT INTO index_piece (workspace, number, name, ordinal, crc, data) VALUES (?, ?, ?, ?, ?, ?)"
_COUNT_PIECES = "SELECT count(*) FROM index_piece WHERE workspace = ? AND number = ?"
_WRITE_LABEL = "INSERT INTO index_pack (workspace, number, form, low, high, items, sizes) VALUES (?, ?, ?, ?, ?, ?, ?)"
