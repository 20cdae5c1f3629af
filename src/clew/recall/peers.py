"""What others reach on the same turns: plain FTS5, bm25s, mind-mem, the bare model. Each only where it is installed."""

from __future__ import annotations

import importlib
import importlib.util
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.recall.locomo import DEPTHS, Conversation, Search, Turn
from clew.recall.model import installed_model
from clew.recall.models import load
from clew.recall.query import FILLER

Peer = Callable[[list[Turn]], Search]
_WORD = re.compile(r"\w+")


def peers() -> dict[str, Peer]:
    """Those that can run here."""
    found: dict[str, Peer] = {"SQLite FTS5 (porter)": fts5}
    if importlib.util.find_spec("bm25s"):
        found["bm25s"] = bm25s
    if installed_model() is not None:
        found["MiniLM alone"] = minilm
    if importlib.util.find_spec("mind_mem"):
        found["mind-mem"] = mind_mem
    return found


def missing() -> list[str]:
    """How to bring those that cannot."""
    wanted = {"bm25s": "pip install bm25s", "mind_mem": "pip install mind-mem==5.0.3"}
    lines = [f"{name}: {how}" for name, how in wanted.items() if not importlib.util.find_spec(name)]
    return lines if installed_model() else [*lines, "MiniLM alone: pip install 'clew[semantic]'"]


def searches_of(peer: Peer, conversations: list[Conversation]) -> dict[str, Search]:
    return {conversation.name: peer(conversation.turns) for conversation in conversations}


def fts5(turns: list[Turn]) -> Search:
    library: Any = importlib.import_module("sqlite3")
    connection = library.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE turn USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO turn VALUES (?, ?)", [(turn.id, turn.plain) for turn in turns])

    def search(query: str) -> list[str]:
        words = [word for word in _WORD.findall(query.lower()) if word not in FILLER]
        if not words:
            return []
        sql = "SELECT id FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT ?"
        match = " OR ".join(f'"{word}"' for word in words)
        return [row[0] for row in connection.execute(sql, (match, DEPTHS[-1]))]

    return search


def bm25s(turns: list[Turn]) -> Search:
    import Stemmer

    library: Any = importlib.import_module("bm25s")
    stemmer = Stemmer.Stemmer("english")
    index = library.BM25()
    tokens = library.tokenize([turn.plain for turn in turns], stopwords="en", stemmer=stemmer, show_progress=False)
    index.index(tokens, show_progress=False)

    def search(query: str) -> list[str]:
        asked = library.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        found, _ = index.retrieve(asked, k=min(DEPTHS[-1], len(turns)), show_progress=False)
        return [turns[int(place)].id for place in found[0]]

    return search


def minilm(turns: list[Turn]) -> Search:
    import numpy as np

    files = installed_model()
    if files is None:
        return lambda query: []
    model = load(files)
    matrix = model.embed([turn.plain for turn in turns])

    def search(query: str) -> list[str]:
        order = np.argsort(-(matrix @ model.embed_query(query)), kind="stable")
        return [turns[int(place)].id for place in order[: DEPTHS[-1]]]

    return search


def mind_mem(turns: list[Turn]) -> Search:
    """Its scan mode, which is its best at this; each turn is a block of its own."""
    library: Any = importlib.import_module("mind_mem.recall")
    folder = tempfile.TemporaryDirectory(prefix="clew-peer-")
    path = Path(folder.name) / "decisions" / "DECISIONS.md"
    path.parent.mkdir(parents=True)
    path.write_text("\n---\n\n".join(_as_block(turn, number) for number, turn in enumerate(turns, 1)), encoding="utf-8")

    def search(query: str, kept: Any = folder) -> list[str]:
        found = library.recall(kept.name, query, limit=DEPTHS[-1])
        return [hit.get("DiaID") or hit.get("_id", "") for hit in found]

    return search


def _as_block(turn: Turn, number: int) -> str:
    said = " ".join(turn.plain.split())
    session, place = re.findall(r"\d+", turn.id)[:2]
    return (
        f"[DIA-D{session}-{place}]\nDate: {turn.date}\nStatus: active\nDiaID: {turn.id}\n"
        f"Tags: session-{session}, {turn.speaker}\nStatement: {said}\n"
    )
