"""Codex: ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl, each with the directory of its session in the first line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from clew.history.port import (
    ProjectPlaces,
    Reading,
    SessionMessage,
    Step,
    ToolCall,
    ToolResult,
    Transcript,
    UnreadableStep,
    files_below,
    first_object,
    json_lines,
    milliseconds,
    text_of,
)
from clew.history.tools import call_of, exit_code_in

_NOT_SAID = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<permissions", "<turn_aborted>")
_CALLS = ("function_call", "custom_tool_call")
_PRINTED = re.compile(r"^(?:.*\n)?(?:Final )?Output:\n", re.DOTALL)


class Codex:
    name = "codex"
    title = "Codex"

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        for folder in ("sessions", "archived_sessions"):
            for path, size in files_below(places.home / ".codex" / folder, "**/rollout-*.jsonl"):
                first = first_object(path)
                about = first.get("payload") if isinstance(first.get("payload"), dict) else first
                if isinstance(about, dict) and places.is_inside(about.get("cwd")):
                    yield Transcript(self.name, path, str(about.get("id") or path.stem), size)

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        for line in json_lines(transcript.path, start):
            step = _step(line.value, f"{transcript.session}.{line.place}")
            if step is not None:
                yield Reading(line.place, line.end, step)


def _step(value: dict[str, Any] | None, uid: str) -> Step | None:
    if value is None:
        return UnreadableStep("is no JSON object")
    item = value.get("payload") if value.get("type") == "response_item" else value
    if not isinstance(item, dict):
        return None
    ts_ms, kind = milliseconds(value.get("timestamp")), item.get("type")
    if kind == "message":
        return _message(item, ts_ms, uid)
    if kind in _CALLS:
        given = item.get("arguments") if kind == "function_call" else item.get("input")
        return call_of(str(item.get("call_id")), str(item.get("name")), given, ts_ms)
    if kind == "local_shell_call":
        return _local_shell(item, ts_ms)
    if kind in ("function_call_output", "custom_tool_call_output"):
        return _result(item)
    return None


def _message(item: dict[str, Any], ts_ms: int, uid: str) -> Step | None:
    text, role = text_of(item.get("content")), item.get("role")
    if role == "assistant":
        return SessionMessage("answer", text, ts_ms, uid)
    if role == "user" and not text.lstrip().startswith(_NOT_SAID):
        return SessionMessage("prompt", text, ts_ms, uid)
    return None


def _local_shell(item: dict[str, Any], ts_ms: int) -> ToolCall | None:
    action = item.get("action")
    return call_of(str(item.get("call_id")), "shell", action, ts_ms) if isinstance(action, dict) else None


def _result(item: dict[str, Any]) -> ToolResult:
    """Codex wraps what was printed: in JSON with the exit code as metadata, or behind a few lines that say it."""
    id, output = str(item.get("call_id")), text_of(item.get("output"))
    try:
        wrapped = orjson.loads(output) if output[:1] == "{" else None
    except orjson.JSONDecodeError:
        wrapped = None
    if isinstance(wrapped, dict) and "output" in wrapped:
        metadata = wrapped.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
        return ToolResult(id, text_of(wrapped["output"]), code if isinstance(code, int) else None)
    code = exit_code_in(output.partition("Output:")[0])
    return ToolResult(id, _PRINTED.sub("", output, count=1), code)
