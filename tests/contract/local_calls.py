"""Calls of a person at the shell, who may name any workspace."""

from __future__ import annotations

from typing import Any

from clew.app import Clew
from clew.registry.connection import Connection

LOCAL = Connection(toolset="full", durable=False, local=True)


def call(clew: Clew, name: str, **arguments: Any) -> dict[str, Any]:
    answer = clew.dispatcher.call(name, {"fmt": "json", **arguments}, LOCAL)
    assert answer.ok, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result
