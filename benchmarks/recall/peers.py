"""Other systems on the same turns: plain FTS5, plain BM25, mind-mem, the bare model. Each if it is installed."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.recall.bm25 import bm25
from benchmarks.recall.locomo import DEPTHS, Conversation, Search, Turn
from clew.errors import ClewError
from clew.recall.models import Embedder
from clew.recall.query import FILLER

MOST = DEPTHS[-1]
MIND_MEM = "mind-mem 5.0.3"
CHILD = Path(__file__).with_name("mind_mem_peer.py")
_WORD = re.compile(r"\w+")

MakeSearch = Callable[[Conversation], Search]


@dataclass(frozen=True)
class Peer:
    """Another search system: how to create it for a conversation, or how to install it."""

    name: str
    get: str
    make: MakeSearch | None = None


def peers(model: Embedder | None) -> list[Peer]:
    """All of them; those that cannot run here have no `make`."""
    minilm = (lambda conversation: by_meaning(conversation, model)) if model is not None else None
    return [
        Peer("SQLite FTS5 (porter)", "", fts5),
        Peer("BM25 (stemmed)", "", bm25),
        Peer(
            MIND_MEM,
            "pip install mind-mem==5.0.3, here or in an environment whose interpreter MIND_MEM_PYTHON names",
            mind_mem if mind_mem_python() else None,
        ),
        Peer("MiniLM alone", "unset CLEW_EMBEDDING_MODEL", minilm),
    ]


def fts5(conversation: Conversation) -> Search:
    library: Any = importlib.import_module("sqlite3")
    connection = library.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE VIRTUAL TABLE turn USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO turn VALUES (?, ?)", [(turn.id, turn.plain) for turn in conversation.turns])

    def search(query: str) -> list[str]:
        words = [word for word in _WORD.findall(query.lower()) if word not in FILLER]
        if not words:
            return []
        sql = "SELECT id FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT ?"
        match = " OR ".join(f'"{word}"' for word in words)
        return [row[0] for row in connection.execute(sql, (match, MOST))]

    return search


def by_meaning(conversation: Conversation, model: Embedder) -> Search:
    import numpy as np

    turns = conversation.turns
    matrix = model.embed([turn.plain for turn in turns])

    def search(query: str) -> list[str]:
        order = np.argsort(-(matrix @ model.embed_query(query)), kind="stable")
        return [turns[int(place)].id for place in order[:MOST]]

    return search


def mind_mem_python() -> str | None:
    """The interpreter that has mind-mem: the configured one, else this one."""
    named = os.environ.get("MIND_MEM_PYTHON")
    if named:
        return named
    return sys.executable if importlib.util.find_spec("mind_mem") else None


def mind_mem(conversation: Conversation) -> Search:
    """Its scan mode, which is its best at this; each turn is a block. All questions are asked in one batch."""
    questions = [question.text for question in conversation.questions]
    blocks = "\n---\n\n".join(_as_block(turn) for turn in conversation.turns)
    request = {"most": MOST, "blocks": blocks, "questions": questions}
    command = [mind_mem_python() or sys.executable, str(CHILD)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, input=json.dumps(request), capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ClewError("UNAVAILABLE", f"{command[0]} could not run mind-mem: {last[:300]}", "See MIND_MEM_PYTHON.")
    found: list[list[str]] = json.loads(done.stdout)
    answers = dict(zip(questions, found, strict=True))
    return lambda query: answers[query]


def _as_block(turn: Turn) -> str:
    said = " ".join(turn.plain.split())
    label = re.sub(r"[^A-Za-z0-9]+", "-", turn.id)
    return (
        f"[DIA-{label}]\nDate: {turn.date}\nStatus: active\nDiaID: {turn.id}\n"
        f"Tags: session-{turn.session}, {turn.speaker}\nStatement: {said}\n"
    )
