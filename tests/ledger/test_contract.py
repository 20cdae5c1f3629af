"""Every operation of the ledger with every argument it takes, by its own name and through the gateway."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from clew.contracts.thoughtbox.gateway import served, wire_name
from clew.registry.catalogue import OperationEntry, catalogue
from tests.ledger.conftest import Thinker

S = "{session}"
OTHERS = ("notebook", "mental_model")
"""These have tables of their own."""

CALLS: dict[str, list[dict[str, Any]]] = {
    "get_state": [{}, {"sessionId": S}],
    "start_new": [
        {},
        {"sessionTitle": "T", "sessionTags": ["x"], "description": "D", "cipher": True},
        {"project": "p", "task": "t", "aspect": "a", "domain": "debugging"},
        {"newWork": {"project": "p", "task": "t", "aspect": "a", "domain": "debugging"}},
    ],
    "load_context": [{"sessionId": S}],
    "list_sessions": [
        {},
        {"project": "acme", "task": "t", "aspect": "a", "search": "x", "limit": 1},
        {"filters": {"project": "acme", "task": "t", "aspect": "a", "search": "x", "limit": 1}},
    ],
    "navigate": [
        {"target": {"project": "acme", "task": "search", "aspect": "design", "domain": "planning"}},
        {"project": "acme", "task": "search", "aspect": "design", "domain": "planning", "sessionId": S},
    ],
    "list_roots": [{}, {"sessionId": S}],
    "bind_root": [{"rootUri": "file:///work/acme", "sessionId": S}],
    "cipher": [{}, {"sessionId": S}],
    "thought": [
        {"thought": "x", "nextThoughtNeeded": True},
        {"thought": "x", "nextThoughtNeeded": True, "thoughtNumber": 40, "totalThoughts": 50, "verbose": True},
        {"thought": "x", "nextThoughtNeeded": True, "isRevision": True, "revisesThought": 1, "agentId": "ann"},
        {"thought": "x", "nextThoughtNeeded": True, "branchId": "b", "branchFromThought": 1, "type": "H"},
        {"thought": "x", "nextThoughtNeeded": True, "branchId": "c", "branchFromThought": 2, "branchFromBranch": "alt"},
        {"thought": "x", "nextThoughtNeeded": False, "needsMoreThoughts": True, "includeGuide": True, "critique": True},
        {"thought": "x", "nextThoughtNeeded": True, "sessionId": S, "sessionTitle": "T", "sessionTags": ["t"]},
    ],
    "read_thoughts": [
        {},
        {"sessionId": S, "thoughtNumber": 2, "branchId": "alt"},
        {"last": 2},
        {"range": [1, 2], "limit": 1, "cursor": 0, "max_chars": 5000},
        {"type": "observation"},
    ],
    "get_structure": [{}, {"sessionId": S, "limit": 1, "offset": 0, "max_chars": 5000}],
    "deep_analysis": [
        {"sessionId": S},
        {"sessionId": S, "analysisType": "patterns", "options": {"includeTimeline": True, "compareWith": [S]}},
    ],
    "session_list": [
        {},
        {"project": "acme", "task": "search", "aspect": "design", "tags": ["ops"], "search": "slow"},
        {"status": "active"},
        {"limit": 1, "offset": 1, "sortBy": "title", "sortOrder": "asc", "max_chars": 5000},
    ],
    "session_get": [{"sessionId": S}, {"sessionId": S, "cursor": 1, "limit": 1, "max_chars": 5000}],
    "session_outline": [
        {"sessionId": S},
        {"sessionId": S, "cursor": 1, "limit": 1, "chars": 5, "find": "slow", "max_chars": 5000},
    ],
    "session_search": [{"query": "slow"}, {"query": "slow", "limit": 1, "max_chars": 5000}],
    "session_resume": [{"sessionId": S}],
    "session_update": [
        {"sessionId": S, "title": "T", "description": "D", "tags": ["a"], "addTags": ["b"], "removeTags": ["a"]}
    ],
    "session_complete": [{"sessionId": S}],
    "session_delete": [{"sessionId": S}],
    "session_export": [
        {"sessionId": S},
        {"sessionId": S, "format": "markdown", "includeMetadata": False, "resolveAnchors": False},
        {"sessionId": S, "destination": "exports/session.json"},
    ],
    "session_import": [
        {"content": "[1/1]: x", "format": "cipher"},
        {"export": {"session": {"title": "T"}, "nodes": []}, "merge": True, "asCopy": True},
    ],
    "session_analyze": [{"sessionId": S}],
    "session_extract_learnings": [
        {"sessionId": S, "keyMoments": [{"thoughtNumber": 1, "type": "pivot"}], "targetTypes": ["pattern"]}
    ],
    "knowledge_create_pattern": [
        {
            "title": "T", "description": "D", "content": "C", "tags": ["t"], "derivedFromSessions": [S],
            "createdBy": "ann", "id": "some-id",
        },
        {"fromLearning": {"sessionId": S, "id": "pattern:S1"}},
    ],
    "knowledge_get_pattern": [{"id": "kept"}],
    "knowledge_update_pattern": [
        {"id": "kept", "title": "T", "description": "D", "content": "C", "tags": [], "derivedFromSessions": [S]}
    ],
    "knowledge_list_patterns": [
        {},
        {
            "tags": ["t"], "search": "x", "limit": 1, "offset": 0, "sortBy": "title", "sortOrder": "asc",
            "max_chars": 5000,
        },
    ],
    "knowledge_delete_pattern": [{"id": "kept"}],
    "knowledge_list_tags": [{}],
    "knowledge_stats": [{}],
    "knowledge_write_scratchpad": [{"id": "note", "title": "T", "content": "C", "append": True}],
    "knowledge_read_scratchpad": [{"id": "note"}],
    "knowledge_list_scratchpad": [{}, {"search": "x", "limit": 1, "offset": 0, "max_chars": 5000}],
    "knowledge_delete_scratchpad": [{"id": "note"}],
    "import_thoughtbox": [{"path": ".", "dryRun": True, "project": "*"}],
    "export_thoughtbox": [{"path": "out", "sessionIds": [S], "project": "acme"}],
}  # fmt: skip

EACH = [(name, call) for name, calls in CALLS.items() for call in calls]


def mine() -> list[OperationEntry]:
    return [entry for entry in served() if not entry.name.startswith(OTHERS)]


@pytest.fixture
def ready(clew: Clew) -> Thinker:
    """In a session with three thoughts and a branch, with a pattern and a note."""
    caller = Thinker(clew)
    caller.session.roots = lambda seconds: [{"uri": "file:///work/acme"}]
    tags = {"project": "acme", "task": "search", "aspect": "design"}
    caller.do("start_new", sessionTitle="Slow search", sessionTags=["ops"], cipher=True, **tags)
    caller.think("S1|O|slow")
    caller.think("other", branchId="alt", branchFromThought=1)
    caller.think("S2|H|S1|cache")
    caller("knowledge_create_pattern", title="Kept", description="D", content="C")
    caller("knowledge_write_scratchpad", id="note", content="C")
    (clew.settings.home / "imports").mkdir(parents=True, exist_ok=True)
    return caller


def filled(value: Any, session: str) -> Any:
    if isinstance(value, dict):
        return {name: filled(item, session) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, session) for item in value]
    return session if value == S else value


def test_the_table_names_every_operation_and_every_argument() -> None:
    assert {entry.name for entry in mine()} == set(CALLS)
    for entry in mine():
        given = {name for call in CALLS[entry.name] for name in call}
        known = set(entry.input_schema["properties"]) - {"workspace"}
        assert given == known, entry.name


@pytest.mark.parametrize(("name", "call"), EACH)
def test_every_argument_is_taken(ready: Thinker, name: str, call: dict[str, Any]) -> None:
    session = ready.do("get_state")["sessionId"]
    given = filled(call, session)
    entry = catalogue().find(name)
    assert entry is not None
    answer = ready.clew.dispatcher.call(
        "thoughtbox_gateway", {"operation": wire_name(entry), "args": given}, ready.session
    )
    assert answer.ok, answer.envelope["error"]


@pytest.mark.parametrize("name", [name for name in CALLS if name not in {"list_roots"}])
def test_an_argument_that_does_not_exist_is_refused_by_name(ready: Thinker, name: str) -> None:
    given = filled(CALLS[name][0], ready.do("get_state")["sessionId"])
    error = ready.error(name, **given, zebra=1)
    assert error["code"] == "INVALID_INPUT"
    assert "zebra" in error["message"]


@pytest.mark.parametrize(
    "name", [name for name, calls in CALLS.items() if "sessionId" in calls[-1] or "sessionId" in calls[0]]
)
def test_a_session_that_does_not_exist_is_told(ready: Thinker, name: str) -> None:
    call = next(call for call in CALLS[name] if "sessionId" in call)
    if name in {"get_state", "cipher", "list_roots", "bind_root", "navigate"}:
        ready.session.durable = False
        wire = wire_name(catalogue().find(name))  # type: ignore[arg-type]
        answer = ready.answer("thoughtbox_gateway", operation=wire, args=filled(call, "nobody"))
        assert answer.envelope["error"]["code"] == "SESSION_NOT_FOUND"
    else:
        assert ready.error(name, **filled(call, "nobody"))["code"] == "SESSION_NOT_FOUND"
