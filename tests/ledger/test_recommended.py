"""What the gateway recommends to call is called by names of its schema: some clients refuse others before they send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clew.app import Clew
from clew.contracts.thoughtbox.gateway import OPERATIONS, served, wire_name
from clew.registry.catalogue import OperationEntry
from clew.registry.connection import Connection
from tests.contract import lived_in


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    clew = lived_in.open(tmp_path_factory.mktemp("recommended"), embedding_model="none")
    yield clew
    clew.close()


class Client:
    """It keeps all that it was told."""

    def __init__(self, clew: Clew) -> None:
        self.clew, self.connection = clew, Connection(toolset="thoughtbox")
        self.told: list[Any] = []

    def send(self, operation: str, /, **args: Any) -> Any:
        answer = self.clew.dispatcher.call(
            "thoughtbox_gateway", {"operation": operation, "args": args}, self.connection
        )
        self.told += [answer.structured, answer.envelope["suggestions"]]
        return answer.structured


def recommended(told: Any) -> Iterator[dict[str, Any]]:
    """Every call that is shown, wherever it stands."""
    if isinstance(told, dict):
        if isinstance(told.get("operation"), str):
            yield told
        told = list(told.values())
    for item in told if isinstance(told, list) else ():
        yield from recommended(item)


@pytest.mark.parametrize("entry", served(), ids=lambda entry: entry.name)
def test_all_that_an_operation_recommends_can_be_sent(lived: Clew, entry: OperationEntry) -> None:
    client, wire = Client(lived), wire_name(entry)
    client.send(wire, zebra=1)
    client.send("get_state")
    client.send("start_new", sessionTitle="A", cipher=True)
    for text in ("S1|O|one", "S2|H|S1|two"):
        client.send("thought", thought=text, nextThoughtNeeded=True)
    refused = client.send(wire, **entry.example, zebra=1)
    assert refused["example"] and refused["code"] == "INVALID_PAYLOAD"
    if entry.name != "notebook_install_deps":  # it asks a registry
        for more in ({}, {"limit": 1}, {"max_chars": 40}, {"limitt": 1}):
            client.send(wire, **entry.example | more)
    calls = list(recommended(json.loads(json.dumps(client.told))))
    assert calls and {call["operation"] for call in calls} <= set(OPERATIONS)


def test_all_that_there_is_to_choose_from_can_be_sent(lived: Clew) -> None:
    assert set(Client(lived).send("nonsense")["availableOperations"]) == set(OPERATIONS)
