"""A pack: the items of consecutive changes of the index as arrays, with their words sorted by term.

Rows of the store are the truth. A pack says the same in a form that is read a hundred times as fast, so that a process
that starts need not cut every text again. Its numbers for words and names are its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.store.database import Row
from clew.store.items import QUESTION
from clew.store.postings import FIELD_COUNT, Ints, Names, Numbers, Run, build_run, cut, join_runs, kept_run

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
