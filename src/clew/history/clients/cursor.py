"""Cursor: ~/.cursor/projects/<project>/agent-transcripts/**/*.jsonl, what was said without the tools' results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from clew.history.port import (
    ProjectPlaces,
    Reading,
    SessionMessage,
    Step,
    Transcript,
    UnreadableStep,
    files_below,
    json_lines,
    milliseconds,
    text_of,
)
from clew.history.tools import call_of

_QUERY = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)


class Cursor:
    name = "cursor"
    title = "Cursor"

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        named = str(places.project).strip("/").replace("/", "-")
        folder = places.home / ".cursor" / "projects" / named / "agent-transcripts"
        for path, size in files_below(folder, "**/*.jsonl"):
            yield Transcript(self.name, path, path.stem, size)

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        for line in json_lines(transcript.path, start):
            for step in _steps(line.value, f"{transcript.session}.{line.place}"):
                yield Reading(line.place, line.end, step)


def _steps(value: dict[str, Any] | None, uid: str) -> Iterator[Step]:
    if value is None:
        yield UnreadableStep("is no JSON object")
        return
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    ts_ms = milliseconds(value.get("timestamp_ms") or value.get("timestamp"))
    if value.get("role") == "user":
        text = text_of(content)
        asked = _QUERY.search(text)
        yield SessionMessage("prompt", asked[1].strip() if asked else text, ts_ms, uid)
    elif value.get("role") == "assistant":
        yield SessionMessage("answer", text_of(content), ts_ms, uid)
        for number, part in enumerate(content if isinstance(content, list) else []):
            if isinstance(part, dict) and part.get("type") == "tool_use":
                call = call_of(f"{uid}.{number}", str(part.get("name")), part.get("input"), ts_ms)
                if call is not None:
                    yield call
