"""`kill -9` while the index is written and embedded: it says what the data says, and the work goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from clew.app import Clew
from clew.index import vectors
from clew.index.items import disagreements
from clew.recall.corpus import Corpus
from clew.recall.filler import fill
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller
from tests.process.indexer import LetterCounts

ROUNDS = 4


def killed_at_work(home: Path, url: str, label: str, after: int) -> None:
    """A process that is killed once it has reported `after` times, wherever it is by then."""
    command = [sys.executable, "-m", "tests.process.indexer", str(home), url, label]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after):
            assert process.stdout.readline(), "the process ended by itself"
        process.kill()


def alive(corpus: Corpus) -> dict[str, list[str]]:
    words = corpus.words()
    return {
        corpus.refs[slot]: [words[key // 4] for key in corpus.reading(slot).tolist()]
        for slot in np.flatnonzero(corpus.alive).tolist()
    }


def test_the_index_agrees_with_the_data_after_a_kill(database_flags: dict[str, Any], clew: Clew) -> None:
    home, url = Path(database_flags["home"]), database_flags.get("database_url", "")
    ctx, model = Context(clew.dispatcher, Connection(), "ws", None), LetterCounts()
    for number in range(ROUNDS):
        killed_at_work(home, url, f"p{number}", 3 + 2 * number)
        corpus = Corpus()
        with clew.database.read() as tx:
            assert disagreements(tx, "ws") == []
            corpus.refresh(tx, "ws")
            rows = tx.all("SELECT ref, terms FROM item JOIN item_terms ON item_terms.id = item.id ORDER BY ref")
        assert alive(corpus) == {row["ref"]: row["terms"].split() for row in rows}
    fill(ctx, model)
    with clew.database.read() as tx:
        assert vectors.lag(tx, "ws", model.id) == 0
        assert disagreements(tx, "ws") == []
    assert clew.database.integrity() == []
    assert Caller(clew)("index_stats")["disagreements"] == []
