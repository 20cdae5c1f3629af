"""The gateway: stages, both call shapes, the seed's error codes, and what it says to a client."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from clew.app import Clew
from clew.contracts.thoughtbox.gateway import SEED_CODES, served
from clew.registry.catalogue import catalogue
from tests.ledger.conftest import Thinker
from tests.suggestions import run_suggestions


def run(caller: Thinker, suggestion: dict[str, Any]) -> bool:
    return caller.clew.dispatcher.call(suggestion["target"], suggestion["params"], caller.session).ok


def test_each_stage_opens_the_next_and_an_error_names_the_call_that_does(clew: Clew) -> None:
    caller = Thinker(clew)
    assert caller.do("get_state")["stageName"] == "entry"
    for operation in ("cipher", "session.list"):
        error = caller.refused(operation)
        assert error["code"] == "STAGE_REQUIREMENT_NOT_MET"
        assert error["details"] == {"currentStage": "entry", "requiredStage": "init_complete"}
    assert caller.do("start_new", sessionTitle="T")["stage"] == 1
    answer = caller.gate("thought", thought="x", nextThoughtNeeded=True)
    assert answer.envelope["error"]["details"]["requiredStage"] == "cipher_loaded"
    (way,) = [item for item in answer.envelope["suggestions"] if item["action"] == "call_tool"]
    assert way["params"] == {"operation": "cipher"}
    assert run(caller, way)
    assert caller.do("get_state")["stage"] == 2
    assert caller.do("thought", thought="x", nextThoughtNeeded=True)["thoughtNumber"] == 1


def test_from_the_entry_one_call_leads_to_thinking(clew: Clew) -> None:
    caller = Thinker(clew)
    answer = caller.gate("thought", thought="x", nextThoughtNeeded=True)
    (way,) = [item for item in answer.envelope["suggestions"] if item["action"] == "call_tool"]
    assert way["params"] == {"operation": "start_new", "cipher": True}
    assert run(caller, way)
    assert caller.gate("thought", thought="x", nextThoughtNeeded=True).ok


def test_a_domain_leads_to_the_third_stage_once_the_cipher_is_known(clew: Clew) -> None:
    caller = Thinker(clew)
    assert caller.do("start_new", domain="debugging")["stage"] == 1
    assert caller.do("cipher")["stage"] == 3
    other = Thinker(clew)
    other.do("start_new", cipher=True)
    assert other.do("navigate", domain="planning")["stage"] == 3
    assert other.do("get_state")["domain"] == "planning"


def test_resuming_another_session_drops_to_the_first_stage(thinker: Thinker) -> None:
    first = thinker.do("get_state")["sessionId"]
    second = thinker.do("start_new")["sessionId"]
    assert thinker.do("session", subOperation="resume", sessionId=second)["stage"] == 2
    assert thinker.do("session", subOperation="resume", sessionId=first)["stage"] == 1
    thinker.refused("thought", thought="x", nextThoughtNeeded=True)


def test_the_stage_belongs_to_the_connection(clew: Clew, thinker: Thinker) -> None:
    assert Thinker(clew).do("get_state")["stage"] == 0


def test_without_a_connection_the_session_id_is_the_handle(clew: Clew) -> None:
    caller = Thinker(clew, durable=False)
    error = caller.refused("thought", thought="x", nextThoughtNeeded=True)
    assert "sessionId" in error["recovery"]
    key = caller.do("start_new", sessionTitle="T")["sessionId"]
    assert caller.refused("thought", sessionId=key, thought="x", nextThoughtNeeded=True)["code"] == (
        "STAGE_REQUIREMENT_NOT_MET"
    )
    assert caller.do("cipher", sessionId=key)["stage"] == 2
    assert caller.do("thought", sessionId=key, thought="x", nextThoughtNeeded=True)["sessionId"] == key
    assert caller.do("navigate", sessionId=key, domain="planning")["stage"] == 3
    assert Thinker(clew, durable=False).do("get_state", sessionId=key)["stage"] == 3


@pytest.mark.parametrize(
    "call",
    [
        {"operation": "session", "subOperation": "list", "limit": 1},
        {"operation": "session", "operation_": "list", "args": {"operation": "list", "args": {"limit": 1}}},
        {"operation": "session", "args": {"operation": "list", "limit": 1}},
        {"operation": "session", "args": {"subOperation": "list", "limit": 1}},
        {"operation": "session.list", "args": {"limit": 1}},
        {"operation": "session.list", "limit": 1},
        {"operation": "session", "subOperation": "list", "args": '{"limit": 1}'},
    ],
)
def test_every_shape_of_a_call_means_the_same(thinker: Thinker, call: dict[str, Any]) -> None:
    thinker.do("start_new")
    call.pop("operation_", None)
    answer = thinker.clew.dispatcher.call("thoughtbox_gateway", call, thinker.session)
    assert answer.ok, answer.text
    assert len(answer.envelope["result"]["sessions"]) == 1
    assert answer.envelope["result"]["hasMore"]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ({}, "INVALID_OPERATION"),
        ({"operation": "nonsense"}, "INVALID_OPERATION"),
        ({"operation": 5}, "INVALID_OPERATION"),
        ({"operation": "thoughtbox_gateway"}, "INVALID_OPERATION"),
        ({"operation": "status"}, "INVALID_OPERATION"),
        ({"operation": "session"}, "INVALID_OPERATION"),
        ({"operation": "session", "subOperation": "thought"}, "INVALID_OPERATION"),
        ({"operation": "thought", "args": [1]}, "INVALID_PAYLOAD"),
        ({"operation": "thought", "args": {"thought": "x"}}, "INVALID_PAYLOAD"),
        ({"operation": "thought", "thought": "", "nextThoughtNeeded": True}, "INVALID_PAYLOAD"),
        ({"operation": "thought", "thought": {"text": 7}, "nextThoughtNeeded": True}, "INVALID_PAYLOAD"),
        ({"operation": "thought", "thought": "x", "nextThoughtNeeded": True, "thoughtNumber": 2.5}, "INVALID_PAYLOAD"),
        ({"operation": "thought", "thought": "x", "nextThoughtNeeded": True, "thoughtNumber": -4}, "INVALID_PAYLOAD"),
        ({"operation": "thought", "thought": "x", "nextThoughtNeeded": True, "branchId": "a/../b"}, "INVALID_PAYLOAD"),
        (
            {"operation": "thought", "thought": "x", "nextThoughtNeeded": True, "revisesThought": 77},
            "THOUGHT_NOT_FOUND",
        ),
        (
            {
                "operation": "thought",
                "thought": "x",
                "nextThoughtNeeded": True,
                "branchId": "b",
                "branchFromThought": 9,
            },
            "THOUGHT_NOT_FOUND",
        ),
        ({"operation": "thought", "thought": "x", "nextThoughtNeeded": True, "sessionId": "nope"}, "SESSION_NOT_FOUND"),
        ({"operation": "load_context", "sessionId": "nope"}, "SESSION_NOT_FOUND"),
        ({"operation": "session", "subOperation": "get", "sessionId": "nope"}, "SESSION_NOT_FOUND"),
        ({"operation": "read_thoughts", "sessionId": "nope"}, "SESSION_NOT_FOUND"),
        ({"operation": "read_thoughts", "thoughtNumber": 12}, "THOUGHT_NOT_FOUND"),
        ({"operation": "navigate", "args": {"target": {"project": "nobody"}}}, "INVALID_PAYLOAD"),
    ],
)
def test_a_refused_call_bears_one_of_the_eight_codes_and_changes_nothing(
    thinker: Thinker, call: dict[str, Any], code: str
) -> None:
    before = thinker.do("get_state")
    answer = thinker.clew.dispatcher.call("thoughtbox_gateway", call, thinker.session)
    assert not answer.ok
    assert answer.envelope["error"]["code"] == code
    assert code in SEED_CODES
    assert orjson.loads(answer.text)["code"] == code
    assert answer.envelope["suggestions"]
    assert thinker.do("get_state") == before
    run_suggestions(thinker.clew, answer, thinker.session)


def test_a_taken_number_is_refused_and_the_suggestion_writes_it_under_the_next(thinker: Thinker) -> None:
    thinker.think("one")
    answer = thinker.gate("thought", thought="again", nextThoughtNeeded=True, thoughtNumber=1)
    assert answer.envelope["error"]["code"] == "INVALID_PAYLOAD"
    assert answer.envelope["error"]["details"]["nextFree"] == 2
    way = next(item for item in answer.envelope["suggestions"] if item["action"] == "call_tool")
    assert way["target"] == "thoughtbox_gateway"
    assert run(thinker, way)
    assert [item["thought"] for item in thinker("read_thoughts")["thoughts"]] == ["one", "again"]


def test_the_answer_to_a_thought_is_small(thinker: Thinker) -> None:
    answer = thinker.gate("thought", thought="plain words", nextThoughtNeeded=True)
    assert set(orjson.loads(answer.text)) == {"thoughtNumber", "sessionId"}
    told = thinker.do("thought", thought="more", nextThoughtNeeded=True, verbose=True)
    assert told["thoughtHistoryLength"] == 2
    assert told["node"]["prev"].endswith(":1")


def test_start_new_tags_the_session_and_finds_related_ones(clew: Clew) -> None:
    caller = Thinker(clew)
    first = caller.do("start_new", args={"newWork": {"project": "acme", "task": "login"}})
    second = caller.do("start_new", project="acme", task="search")
    assert second["session"]["tags"] == ["project:acme", "task:search"]
    assert [item["id"] for item in second["related"]] == [first["sessionId"]]
    assert caller.do("list_sessions", filters={"project": "acme", "task": "login"})["count"] == 1
    assert caller.do("list_sessions", project="ACME")["count"] == 2
    assert caller.do("navigate", target={"project": "acme"})["total"] == 2


def test_a_second_start_begins_a_second_session(thinker: Thinker) -> None:
    first = thinker.think("one")
    thinker.do("start_new", sessionTitle="Other")
    second = thinker.think("two")
    assert second["sessionId"] != first["sessionId"]
    assert second["thoughtNumber"] == 1


def test_a_bound_root_is_the_project(clew: Clew) -> None:
    caller = Thinker(clew)
    caller.session.roots = lambda seconds: [{"uri": "file:///home/me/acme%20app"}]
    assert caller.do("list_roots")["roots"] == [{"uri": "file:///home/me/acme%20app", "name": "acme app"}]
    assert caller.refused("bind_root", rootUri="file:///elsewhere")["details"]["availableRoots"]
    caller.do("bind_root", rootUri="file:///home/me/acme%20app")
    assert caller.do("start_new", project="other")["session"]["tags"] == ["project:acme app"]


def test_a_client_without_roots_is_told_so(clew: Clew) -> None:
    error = Thinker(clew).refused("list_roots")
    assert error["details"]["code"] == "UNAVAILABLE"


def test_the_gateway_answers_in_the_workspace_it_was_given(clew: Clew) -> None:
    caller = Thinker(clew)
    key = caller.do("start_new", workspace="other", cipher=True)["sessionId"]
    caller.do("thought", workspace="other", thought="x", nextThoughtNeeded=True)
    assert caller("session_get", workspace="other", sessionId=key)["session"]["thoughtCount"] == 1
    nested = caller.do("session", args={"operation": "get", "args": {"sessionId": key, "workspace": "other"}})
    assert nested["session"]["id"] == key
    assert caller.do("get_state")["stage"] == 0


SEED_OPERATIONS = [
    "get_state",
    "start_new",
    "load_context",
    "list_sessions",
    "navigate",
    "list_roots",
    "bind_root",
    "cipher",
    "thought",
    "session.list",
    "session.get",
    "session.search",
    "session.resume",
    "session.export",
    "session.analyze",
    "session.extract_learnings",
    "read_thoughts",
    "get_structure",
    "deep_analysis",
    "knowledge.create_pattern",
    "knowledge.write_scratchpad",
]


@pytest.mark.parametrize("wire", SEED_OPERATIONS)
def test_every_operation_of_the_seed_is_served_and_has_a_schema_of_its_own(wire: str) -> None:
    entry = catalogue().find(wire)
    assert entry in served()
    assert entry.input_schema["additionalProperties"] is False


@pytest.mark.parametrize("toolset", ["daily", "full"])
def test_suggestions_of_the_gateway_run_in_every_toolset(clew: Clew, toolset: str) -> None:
    caller = Thinker(clew, toolset=toolset)
    for call in (
        {},
        {"operation": "thought", "thought": "x", "nextThoughtNeeded": True},
        {"operation": "start_new"},
        {"operation": "load_context", "sessionId": "nobody"},
        {"operation": "cipher"},
        {"operation": "thought", "thought": "S1|H|x", "nextThoughtNeeded": True},
        {"operation": "thought", "thought": "x", "nextThoughtNeeded": True, "thoughtNumber": 1},
        {"operation": "thought", "thought": "x", "nextThoughtNeeded": True, "thoughtNumbr": 9},
        {"operation": "read_thoughts", "branchId": "nowhere"},
        {"operation": "navigate", "project": "unheard-of"},
        {"operation": "session", "subOperation": "nothing"},
    ):
        answer = caller.clew.dispatcher.call("thoughtbox_gateway", call, caller.session)
        run_suggestions(clew, answer, caller.session)
        caller.session.toolset = toolset


def test_a_handle_that_leads_nowhere_is_told(clew: Clew) -> None:
    caller = Thinker(clew, durable=False)
    error = caller.refused("thought", sessionId="nobody", thought="x", nextThoughtNeeded=True)
    assert error["code"] == "SESSION_NOT_FOUND"
