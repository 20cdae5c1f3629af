"""A cache of vectors of the latest texts: a new text is needed by searches first and stored later."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
VECTORS_KEPT = 256
"""Of 1.5 kB each."""


class RecentVectors:
    def __init__(self, make: Callable[[list[str]], Iterable[Floats]]) -> None:
        self._make = make
        self._kept: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, texts: list[str]) -> Floats:
        """Vectors in the order of the texts."""
        known = self._known(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        # Outside of the lock: two threads may embed the same text, but none waits for another's text.
        made = dict(zip(missing, self._make(missing), strict=True)) if missing else {}
        self._keep(made)
        found = {**known, **made}
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def _known(self, texts: list[str]) -> dict[str, Floats]:
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
            for text in known:
                self._kept.move_to_end(text)
            return known

    def _keep(self, made: dict[str, Floats]) -> None:
        with self._lock:
            self._kept.update(made)
            while len(self._kept) > VECTORS_KEPT:
                self._kept.popitem(last=False)
