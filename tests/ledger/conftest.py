"""A caller that talks to the gateway as a client does."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest

from clew.app import Clew
from clew.registry.connection import Connection
from clew.registry.envelope import Answer
from tests.conftest import Caller


class Thinker(Caller):
    """One connection to the gateway."""

    def __init__(self, clew: Clew, durable: bool = True, toolset: str = "full") -> None:
        super().__init__(clew, toolset)
        self.session = Connection(toolset=toolset, durable=durable)

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


_fresh = itertools.count(1)


def fresh_thinker(clew: Clew) -> Thinker:
    """For property tests: a workspace of its own for each example, in one store."""
    caller = Thinker(clew)
    caller.session.workspace_override = f"example-{next(_fresh)}"
    return caller
