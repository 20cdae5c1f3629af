"""A map from item ids to rows of an array, in a tenth of the memory of a dict.

Most ids are read together when a process starts: they stand in a sorted array. The few that change later stand in a
dict, which overrules the array and is merged into it when it has grown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

ABSENT = -1
MOST_RECENT = 1_000
"""A merge copies the whole array, so it is done once for so many changes."""


class Positions:
    def __init__(self) -> None:
        self._ids = np.zeros(0, np.int64)
        self._at = np.zeros(0, np.int64)
        self._recent: dict[int, int] = {}

    def get(self, id: int, default: int | None = None) -> int | None:
        at = self._recent.get(id)
        if at is None:
            found = int(self._ids.searchsorted(np.int64(id)))
            at = int(self._at[found]) if found < len(self._ids) and self._ids[found] == id else ABSENT
        return default if at == ABSENT else at

    def __contains__(self, id: int) -> bool:
        return self.get(id) is not None

    def __getitem__(self, id: int) -> int:
        at = self.get(id)
        if at is None:
            raise KeyError(id)
        return at

    def of(self, ids: Ints) -> Ints:
        """The positions of many ids; ABSENT for those that have none."""
        self._settle()
        if not len(self._ids):
            return np.full(len(ids), ABSENT, np.int64)
        found = np.minimum(self._ids.searchsorted(ids), len(self._ids) - 1)
        return np.where(self._ids[found] == ids, self._at[found], ABSENT)

    def put(self, ids: Ints, first: int) -> None:
        """Give these ids the positions from `first` on."""
        self._set(ids, np.arange(first, first + len(ids), dtype=np.int64))

    def drop(self, ids: Ints) -> None:
        self._set(ids, np.full(len(ids), ABSENT, np.int64))

    def _set(self, ids: Ints, at: Ints) -> None:
        # Settled first: what is set now must overrule what stands in the dict.
        if len(ids) + len(self._recent) > MOST_RECENT:
            self._settle()
            self._merge(ids, at)
        else:
            self._recent.update(zip(ids.tolist(), at.tolist(), strict=True))

    def _settle(self) -> None:
        if self._recent:
            count = len(self._recent)
            ids, at = np.fromiter(self._recent, np.int64, count), np.fromiter(self._recent.values(), np.int64, count)
            self._recent = {}
            self._merge(ids, at)

    def _merge(self, ids: Ints, at: Ints) -> None:
        kept, stays = ~np.isin(self._ids, ids), at != ABSENT
        ids, at = np.concatenate((self._ids[kept], ids[stays])), np.concatenate((self._at[kept], at[stays]))
        order = np.argsort(ids, kind="stable")
        self._ids, self._at = ids[order], at[order]
