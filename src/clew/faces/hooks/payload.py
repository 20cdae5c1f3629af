"""From the payload of a client's hook to the arguments of the operation `hook_event`.

Formats drift, so everything is looked for under the names that clients have used, and what is not understood is left
out. The standard library only, and little of it: every tool call of an agent waits for this.
"""

from __future__ import annotations

import json
import os
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_TEXT = 60_000
"""Characters of an output or a written text; its end says how it ended, its beginning what was written."""
_COMMANDS = frozenset(
    {
        *("bash", "shell", "run_shell_command", "run_in_terminal", "runterminalcommand", "powershell"),
        *("pre_run_command", "post_run_command"),
    }
)
_EDITS = frozenset(
    {
        *("edit", "write", "multiedit", "notebookedit", "strreplace", "delete", "apply_patch", "write_file", "replace"),
        *("create_file", "replace_string_in_file", "insert_edit_into_file", "editfiles", "tabwrite", "patch"),
        *("pre_write_code", "post_write_code", "create"),
    }
)
_WRITES = frozenset({"write", "write_file", "create_file", "create"})
_PATCHES = frozenset({"apply_patch", "patch"})
_SESSIONS = ("session_id", "conversation_id", "sessionId", "conversationId", "trajectory_id")
_OWN = re.compile(r"(?:\bmcp_.*clew.*_|\bclew(?:-|_)|mcp:)(?:start|resume|close)$")
_PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file")
_TEXTS = ("content", "contents", "new_string", "newString", "new_str", "new_source", "file_text", "code")
_BEFORE = ("old_string", "oldString", "old_str")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_SHELL_PATCH = re.compile(
    r"\s*(?:cd\s+(\S+)\s*&&\s*)?apply_?patch\b(?=.*^\*\*\* Begin Patch)", re.DOTALL | re.MULTILINE
)
"""Codex without a patch tool patches through the shell and carries it out itself."""
_EXIT = re.compile(r"\bexit(?:ed)?(?:\s+with)?(?:\s+(?:code|status))?\s*[:=]?\s*(-?\d{1,5})\b", re.IGNORECASE)
_ENDED = re.compile(r"^Exit Code: (-?\d{1,5})\s*$", re.MULTILINE)
_FAILED = re.compile(r"^(?:Error|Signal): (?!\(none\)|0\b)", re.MULTILINE)
LARGEST_TAIL = 1_000_000
"""Bytes at the end of a transcript among which the call that has just ended is looked for."""
_RESULTS = ("tool_response", "tool_output", "tool_result", "result")
_CODES = ("exit_code", "exitCode", "returncode", "code", "status", "exit")
_OUTPUTS = ("stdout", "stderr", "output", "error", "llmContent", "text_result_for_llm", "content", "text")
_COPILOT_ENDED = re.compile(r"<shellId: \S+ completed with exit code (-?\d{1,5})>\s*\Z")
_ADDED = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)
"""What Gemini CLI puts before a prompt: the answers of hooks, ours among them."""


def client_of(named: str, payload: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> str:
    """Whose hook it really is: Cursor also runs the hooks in Claude's files, Copilot CLI those of VS Code."""
    if payload.get("cursor_version") or payload.get("conversation_id"):
        return "cursor"
    return "copilot" if environ.get("COPILOT_CLI") and named in ("vscode", "claude") else named


def arguments_of(
    client: str, event: str, payload: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> dict[str, Any] | None:
    """The arguments of `hook_event`; None when there is nothing to ask or to keep."""
    session = _session(payload)
    if not session or _is_continued(payload) or _is_headless(payload, environ):
        return None
    found: dict[str, Any] = {"client": client, "event": event, "session": session[:200]}
    if payload.get("agent_id") or payload.get("isSidechain"):
        found["subagent"] = True
    if event == "session-start":
        found["source"] = _first(payload, ("source",))[:100]
    elif event == "prompt":
        asked = _first(payload, ("prompt", "user_prompt", "message"))[:MOST_TEXT]
        found["prompt"] = _ADDED.sub("", asked).strip()
    elif event in ("pre-tool", "post-tool", "tool-failed"):
        tool = _tool(event, payload)
        return {**found, **tool} if tool else None
    return found


def _session(payload: Mapping[str, Any]) -> str:
    """The client's id of the session; without one, the first call of a session is a session for itself."""
    found = _first(payload, _SESSIONS)
    if not found and payload.get("invocationNum") == 1:
        roots = payload.get("workspacePaths")
        return f"{roots[0] if isinstance(roots, list) and roots else ''}@{time.time_ns()}"
    return found


def _is_continued(payload: Mapping[str, Any]) -> bool:
    """The client goes on because a hook of its stop asked for it, or calls the model once more in the same turn."""
    return bool(payload.get("stop_hook_active") or payload.get("loop_count")) or _is_later(payload)


def _is_later(payload: Mapping[str, Any]) -> bool:
    number = payload.get("invocationNum")
    return isinstance(number, int) and number > 1


def _is_headless(payload: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """A prompt sent by a program: memory is not wanted there."""
    return payload.get("source") in ("sdk", "system", "poll_event") and not environ.get("CLEW_HOOK_HEADLESS")


def _tool(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    name = _first(payload, ("tool_name", "toolName", "tool", "agent_action_name")).lower()
    given = _object(_present(payload, ("tool_input", "toolArgs", "args", "tool_info")))
    id = _first(payload, ("tool_use_id", "toolUseId", "call_id"))[:200]
    if name in _COMMANDS:
        found = _command(given, payload)
    elif name in _EDITS:
        found = _edit(name, given)
    elif event == "post-tool" and _OWN.search(name):
        return {"tool": "clew", "tool_id": id, "output": _output(payload)[:4_000]}
    else:
        return {}
    if event != "pre-tool" and found.get("tool") == "command":
        found.update(_ending(event, payload))
    return {**found, "tool_id": id} if found else {}


def _command(given: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    command = _present(given, ("command", "cmd", "command_line"))
    if isinstance(command, list):
        words = [str(word) for word in command]
        # `bash -lc "..."` is how Codex hands a line over.
        command = words[2] if len(words) == 3 and words[1].startswith("-") else " ".join(words)
    if not isinstance(command, str) or not command.strip():
        return {}
    patching = _SHELL_PATCH.match(command)
    if patching:
        return _patched(command, (patching.group(1) or "").strip("'\""))
    folder = _first(given, ("cwd", "workdir", "dir_path")) or _first(payload, ("cwd",))
    return {"tool": "command", "command": command[:MOST_TEXT], "folder": folder[:4096]}


def _edit(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    patch = _first(given, ("patch", "patchText", "input", "command")) if name in _PATCHES else ""
    if patch:
        return _patched(patch)
    path = _first(given, _PATHS)
    edits = given.get("edits")
    parts = [part for part in edits if isinstance(part, dict)] if isinstance(edits, list) else [given]
    text = "\n".join(_first(part, _TEXTS) for part in parts)[:MOST_TEXT]
    before = "\n".join(_first(part, _BEFORE) for part in parts)[:MOST_TEXT]
    if not path:
        return {}
    return {"tool": "edit", "paths": [path[:4096]], "text": text, "before": before, "whole": name in _WRITES}


def _patched(patch: str, folder: str = "") -> dict[str, Any]:
    named = [(match[0] or match[1]).strip() for match in _PATCHED.findall(patch)]
    paths = [os.path.join(folder, path)[:4096] for path in named]
    lines = patch.splitlines()
    added = "\n".join(line[1:] for line in lines if line.startswith("+"))
    removed = "\n".join(line[1:] for line in lines if line.startswith("-"))
    if not paths:
        return {}
    return {"tool": "edit", "paths": paths[:100], "text": added[:MOST_TEXT], "before": removed[:MOST_TEXT]}


def _ending(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """How a command ended. Without an exit code it is unknown, and an unknown end proves nothing."""
    response = _object(_present(payload, _RESULTS) or {})
    output = _output(payload)
    code = _exit_code(response, output)
    if code is None and not response:
        code = _transcript_code(payload)
    if payload.get("is_interrupt") or response.get("interrupted") or response.get("backgroundTaskId"):
        code = None
    elif code is None and event == "tool-failed":
        code = 1
    elif code is None and {"stdout", "stderr"} <= set(response):
        code = 0  # Claude Code reports a command here only if it succeeded, and gives no code
    took = payload.get("duration_ms", payload.get("duration"))
    milliseconds = int(took) if isinstance(took, (int, float)) and 0 <= took < 2**50 else None
    return {"exit_code": code, "output": output, "duration_ms": milliseconds}


def _exit_code(response: Mapping[str, Any], output: str) -> int | None:
    for holder in (response, response.get("metadata")):
        for name in _CODES if isinstance(holder, dict) else ():
            value = holder.get(name)  # type: ignore[union-attr]
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    is_copilot = "text_result_for_llm" in response
    found = _COPILOT_ENDED.search(output[-200:]) if is_copilot else _EXIT.search(output[:300])
    return int(found.group(1)) if found else _gemini_code(output)


def _gemini_code(output: str) -> int | None:
    """Gemini CLI says how a command ended behind its output, and of one that succeeded only who ran it."""
    ending = output[-600:]
    if "Process Group PGID:" not in ending:
        return None
    codes = _ENDED.findall(ending)
    return int(codes[-1]) if codes else (None if _FAILED.search(ending) else 0)


def _transcript_code(payload: Mapping[str, Any]) -> int | None:
    """Codex gives its hooks the bare output; the exit code is in its transcript, in the line of the call."""
    id, path = payload.get("tool_use_id"), payload.get("transcript_path")
    if not isinstance(id, str) or not id or not isinstance(path, str):
        return None
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - LARGEST_TAIL, 0))
            lines = [line for line in file.read(LARGEST_TAIL).splitlines() if id.encode() in line]
        found = [code for line in lines if (code := _code_in(json.loads(line))) is not None]
    except (OSError, ValueError, RecursionError):
        return None
    return found[-1] if found else None


def _code_in(value: Any) -> int | None:
    """A field of that name at any depth; never a text that a command printed."""
    if isinstance(value, dict):
        code = value.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return next((code for item in inner if (code := _code_in(item)) is not None), None)


def _output(payload: Mapping[str, Any]) -> str:
    """What the tool printed, the end of it."""
    parts: list[str] = []
    for name in (*_RESULTS, "error", "error_message"):
        _collect(payload.get(name), parts)
    return "\n".join(parts)[-MOST_TEXT:]


def _collect(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        read = _object(value) if value[:1] == "{" else {}
        if read:
            _collect(read, parts)
        elif value:
            parts.append(value)
    elif isinstance(value, dict):
        for name in _OUTPUTS:
            _collect(value.get(name), parts)
    elif isinstance(value, list):
        for item in value[:50]:
            _collect(item, parts)


def _object(value: Any) -> dict[str, Any]:
    """An object, also where it comes as JSON in a text."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _present(given: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first of these that is there and not empty."""
    return next((given[name] for name in names if given.get(name)), None)


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these that is a text and not empty."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
    return ""
