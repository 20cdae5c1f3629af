"""Trials cached on disk, so that fitting takes seconds: gathering asks thousands of questions.

A file holds one set asked by one arm. Its name holds a digest of everything that the trials depend on: the code of
recall and of the index, the shipped numbers, the readers, the data and the model. If any of it changes, they are
gathered again.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.recall.trials import Trial
from benchmarks.report import RESULTS

FOLDER = RESULTS / "trials"
ROOT = Path(__file__).resolve().parents[2]
CODE = ("src/clew/recall", "src/clew/index", "src/clew/memory/kernel_defaults.py", "benchmarks/recall")


def kept(name: str, arm: str, data: Iterable[Path], gather: Callable[[], list[Trial]]) -> list[Trial]:
    """The cached trials of this set and arm, or newly gathered ones."""
    path = FOLDER / f"{name}-{arm}-{_digest(data)}.pickle"
    if path.is_file():
        # The file is local: no other program writes into the results of a checkout.
        found: list[Trial] = pickle.loads(path.read_bytes())
        return found
    found = gather()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for older in FOLDER.glob(f"{name}-{arm}-*.pickle"):
        older.unlink()
    part = path.with_suffix(".part")
    part.write_bytes(pickle.dumps(found))
    part.replace(path)
    return found


def _digest(data: Iterable[Path]) -> str:
    found = hashlib.blake2b(digest_size=8)
    for place in (*(ROOT / name for name in CODE), *data):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and file.suffix != ".pyc":
                found.update(file.read_bytes())
    return found.hexdigest()
