"""Every operation that writes, called by a client with the ids of what waits and words of approval: nothing is decided.

The other tests of this folder call the operations that decide. This one does not know which those are.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.identity.test_decisions import Waiting

WORDS = ("active", "accepted", "approved", "applied", "enforce", "armed", "resolved", "done")
NAMES = frozenset({"agent_id", "author", "person", "by", "reviewer", "owner", "approved_by"})
Schema = dict[str, Any]


class Guesser:
    """Makes arguments as one who wants something decided and has read the schemas."""

    def __init__(self, ids: list[str], chance: random.Random) -> None:
        self._ids = ids
        self._chance = chance

    def arguments(self, entry: OperationEntry) -> dict[str, Any]:
        schemas: dict[str, Schema] = entry.input_schema.get("properties", {})
        required = entry.input_schema.get("required", [])
        chosen = [name for name in schemas if name in required or self._chance.random() < 0.5]
        known = {"fmt", "request_id", "workspace"}
        given = {name: self._value(name, schemas[name]) for name in chosen if name not in known}
        return given | {name: False for name in ("dry_run", "dryRun") if name in schemas}

    def _value(self, name: str, schema: Schema) -> Any:
        if "enum" in schema:
            return self._chance.choice(schema["enum"])
        if "anyOf" in schema:
            return self._value(name, self._chance.choice([one for one in schema["anyOf"] if one.get("type") != "null"]))
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "array":
            return [self._value(name, schema.get("items", {}))]
        if kind == "object":
            return {"id": self._chance.choice(self._ids), "status": "active", "Status": "active"}
        simple = {"boolean": True, "integer": 1, "number": 1}
        return simple[kind] if kind in simple else self._text(name)

    def _text(self, name: str) -> str:
        if name in NAMES:
            return self._chance.choice(["@ines", "ines"])
        return self._chance.choice([*self._ids, *self._ids, *WORDS])


def decided(call: Caller, waiting: Waiting) -> list[Any]:
    """What only a person moves; what an agent adds to the queue is none of it."""
    proposals = {row["proposal_id"]: row["status"] for row in call("list_proposals", limit=200)["proposals"]}
    facts = {row["fact_id"]: row["status"] for row in call("list_facts", limit=200)["facts"]}
    guards = {row["id"]: row["state"] for row in call("guards")["guards"]}
    return [
        call("open", id=waiting.record["id"])["status"],
        call("open", id=waiting.rule)["status"],
        proposals.get(waiting.proposal),
        facts.get(waiting.fact),
        guards.get(waiting.rule),
        call("governance"),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_no_operation_decides_what_waits_whatever_it_is_given(call: Caller, seed: int) -> None:
    waiting = Waiting(call)
    before = decided(call, waiting)
    ids = [waiting.proposal, waiting.record["id"], waiting.fact, waiting.rule]
    guesser = Guesser(ids, random.Random(seed))
    client = Connection(toolset="full", client="attacker", handle="another")
    entries = [entry for entry in catalogue().listed("full") if not entry.read_only]
    assert len(entries) > 100
    for entry in entries:
        arguments = guesser.arguments(entry)
        call.clew.dispatcher.call(entry.name, arguments, client)
        answer = call.clew.dispatcher.call("op_call", {"name": entry.name, "arguments": arguments}, client)
        assert answer.ok or answer.envelope["error"]["code"] != "INTERNAL", (entry.name, arguments)
        assert decided(call, waiting) == before, (entry.name, arguments)
