"""Recall itself on trial: the real store, the real operation, one workspace for each conversation."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.app import Clew, open_clew
from clew.recall.locomo import DEPTHS, Conversation, Search, store_turns
from clew.registry.context import Context, Progress
from clew.registry.session import Session
from clew.settings import load_settings


@contextmanager
def filled(conversations: list[Conversation], model: str) -> Iterator[Clew]:
    """A store of its own that holds the conversations, and is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="clew-bench-") as folder:
        flags = {"home": folder, "workspace": "bench", "workspace_lock": False, "embedding_model": model}
        clew = open_clew(load_settings(flags, {}, Path(folder)))
        try:
            for conversation in conversations:
                with Context(clew.dispatcher, Session(), conversation.name, None).writing() as ctx:
                    store_turns(ctx, conversation)
            yield clew
        finally:
            clew.close()


def embed_all(clew: Clew, conversations: list[Conversation], progress: Progress | None = None) -> bool:
    """Make the vectors of every conversation; False when there is no model."""
    for conversation in conversations:
        given = {"workspace": conversation.name, "include_vectors": True}
        answer = clew.dispatcher.call("reindex", given, Session(toolset="full"), progress)
        if not answer.ok or not answer.envelope["result"]["vectors"]:
            return False
    return True


def searches(clew: Clew, conversations: list[Conversation]) -> tuple[dict[str, Search], list[float]]:
    """A search for each conversation, and the seconds that each of its calls took."""
    seconds: list[float] = []

    def search_in(workspace: str) -> Search:
        def search(query: str) -> list[str]:
            given: dict[str, Any] = {"query": query, "limit": DEPTHS[-1], "sources": ["all"], "workspace": workspace}
            started = time.perf_counter()
            answer = clew.dispatcher.call("recall", given, Session(toolset="full"))
            seconds.append(time.perf_counter() - started)
            return [hit["_id"] for hit in answer.envelope["result"].get("results", [])]

        return search

    return {conversation.name: search_in(conversation.name) for conversation in conversations}, seconds
