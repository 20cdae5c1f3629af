"""Copilot CLI: ~/.copilot/session-state/<session>/events.jsonl, one event a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.history.port import (
    ProjectPlaces,
    Reading,
    SessionMessage,
    Step,
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


class Copilot:
    name = "copilot"
    title = "Copilot CLI"

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        for path, size in files_below(places.home / ".copilot" / "session-state", "*/events.jsonl"):
            if places.is_inside(_directory(path)):
                yield Transcript(self.name, path, path.parent.name, size)

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        for line in json_lines(transcript.path, start):
            step = _step(line.value, f"{transcript.session}.{line.place}")
            if step is not None:
                yield Reading(line.place, line.end, step)


def _directory(path: Path) -> object:
    data = first_object(path).get("data")
    context = data.get("context") if isinstance(data, dict) else None
    return context.get("cwd") if isinstance(context, dict) else None


def _step(value: dict[str, Any] | None, uid: str) -> Step | None:
    if value is None:
        return UnreadableStep("is no JSON object")
    kind, data = value.get("type"), value.get("data")
    if not isinstance(data, dict):
        return None
    ts_ms = milliseconds(value.get("timestamp"))
    if kind == "user.message":
        return SessionMessage("prompt", text_of(data.get("content")), ts_ms, uid)
    if kind == "assistant.message":
        return SessionMessage("answer", text_of(data.get("content")), ts_ms, uid)
    if kind == "tool.execution_start":
        return call_of(str(data.get("toolCallId")), str(data.get("toolName")), data.get("arguments"), ts_ms)
    if kind == "tool.execution_complete":
        output = text_of(data.get("result"))
        code = exit_code_in(output)
        return ToolResult(
            str(data.get("toolCallId")), output, (1 - bool(data.get("success"))) if code is None else code
        )
    return None
