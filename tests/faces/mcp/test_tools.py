from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client

from clew.faces.mcp.server import ClewServer, tool_of
from clew.registry.catalogue import catalogue
from clew.registry.toolsets import AGENT_TOOLS
from tests.faces.mcp.conftest import ERAS, text_of


def engineless(test: Callable[..., Any]) -> Any:
    """Asynchronous, and run on one engine only, because it does not depend on it."""
    return pytest.mark.anyio(pytest.mark.parametrize("engine", ["sqlite"])(test))


def listing(toolset: str) -> str:
    return json.dumps({"tools": [tool_of(e) for e in catalogue().listed(toolset)]}, separators=(",", ":"))


CORE = ["status", "tasks_macro_start", "tasks_snapshot", "workspace_use"]
DAILY = [
    *CORE,
    "open",
    "skill",
    "tasks_jobs_radar",
    "tasks_lint",
    "tasks_macro_close_step",
    "tasks_macro_delegate",
    "think_card",
    "think_playbook",
    "workspace_reset",
]


def test_core_daily_and_branchmind_list_what_branchmind_lists() -> None:
    assert [entry.name for entry in catalogue().listed("core")] == CORE
    assert [entry.name for entry in catalogue().listed("daily")] == DAILY
    assert [entry.name for entry in catalogue().listed("branchmind")] == DAILY


def test_the_daily_list_is_small() -> None:
    text = listing("daily")
    print(f"tools/list daily: {len(text)} bytes, about {len(text) // 4} tokens (characters / 4)")
    assert len(catalogue().listed("daily")) <= 14
    assert len(text.encode()) <= 20_000


def test_the_list_for_agents_is_what_it_names_and_small() -> None:
    """Names that are not built yet are left out; the full list is pinned as soon as they are."""
    listed = [entry.name for entry in catalogue().listed("agent")]
    assert listed == [name for name in AGENT_TOOLS if name in {entry.name for entry in catalogue().operations}]
    assert {"recall", "open", "op_search", "op_read", "op_call"} <= set(listed)
    text = listing("agent")
    print(f"tools/list agent: {len(text.encode())} bytes, {len(listed)} of {len(AGENT_TOOLS)} tools")
    assert len(text.encode()) <= 9_000


@pytest.mark.skipif(
    len(catalogue().listed("agent")) < len(AGENT_TOOLS),
    reason="waits for resume, remember, retract, start, close, think",
)
def test_the_list_for_agents_is_these_eleven() -> None:
    assert [entry.name for entry in catalogue().listed("agent")] == list(AGENT_TOOLS)


def test_a_listed_schema_lets_a_client_pass_what_every_tool_takes() -> None:
    """Gemini CLI refuses an argument that a closed schema does not name, such as `fmt` and `request_id`."""
    assert all("additionalProperties" not in tool["inputSchema"] for tool in json.loads(listing("agent"))["tools"])


def test_no_listed_schema_has_a_list_of_types() -> None:
    """Gemini CLI prints a warning at each start, and strict validators refuse it."""
    assert '"type":[' not in listing("agent")


def test_every_tool_is_described_and_annotated() -> None:
    for entry in catalogue().operations:
        tool = tool_of(entry)
        assert tool["description"]
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is entry.read_only and hints["openWorldHint"] is False
        assert ("destructiveHint" in hints) is not entry.read_only
        assert tool["inputSchema"]["type"] == "object"
        assert "workspace" not in tool["inputSchema"].get("required", [])


def test_only_deletions_and_their_like_are_called_destructive() -> None:
    hints = {entry.name: tool_of(entry)["annotations"] for entry in catalogue().operations}
    assert hints["branch_delete"]["destructiveHint"] is True
    assert hints["notes_commit"]["destructiveHint"] is False


@engineless
@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_an_error_that_a_model_can_read(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        answer = await client.call_tool("no_such_tool", {})
        assert answer.is_error and answer.structured_content is None
        assert text_of(answer.content[0]).startswith("ERROR: UNKNOWN_TOOL no operation is called 'no_such_tool'")


@engineless
async def test_a_defect_inside_an_operation_is_an_answer_too(server: ClewServer) -> None:
    async with Client(server) as client:
        answer = await client.call_tool("probe_crash", {})
        assert answer.is_error and answer.structured_content is not None
        assert answer.structured_content["error"]["code"] == "INTERNAL"
        assert "Traceback" not in text_of(answer.content[0])


@engineless
async def test_text_and_structured_content_say_the_same(server: ClewServer) -> None:
    async with Client(server) as client:
        for name, arguments in (("branch_list", {}), ("status", {"fmt": "json"}), ("index_stats", {})):
            answer = await client.call_tool(name, arguments)
            assert answer.structured_content is not None
            assert json.loads(text_of(answer.content[0])) == answer.structured_content, name


@engineless
@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_in_lines_or_prose_is_text_alone(server: ClewServer, era: str) -> None:
    """Claude Code and VS Code show a model the structured content instead of the text."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("status", {}),
        ("branch_list", {"fmt": "lines"}),
        ("help", {}),
        ("op_call", {"name": "status"}),
        ("tasks_snapshot", {"task": "TASK-999"}),
        ("recall", {"query": "nothing of the kind"}),
    ]
    async with Client(server, mode=era) as client:
        await client.list_tools()  # a client holds answers against the output schemas it has seen
        for name, arguments in calls:
            assert (await client.call_tool(name, arguments)).structured_content is None, name


@engineless
async def test_the_envelope_is_there_for_the_asking(server: ClewServer) -> None:
    async with Client(server) as client:
        for name in ("status", "help", "recall"):
            answer = await client.call_tool(name, {"fmt": "json", **({"query": "x"} if name == "recall" else {})})
            assert answer.structured_content is not None and "result" in answer.structured_content, name
            assert json.loads(text_of(answer.content[0])) == answer.structured_content


@engineless
async def test_lists_say_how_long_they_are_good(server: ClewServer) -> None:
    async with Client(server, mode="2026-07-28") as client:
        assert (await client.list_tools()).ttl_ms == 3_600_000
        assert (await client.read_resource("probe://written")).ttl_ms == 0
