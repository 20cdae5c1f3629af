"""Claude Code: ~/.claude/projects/<project>/<session>.jsonl, deleted after 30 days unless configured otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from clew.history.port import (
    JsonLine,
    ProjectPlaces,
    Reading,
    SessionMessage,
    Step,
    ToolResult,
    Transcript,
    UnreadableStep,
    files_below,
    json_lines,
    milliseconds,
    text_of,
)
from clew.history.tools import call_of, exit_code_in

LOOKED_AT = 20
"""Lines among which the directory of a session is named."""
_NOT_SAID = (
    "<command-name>",
    "<local-command-stdout>",
    "<system-reminder>",
    "<command-message>",
    "Caveat: The messages",
)
_CONTINUED = "This session is being continued from a previous conversation"
_OTHER = re.compile(r"[^A-Za-z0-9]")


class ClaudeCode:
    name = "claude_code"
    title = "Claude Code"

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        # The folder's name is the project's path with everything else than letters and digits replaced, so several
        # projects may share it: the lines say which one they mean.
        prefix = _OTHER.sub("-", str(places.project))[:200]
        for path, size in files_below(places.home / ".claude" / "projects", f"{prefix}*/*.jsonl"):
            if places.is_inside(_directory(path)):
                yield Transcript(self.name, path, path.stem, size)

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        for line in json_lines(transcript.path, start):
            for step in _steps(line):
                yield Reading(line.place, line.end, step)


def _directory(path: Path) -> object:
    try:
        lines = islice(json_lines(path, 0), LOOKED_AT)
        return next((line.value["cwd"] for line in lines if line.value and line.value.get("cwd")), None)
    except OSError:
        return None


def _steps(line: JsonLine) -> Iterator[Step]:
    value = line.value
    if value is None:
        yield UnreadableStep("is no JSON object")
        return
    if value.get("isMeta") or value.get("isSidechain") or value.get("isApiErrorMessage"):
        return
    if value.get("type") == "summary":
        yield SessionMessage("summary", str(value.get("summary") or ""), uid=str(value.get("leafUuid") or ""))
    message = value.get("message")
    if value.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for number, part in enumerate(parts):
        if isinstance(part, dict):
            yield from _part(value, part, f"{value.get('uuid')}.{number}")


def _part(value: dict[str, Any], part: dict[str, Any], uid: str) -> Iterator[Step]:
    ts_ms = milliseconds(value.get("timestamp"))
    if part.get("type") == "text":
        yield from _said(value, text_of(part.get("text")), ts_ms, uid)
    elif part.get("type") == "tool_use":
        call = call_of(str(part.get("id")), str(part.get("name")), part.get("input"), ts_ms)
        if call is not None:
            yield call
    elif part.get("type") == "tool_result":
        yield _result(part)


def _said(value: dict[str, Any], text: str, ts_ms: int, uid: str) -> Iterator[Step]:
    if value["type"] == "assistant":
        yield SessionMessage("answer", text, ts_ms, uid)
    elif value.get("isCompactSummary") or text.startswith(_CONTINUED):
        yield SessionMessage("summary", text, ts_ms, uid)
    elif not text.lstrip().startswith(_NOT_SAID):
        yield SessionMessage("prompt", text, ts_ms, uid)


def _result(part: dict[str, Any]) -> ToolResult:
    output = text_of(part.get("content"))
    if part.get("is_error"):
        code = exit_code_in(output[:100])
        return ToolResult(str(part.get("tool_use_id")), output, 1 if code is None else code)
    return ToolResult(str(part.get("tool_use_id")), output, 0)
