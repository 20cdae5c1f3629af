"""A caller that talks to the gateway as a client does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from clew.app import Clew, open_clew
from clew.registry.envelope import Answer
from clew.registry.session import Session
from clew.settings import load_settings
from tests.conftest import Caller, TickingClock


class Thinker(Caller):
    """One connection to the gateway."""

    def __init__(self, clew: Clew, durable: bool = True, toolset: str = "full") -> None:
        super().__init__(clew, toolset)
        self.session = Session(toolset=toolset, durable=durable)

    def gate(self, operation: Any = None, /, **arguments: Any) -> Answer:
        return self.answer("thoughtbox_gateway", operation=operation, **arguments)

    def do(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a gateway call that must succeed."""
        answer = self.gate(operation, **arguments)
        assert answer.ok, answer.envelope["error"]
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def refused(self, operation: Any = None, /, **arguments: Any) -> dict[str, Any]:
        answer = self.gate(operation, **arguments)
        assert not answer.ok, answer.envelope["result"]
        assert orjson.loads(answer.text)["code"] == answer.envelope["error"]["code"]
        error: dict[str, Any] = answer.envelope["error"]
        return error

    def exported(self, session: str, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self("session_export", sessionId=session, **arguments)["content"])
        return found

    def think(self, text: str, **arguments: Any) -> dict[str, Any]:
        return self("thought", thought=text, **{"nextThoughtNeeded": True, **arguments})


@pytest.fixture
def thinker(clew: Clew) -> Thinker:
    """At stage 2, in a new session."""
    caller = Thinker(clew)
    caller.do("start_new", sessionTitle="Slow search", cipher=True)
    return caller


@contextmanager
def throwaway_thinker() -> Iterator[Thinker]:
    """For property tests: a fresh store for each example, on the engine that starts at once."""
    with tempfile.TemporaryDirectory() as folder:
        flags = {"home": Path(folder), "workspace": "ws", "workspace_lock": False}
        clew = open_clew(load_settings(flags, {}, Path(folder)), TickingClock())
        yield Thinker(clew)
        clew.close()
