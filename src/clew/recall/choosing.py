"""The best of many, in an order that depends on nothing but the values and the items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.recall.corpus import Corpus

Slots = NDArray[np.int64]


def best(values: NDArray[np.floating[Any]], allowed: NDArray[np.bool_], most: int, corpus: Corpus) -> Slots:
    """The slots of the highest values; at the border equal values are taken by item id, oldest first."""
    slots = np.flatnonzero(allowed)
    if len(slots) <= most:
        return slots
    border = np.partition(values[slots], len(slots) - most)[len(slots) - most]
    above, level = slots[values[slots] > border], slots[values[slots] == border]
    level = level[np.argsort(corpus.ids[level], kind="stable")][: most - len(above)]
    return np.concatenate((above, level))
