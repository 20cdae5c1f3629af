"""A process that writes items and makes their vectors, telling of each round, until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.app import open_clew
from clew.index.items import Item, index_item, unindex_item
from clew.recall.filler import fill
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings


class LetterCounts:
    """An embedding model for tests: how often each letter occurs."""

    id = "letters"
    dimensions = 26

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for at, text in enumerate(texts):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    found[at, ord(letter) - ord("a")] += 1
        scaled: NDArray[np.float32] = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1)
        return scaled

    def embed_query(self, text: str) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.embed([text])[0]
        return found


def main(home: str, url: str, label: str) -> None:
    flags = {"home": Path(home), "database_url": url or None, "workspace": "ws", "embedding_model": "none"}
    clew = open_clew(load_settings(flags, {}))
    ctx, number = Context(clew.dispatcher, Connection(), "ws", None), 0
    while True:
        with ctx.writing() as bound:
            for _ in range(12):
                number += 1
                body = f"stone {label} river number {number}"
                item = Item(f"{label}-{number % 30}", "note", bound.ws.next_seq(), bound.now_ms, body=body)
                index_item(bound.tx, "ws", item)
            unindex_item(bound.tx, "ws", f"{label}-{number % 7}")
        print(number, flush=True)
        fill(ctx, LetterCounts())


if __name__ == "__main__":
    main(*sys.argv[1:4])
