"""Gemini CLI: ~/.gemini/tmp/<project>/chats/*.json, whole files that are rewritten after each turn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from clew.history.port import (
    ProjectPlaces,
    Reading,
    SessionMessage,
    Step,
    ToolResult,
    Transcript,
    UnreadableStep,
    files_below,
    milliseconds,
    text_of,
)
from clew.history.tools import call_of, exit_code_in


class Gemini:
    name = "gemini"
    title = "Gemini CLI"

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        for folder in sorted((places.home / ".gemini" / "tmp").glob("*")):
            if _is_of(folder, places):
                for path, size in files_below(folder / "chats", "*.json"):
                    yield Transcript(self.name, path, path.stem, size)

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        """The messages behind a number of messages; the file is one JSON document without positions."""
        try:
            document = orjson.loads(transcript.path.read_bytes())
        except orjson.JSONDecodeError:
            yield Reading(start, start, UnreadableStep("is no JSON document"))
            return
        messages = document.get("messages") if isinstance(document, dict) else document
        for number, message in enumerate(messages if isinstance(messages, list) else []):
            if number >= start and isinstance(message, dict):
                for step in _steps(message, f"{transcript.session}.{number}"):
                    yield Reading(number, number + 1, step)


def _is_of(folder: Path, places: ProjectPlaces) -> bool:
    """The folder is called by a digest of the project's path, or names the path in a file."""
    if folder.name == hashlib.sha256(str(places.project).encode()).hexdigest():
        return True
    try:
        return places.is_inside((folder / ".project_root").read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return False


def _steps(message: dict[str, Any], uid: str) -> Iterator[Step]:
    ts_ms, text = milliseconds(message.get("timestamp")), text_of(message.get("content"))
    if message.get("type") == "user":
        yield SessionMessage("prompt", text, ts_ms, uid)
    elif message.get("type") in ("gemini", "model"):
        if text:
            yield SessionMessage("answer", text, ts_ms, uid)
        calls = message.get("toolCalls")
        for number, call in enumerate(calls if isinstance(calls, list) else []):
            if isinstance(call, dict):
                yield from _call(call, f"{uid}.{number}", ts_ms)


def _call(call: dict[str, Any], uid: str, ts_ms: int) -> Iterator[Step]:
    made = call_of(str(call.get("id") or uid), str(call.get("name")), call.get("args"), ts_ms)
    if made is None:
        return
    yield made
    output = _printed(call.get("result"))
    code = exit_code_in(output)
    if code is None:
        # Of a command that succeeded Gemini writes no exit code.
        code = 1 if call.get("status") == "error" else 0
    yield ToolResult(made.id, output, code)


def _printed(result: object) -> str:
    if isinstance(result, list):
        return "\n".join(filter(None, (_printed(part) for part in result)))
    if not isinstance(result, dict):
        return result if isinstance(result, str) else ""
    response = result.get("functionResponse")
    inner = response.get("response") if isinstance(response, dict) else result
    return text_of(inner.get("output") or inner.get("error")) if isinstance(inner, dict) else ""
