"""What real clients told their hooks (versions of `tests/clients/programs`), and what is read in it."""

from __future__ import annotations

from typing import Any

import pytest

from clew.faces.hooks.client_events import reply_of
from clew.faces.hooks.payload import arguments_of, client_of

PATCH = "*** Begin Patch\n*** Update File: migrations/001.sql\n@@\n-a\n+b\n*** End Patch"


def told(client: str, event: str, **payload: Any) -> dict[str, Any]:
    found = arguments_of(client, event, {"session_id": "s", **payload}, {})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("end", "code"),
    [("<shellId: 0 completed with exit code 1>", 1), ("<shellId: 12 completed with exit code 0>", 0)],
)
def test_copilot_says_at_the_end_of_the_output_how_a_command_ended(end: str, code: int) -> None:
    result = {"result_type": "success", "text_result_for_llm": f"{'.' * 900}\n1 passed\n{end}"}
    run = told("copilot", "post-tool", tool_name="Bash", tool_input={"command": "pytest -q"}, tool_result=result)
    assert run["exit_code"] == code and "1 passed" in run["output"]


def test_an_output_that_only_quotes_copilots_ending_says_nothing_of_the_end() -> None:
    result = {"text_result_for_llm": "<shellId: 0 completed with exit code 0>\nand more output"}
    run = told("copilot", "post-tool", tool_name="Bash", tool_input={"command": "cat log"}, tool_result=result)
    assert run["exit_code"] is None


def test_copilot_runs_the_hooks_of_vs_code_and_reads_context_at_the_top() -> None:
    assert client_of("vscode", {}, {"COPILOT_CLI": "1"}) == "copilot"
    assert client_of("vscode", {}, {}) == "vscode"
    printed, code, _ = reply_of("copilot", "session-start", {"say": "facts"})
    assert (printed, code) == ({"additionalContext": "facts"}, 0)
    refused, _, _ = reply_of("copilot", "pre-tool", {"decision": "deny", "reason": "R-1"})
    assert refused["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_prompt_of_gemini_is_read_without_the_answers_of_hooks_before_it() -> None:
    prompt = "<hook_context>&lt;clew-memory&gt;\nD-1 retries&lt;/clew-memory&gt;</hook_context>\n\nTranslate it"
    assert told("gemini", "prompt", prompt=prompt)["prompt"] == "Translate it"


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", "migrations/001.sql"),
        (f"cd api && apply_patch <<'EOF'\n{PATCH}\nEOF", "api/migrations/001.sql"),
    ],
)
def test_a_patch_through_the_shell_is_an_edit(command: str, path: str) -> None:
    """Codex carries it out itself, where its model has no tool for patches."""
    edit = told("codex", "pre-tool", tool_name="Bash", tool_input={"command": command})
    assert (edit["tool"], edit["paths"], edit["text"]) == ("edit", [path], "b")


@pytest.mark.parametrize("name", ["mcp__clew__start", "mcp_clew_start", "clew-start", "clew_start"])
def test_a_call_of_our_own_tool_is_known_in_the_spelling_of_each_client(name: str) -> None:
    run = told("claude", "post-tool", tool_name=name, tool_input={}, tool_response="TASK-001 started")
    assert (run["tool"], run["output"]) == ("clew", "TASK-001 started")
