"""Segments: consecutive changes of the index as arrays, with the postings of their words.

The rows of `item_terms` are the truth. A segment repeats them in a form that is read a hundred times as fast, so that a
starting process need not split every text into terms again. A segment that is missing, of another form or damaged
costs time, never an answer: its rows are read instead.

The segments of a workspace form a chain: the first begins at change 0 and each begins where the one before it ends
(`low` of one is `high` of the other). Later segments overrule earlier ones: an item that a later one holds, or lists
as `gone`, no longer counts in an earlier one. Numbers for words and names are private to each segment.
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
from clew.index.postings import FIELD_COUNT, Ints, Names, Numbers, PostingRun, build_run, cut, join_runs, kept_run
from clew.store.database import Database, Row, Transaction, placeholders
from clew.store.workspaces import find_workspace, next_count

NO_DOCUMENT = -1
CODED = ("source", "kind", "status", "speaker", "document")
"""Columns with few different values: each item has a number, and a list says what the numbers stand for."""

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Segment:
    """The items that changed after change `low`, up to change `high`. All arrays but `gone` have one row per item."""

    low: int
    high: int
    gone: Ints
    """Ids of items that earlier segments hold and that were removed since."""
    ids: Ints
    seq: Ints
    when: Ints
    question: NDArray[np.bool_]
    lengths: Numbers
    """The number of words in each field."""
    codes: dict[str, Codes]
    names: dict[str, list[Any]]
    refs: list[str]
    terms: list[str]
    run: PostingRun

    def __len__(self) -> int:
        return len(self.ids)


def build_segment(rows: Sequence[Row], low: int, high: int) -> Segment:
    """A segment of rows as `changed_items` gives them."""
    # `changed_items` joins the terms of a change with the item as it is now, so an item may already be gone.
    living = [row for row in rows if row["terms"] is not None and row["ref"] is not None]
    gone = [row["id"] for row in rows if row["terms"] is None or row["ref"] is None]
    vocabulary, texts = Names(), [row["terms"] for row in living]
    keys, lengths = cut(texts, vocabulary)
    names = {column: Names() for column in CODED}
    codes = _codes(living, names)
    return Segment(
        low=low,
        high=high,
        gone=np.array(gone, np.int64),
        ids=_column(living, "id"),
        seq=_column(living, "seq"),
        when=np.fromiter(map(_happened, living), np.int64, len(living)),
        question=np.fromiter(map(_asks, texts), bool, len(living)),
        lengths=lengths.astype(np.uint32),
        codes=codes,
        names={column: list(values) for column, values in names.items()},
        refs=[row["ref"] for row in living],
        terms=list(vocabulary),
        run=build_run(0, keys, lengths.sum(axis=1)),
    )


def _codes(rows: Sequence[Row], names: dict[str, Names]) -> dict[str, Any]:
    """What few values repeat in, as a number for each value; an item without a value has the empty one."""

    def coded(column: str) -> Iterator[int]:
        return (names[column][row[column] or ""] for row in rows)

    values = {column: coded(column) for column in ("source", "kind", "status", "speaker")}
    values["document"] = (_document(row, names["document"]) for row in rows)
    return {column: np.fromiter(numbers, np.int32, len(rows)) for column, numbers in values.items()}


def _column(rows: Sequence[Row], name: str) -> Ints:
    return np.fromiter((row[name] for row in rows), np.int64, len(rows))


def _document(row: Row, documents: Names) -> int:
    return documents[row["branch"], row["doc"]] if row["doc"] is not None else NO_DOCUMENT


def _happened(row: Row) -> int:
    return int(row["event_ts_ms"] if row["event_ts_ms"] is not None else row["ts_ms"])


def _asks(text: str) -> bool:
    """Whether the body, the second line of the terms, ends with the mark of a question."""
    return text.split("\n", 2)[1].endswith(QUESTION)


def join_segments(left: Segment, right: Segment) -> Segment:
    """One segment of two neighbours, without the items of the left one that the right one replaces or removes."""
    kept = ~np.isin(left.ids, np.concatenate((right.ids, right.gone)))
    # Only the left run can have lost items, so only its terms can have become unused.
    run, terms = _without_unused(kept_run(left.run, kept), left.terms)
    # The left one's numbers stay and the right one's are translated: the left run is the larger one, as a rule.
    numbers = Names(zip(terms, range(len(terms)), strict=True))
    mapped = numbers_for(right.terms, numbers)
    codes, names = _join_codes(left, right, kept)
    # Before the first segment there is nothing that could have gone.
    gone = np.setdiff1d(np.union1d(left.gone, right.gone), right.ids) if left.low else np.zeros(0, np.int64)
    return Segment(
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
    """The number of each value among these names; values that are new get the next numbers."""
    return np.fromiter(map(names.__getitem__, values), np.uint32, len(values))


def renamed(codes: Codes, numbers: Numbers) -> Codes:
    """Codes translated into other numbers. A code below 0 stands for no name and stays."""
    if not len(numbers):
        return codes
    return np.where(codes >= 0, numbers.astype(np.int32)[np.maximum(codes, 0)], codes)


def _join_codes(
    left: Segment, right: Segment, kept: NDArray[np.bool_]
) -> tuple[dict[str, Codes], dict[str, list[Any]]]:
    codes, names = {}, {}
    for column in CODED:
        known = Names(zip(left.names[column], range(len(left.names[column])), strict=True))
        mapped = renamed(right.codes[column], numbers_for(right.names[column], known))
        codes[column] = np.concatenate((left.codes[column][kept], mapped))
        names[column] = list(known)
    return codes, names


def _without_unused(run: PostingRun, terms: list[str]) -> tuple[PostingRun, list[str]]:
    """The run and its terms without terms that no item holds any more; otherwise joined segments would keep them."""
    used = np.unique(run.keys // np.uint32(FIELD_COUNT))
    if len(used) == len(terms):
        return run, terms
    numbers = np.zeros(len(terms), np.uint32)
    numbers[used] = np.arange(len(used), dtype=np.uint32)
    return run.renumbered(numbers), [terms[number] for number in used.tolist()]


# How a segment is stored. Each part (an array or a list) is cut into pieces of PIECE bytes with a checksum each, rows
# of `index_piece`. The row of `index_pack`, the label, is written last and gives the size of each part: without a
# label, pieces do not count, so a process that is killed while it writes leaves nothing that could be read.

FORM = 2
"""The number of the layout below. A segment of another form is not read, and is replaced."""
PIECE = 1 << 20
"""A megabyte: small enough that a transaction with some pieces does not keep other writers waiting."""
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


class DamagedSegment(Exception):
    """The stored pieces are not what was written."""


@dataclass(frozen=True)
class Label:
    """What the store says of a segment without reading its pieces; `sizes` are the bytes of each part."""

    number: int
    form: int
    low: int
    high: int
    items: int
    sizes: dict[str, int]


def labels(tx: Transaction, workspace: str) -> list[Label]:
    """The segments of a workspace, oldest changes first, as far as they form a chain that can be read."""
    sql = "SELECT number, form, low, high, items, sizes FROM index_pack WHERE workspace = ? ORDER BY low, high, number"
    chain: list[Label] = []
    for row in tx.all(sql, workspace):
        label = Label(**{**row, "sizes": orjson.loads(row["sizes"])})
        # Everything behind the first gap would overrule items of changes that nobody has read; it is left to the rows.
        if label.form != FORM or label.low != _end(chain):
            break
        chain.append(label)
    return chain


def _end(chain: list[Label]) -> int:
    """The last change that these segments hold."""
    return chain[-1].high if chain else 0


def read_segment(tx: Transaction, workspace: str, label: Label) -> Segment:
    parts: dict[str, NDArray[Any]] = {
        name: _read_part(tx, workspace, label, name).view(kind) for name, kind in _ARRAYS.items()
    }
    lists = {name: orjson.loads(_read_part(tx, workspace, label, name).tobytes()) for name in _LISTS}
    lengths = parts["lengths"].reshape(-1, FIELD_COUNT)
    return Segment(
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
        run=PostingRun(
            0,
            label.items,
            parts["words"],
            np.concatenate(([0], np.cumsum(lengths.sum(axis=1, dtype=np.int64)))),
            *(parts[name] for name in ("keys", "begins", "ends", "slots", "counts")),
        ),
    )


def _read_part(tx: Transaction, workspace: str, label: Label, name: str) -> NDArray[np.uint8]:
    """The bytes of one part, copied piece by piece into one array: a part stands in memory only once."""
    part, at = np.empty(label.sizes[name], np.uint8), 0
    for ordinal in range(-(-len(part) // PIECE)):
        for crc, data in tx.tuples(_READ_PIECE, workspace, label.number, name, ordinal):
            if crc32(data) != crc or at + len(data) > len(part):
                raise DamagedSegment(f"{name} of segment {label.number}")
            # Checked before it is copied: a damaged piece must not stand in an array that somebody ranks by.
            part[at : at + len(data)] = np.frombuffer(data, np.uint8)
            at += len(data)
    if at != len(part):
        raise DamagedSegment(f"{name} of segment {label.number}")
    return part


def store_segment(database: Database, workspace: str, segment: Segment, replaced: list[Label]) -> bool:
    """Store a segment in place of others; False when another process has stored one in the meantime.

    The pieces are written in short transactions, so that no other writer waits for all of them.
    """
    parts = _parts(segment)
    pieces = list(_pieces(parts))
    with database.write() as tx:
        number = _sweep(tx, workspace)
    for first in range(0, len(pieces), PIECES_AT_ONCE):
        with database.write() as tx:
            tx.many(_WRITE_PIECE, [(workspace, number, *piece) for piece in pieces[first : first + PIECES_AT_ONCE]])
    with database.write() as tx:
        # Locks the workspace on PostgreSQL, so that of two processes that finish together one sees the other's label.
        find_workspace(tx, workspace)
        whole = tx.value(_COUNT_PIECES, workspace, number) == len(pieces)
        if not whole or not _still_fits(tx, workspace, segment, replaced):
            _drop(tx, workspace, [number])
            return False
        _drop(tx, workspace, [label.number for label in replaced])
        sizes = orjson.dumps({name: len(part) for name, part in parts.items()}).decode()
        tx.run(_WRITE_LABEL, workspace, number, FORM, segment.low, segment.high, len(segment), sizes)
        return True


def _still_fits(tx: Transaction, workspace: str, segment: Segment, replaced: list[Label]) -> bool:
    """Whether the segment continues the chain once those it replaces are taken out of it."""
    chain = labels(tx, workspace)
    before = [label for label in chain if label not in replaced]
    return all(label in chain for label in replaced) and _end(before) == segment.low


def _sweep(tx: Transaction, workspace: str) -> int:
    """Drop what cannot be read or was never finished; returns the number for a new segment."""
    chained = {label.number for label in labels(tx, workspace)}
    stored = {
        row["number"]
        for table in ("index_pack", "index_piece")
        for row in tx.all(f"SELECT DISTINCT number FROM {table} WHERE workspace = ? ORDER BY number", workspace)
    }
    _drop(tx, workspace, sorted(stored - chained))
    return next_count(tx, workspace, "index_pack")


def drop_segments(tx: Transaction, workspace: str) -> None:
    for table in ("index_pack", "index_piece"):
        tx.run(f"DELETE FROM {table} WHERE workspace = ?", workspace)


def _drop(tx: Transaction, workspace: str, numbers: list[int]) -> None:
    if numbers:
        for table in ("index_pack", "index_piece"):
            sql = f"DELETE FROM {table} WHERE workspace = ? AND number IN ({placeholders(len(numbers))})"
            tx.run(sql, workspace, *numbers)


def _parts(segment: Segment) -> dict[str, NDArray[np.uint8]]:
    arrays: dict[str, NDArray[Any]] = {
        "gone": segment.gone,
        "ids": segment.ids,
        "seq": segment.seq,
        "moments": segment.when,
        "question": segment.question,
        "lengths": segment.lengths,
        **segment.codes,
        "words": segment.run.words,
        "keys": segment.run.keys,
        "begins": segment.run.begins,
        "ends": segment.run.ends,
        "slots": segment.run.slots,
        "counts": segment.run.counts,
    }
    parts: dict[str, NDArray[Any]] = {
        name: np.ascontiguousarray(arrays[name], kind).reshape(-1) for name, kind in _ARRAYS.items()
    }
    lists: dict[str, Any] = {"names": segment.names, "refs": segment.refs, "terms": segment.terms}
    return {
        **{name: part.view(np.uint8) for name, part in parts.items()},
        **{name: np.frombuffer(orjson.dumps(value), np.uint8) for name, value in lists.items()},
    }


def _pieces(parts: dict[str, NDArray[np.uint8]]) -> Iterator[tuple[str, int, int, bytes]]:
    """Rows of `index_piece`: name of the part, number of the piece, checksum, bytes."""
    for name, part in parts.items():
        for ordinal, at in enumerate(range(0, len(part), PIECE)):
            data = part[at : at + PIECE].tobytes()
            yield name, ordinal, crc32(data), data


def segment_stats(tx: Transaction, workspace: str) -> Row:
    """How much of the index stands in segments."""
    chain = labels(tx, workspace)
    return {
        "count": len(chain),
        "items": sum(label.items for label in chain),
        "change": _end(chain),
        "bytes": sum(sum(label.sizes.values()) for label in chain),
    }


_READ_PIECE = "SELECT crc, data FROM index_piece WHERE workspace = ? AND number = ? AND name = ? AND ordinal = ?"
_WRITE_PIECE = "INSERT INTO index_piece (workspace, number, name, ordinal, crc, data) VALUES (?, ?, ?, ?, ?, ?)"
_COUNT_PIECES = "SELECT count(*) FROM index_piece WHERE workspace = ? AND number = ?"
_WRITE_LABEL = "INSERT INTO index_pack (workspace, number, form, low, high, items, sizes) VALUES (?, ?, ?, ?, ?, ?, ?)"
