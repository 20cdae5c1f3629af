"""Cursor's editor: chats in User/globalStorage/state.vscdb; the state of a window names those of its project.

The database of chats may hold gigabytes, so it is read by key only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

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
from clew.store.sqlite_files import ForeignStore, opened_foreign

USERS = (".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User")
STATE = "state.vscdb"
_PROMPT, _ANSWER = 1, 2


class CursorIde:
    name = "cursor_ide"
    title = "Cursor (editor)"

    def transcripts(self, places: ProjectPlaces) -> Iterator[Transcript]:
        for user in (places.home / name for name in USERS):
            chats = user / "globalStorage" / STATE
            for window in sorted((user / "workspaceStorage").glob("*/workspace.json")) if chats.is_file() else ():
                if places.is_inside(_folder(window)):
                    yield from _chats_of(window.parent / STATE, chats, self.name)

    def read(self, transcript: Transcript, start: int) -> Iterator[Reading]:
        """All messages of the chat; its place is the time of its last change, so a changed one is read whole."""
        try:
            with opened_foreign(transcript.path, checked=False) as store:
                for id in _message_ids(store, transcript.session):
                    message = _value(store, f"bubbleId:{transcript.session}:{id}")
                    for step in _steps(message, f"{transcript.session}.{id}"):
                        yield Reading(start, transcript.size, step)
        except ClewError as problem:
            yield Reading(start, start, UnreadableStep(problem.message))


def _folder(window: Path) -> str | None:
    try:
        named = orjson.loads(window.read_bytes())
        return unquote(urlsplit(str(named.get("folder") or "")).path)
    except (OSError, orjson.JSONDecodeError, AttributeError):
        return None


def _chats_of(state: Path, chats: Path, client: str) -> Iterator[Transcript]:
    try:
        with opened_foreign(state, checked=False) as store:
            known = _value(store, "composer.composerData", "ItemTable").get("allComposers")
    except ClewError:
        return
    for chat in known if isinstance(known, list) else []:
        if isinstance(chat, dict) and chat.get("composerId"):
            changed = milliseconds(chat.get("lastUpdatedAt") or chat.get("createdAt"))
            yield Transcript(client, chats, str(chat["composerId"]), changed, is_bytes=False)


def _message_ids(store: ForeignStore, chat: str) -> list[str]:
    headers = _value(store, f"composerData:{chat}").get("fullConversationHeadersOnly")
    return (
        [str(item.get("bubbleId")) for item in headers if isinstance(item, dict)] if isinstance(headers, list) else []
    )


def _value(store: ForeignStore, key: str, table: str = "cursorDiskKV") -> dict[str, Any]:
    for row in store.rows(table, "key", key=key):
        try:
            value = orjson.loads(row.get("value") or b"{}")
        except orjson.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}
    return {}


def _steps(message: dict[str, Any], uid: str) -> Iterator[Step]:
    ts_ms = milliseconds(message.get("createdAt") or message.get("timestamp"))
    text = text_of(message.get("text"))
    if text and message.get("type") in (_PROMPT, _ANSWER):
        yield SessionMessage("prompt" if message["type"] == _PROMPT else "answer", text, ts_ms, uid)
    tool = message.get("toolFormerData")
    if isinstance(tool, dict):
        call = call_of(f"{uid}.tool", str(tool.get("name")), tool.get("rawArgs") or tool.get("params"), ts_ms)
        if call is not None:
            yield call
            yield _result(call.id, tool)


def _result(id: str, tool: dict[str, Any]) -> ToolResult:
    found = tool.get("result")
    try:
        result = orjson.loads(found) if isinstance(found, str) else found
    except orjson.JSONDecodeError:
        result = found
    if not isinstance(result, dict):
        return ToolResult(id, text_of(result), None)
    code = result.get("exitCode", result.get("exitCodeV2"))
    return ToolResult(id, text_of(result.get("output")), code if isinstance(code, int) else None)
