"""Exports of ChatGPT and Claude, laid into the project: standing instructions, and Claude's memory of you.

An export is a folder, a zip, or a zip of zips whose name begins with `chatgpt-export` or `claude-export`, or its
`conversations.json` by itself. Who wrote it is seen by its shape: ChatGPT keeps a tree of messages, Claude a list.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from clew.importers.port import Candidate, Finding, Malformed, Provenance, Roots, files_matching, read_bytes
from clew.importers.sentences import SHORTEST, lasting_requests, sentences_of, shortened
from clew.private_parts import without_private

PATTERNS = tuple(
    pattern
    for name in ("chatgpt-export", "claude-export")
    for pattern in (f"{name}*.zip", f"{name}*/**/*.json", f"{name}*/**/*.zip")
)
MOST_BYTES = 512 << 20
"""Of one file, and of what a zip unpacks to."""
DEEPEST = 2
_MODEL_ROLES = frozenset({"assistant", "system", "tool"})


@dataclass(frozen=True)
class ChatMessage:
    """What a person wrote into a chat."""

    text: str
    chat: str
    day: str


class ChatExports:
    name = "chat_exports"
    title = "Exports of ChatGPT and Claude"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, ["conversations.json", *PATTERNS])

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        data = read_bytes(roots, path, MOST_BYTES)
        if isinstance(data, Malformed):
            yield data
            return
        for name, content in _members(roots.shown(path), data):
            if isinstance(content, Malformed):
                yield content
            else:
                yield from _of_document(name, content)


def _members(name: str, data: bytes, depth: int = 0) -> Iterator[tuple[str, bytes | Malformed]]:
    """The JSON files of an export with their names; those inside of a zip behind a `!`."""
    if not name.endswith(".zip"):
        yield name, data
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(item.file_size for item in archive.infolist()) > MOST_BYTES or depth == DEEPEST:
                yield name, Malformed(name, 0, "unpacks to more than can be read")
                return
            for item in archive.infolist():
                if item.filename.endswith((".json", ".zip")):
                    yield from _members(f"{name}!{item.filename}", archive.read(item), depth + 1)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as problem:
        yield name, Malformed(name, 0, f"is no zip that can be read: {problem}")


def _of_document(name: str, data: bytes) -> Iterator[Finding]:
    leaf = name.rsplit("/", 1)[-1].rsplit("!", 1)[-1]
    is_memory = leaf.startswith("memories") or "/memories/" in name or "!memories/" in name
    if not is_memory and not leaf.startswith("conversations"):
        return  # users, feedback, projects and pictures say nothing about how work is to be done
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        yield Malformed(name, problem.lineno, "is not JSON")
        return
    entries = found if isinstance(found, list) else [found]
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            yield Malformed(name, 0, f"entry {number} is not an object")
        elif is_memory:
            yield from _memories(name, entry)
        else:
            yield from _conversation(name, number, entry)


def _conversation(name: str, number: int, entry: dict[str, Any]) -> Iterator[Finding]:
    if isinstance(entry.get("mapping"), dict):
        messages = _chatgpt_messages(entry)
    elif isinstance(entry.get("chat_messages"), list):
        messages = _claude_messages(entry)
    else:
        yield Malformed(name, 0, f"conversation {number} has neither `mapping` nor `chat_messages`")
        return
    for message in messages:
        origin = Provenance("chat_exports", name, 0, f"chat {message.chat[:40]}", message.day)
        for kind, sentence in lasting_requests(message.text):
            yield Candidate(kind, sentence, origin)


def _to_the_root(mapping: dict[str, Any], node: Any) -> list[dict[str, Any]]:
    path, seen = [], set[str]()
    while isinstance(node, str) and node in mapping and node not in seen:
        seen.add(node)
        message = mapping[node].get("message")
        if isinstance(message, dict):
            path.append(message)
        node = mapping[node].get("parent")
    return path


def _chatgpt_messages(entry: dict[str, Any]) -> Iterator[ChatMessage]:
    """From the current node to the root and back: what was edited away is not said any more."""
    chat = str(entry.get("conversation_id") or entry.get("id") or entry.get("title") or "")
    for message in reversed(_to_the_root(entry["mapping"], entry.get("current_node"))):
        if (message.get("author") or {}).get("role") in _MODEL_ROLES or _is_hidden(message):
            continue
        content = message.get("content") or {}
        parts = content.get("parts") or [content.get("text")]
        text = "\n".join(part for part in parts if isinstance(part, str))
        yield ChatMessage(text, chat, _day(message.get("create_time")))


def _is_hidden(message: dict[str, Any]) -> bool:
    return bool((message.get("metadata") or {}).get("is_visually_hidden_from_conversation"))


def _day(seconds: object) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat() if isinstance(seconds, int | float) else ""


def _claude_messages(entry: dict[str, Any]) -> Iterator[ChatMessage]:
    for message in entry["chat_messages"]:
        if isinstance(message, dict) and message.get("sender") == "human":
            day = str(message.get("created_at") or "")[:10]
            yield ChatMessage(str(message.get("text") or ""), str(entry.get("uuid") or ""), day)


def _memories(name: str, entry: dict[str, Any]) -> Iterator[Finding]:
    """Claude's memory of the conversations. Those of its projects belong to other projects."""
    text = entry.get("conversations_memory")
    if not isinstance(text, str):
        yield Malformed(name, 0, "holds no `conversations_memory`")
        return
    for sentence in sentences_of(without_private(text)):
        if len(sentence) >= SHORTEST:
            yield Candidate("fact", shortened(sentence.lstrip("#*- ")), Provenance("chat_exports", name))
