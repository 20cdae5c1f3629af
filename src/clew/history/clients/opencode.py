"""opencode: ~/.local/share/opencode/opencode.db, with a row for each part of a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from clew.errors import ClewError
from clew.history.port import (
    ProjectPlaces,
    Reading,
    SessionMessage,
    Step,
    ToolResult,
    Transcript,
    UnreadableStep,
    milliseconds,
    text_of,
)
from clew.history.tools import call_of
from clew.store.sqlite_files import opened_foreign

PLACE = (".local", "share", "opencode", "opencode.db")


class OpenCode:
    name = "opencode"
    title = "opencode"

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        path = places.home.joinpath(*PLACE)
        for row in _rows(path, "session", "id") if path.is_file() else ():
            if places.is_inside(row.get("directory")):
                yield Transcript(self.name, path, str(row.get("id")), int(row.get("time_updated") or 0), False)

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        """All parts of the session; its place is the time of its last change, so a changed one is read whole."""
        try:
            messages = {row["id"]: _data(row) for row in _of(transcript, "message", "id")}
            for number, row in enumerate(_of(transcript, "part", "id")):
                message = messages.get(row.get("message_id"), {})
                for step in _steps(_data(row), message, f"{transcript.session}.{number}"):
                    yield Reading(start, transcript.size, step)
        except ClewError as problem:
            yield Reading(start, start, UnreadableStep(problem.message))


def _rows(path: Path, table: str, order: str) -> list[Mapping[str, Any]]:
    try:
        with opened_foreign(path, checked=False) as store:
            return list(store.rows(table, order))
    except ClewError:
        return []


def _of(transcript: Transcript, table: str, order: str) -> list[Mapping[str, Any]]:
    with opened_foreign(transcript.path, checked=False) as store:
        return list(store.rows(table, order, session_id=transcript.session))


def _data(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        value = orjson.loads(row.get("data") or "{}")
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _steps(part: dict[str, Any], message: dict[str, Any], uid: str) -> Iterator[Step]:
    time = message.get("time")
    ts_ms = milliseconds(time.get("created")) if isinstance(time, dict) else 0
    if part.get("type") == "text" and not part.get("synthetic"):
        yield SessionMessage(
            "prompt" if message.get("role") == "user" else "answer", text_of(part.get("text")), ts_ms, uid
        )
    state = part.get("state")
    if part.get("type") == "tool" and isinstance(state, dict):
        call = call_of(str(part.get("callID") or uid), str(part.get("tool")), state.get("input"), ts_ms)
        if call is not None:
            yield call
            yield _result(call.id, state)


def _result(id: str, state: dict[str, Any]) -> ToolResult:
    metadata = state.get("metadata")
    code = metadata.get("exit") if isinstance(metadata, dict) else None
    failed = state.get("status") == "error"
    return ToolResult(
        id, text_of(state.get("output") or state.get("error")), code if isinstance(code, int) else int(failed)
    )
