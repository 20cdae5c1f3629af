"""The clients whose transcripts are read. A new one is a module here with a class that keeps the port, and a line."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from clew.history.port import TranscriptSource

CLIENTS = {
    "claude_code": "ClaudeCode",
    "codex": "Codex",
    "gemini": "Gemini",
    "copilot": "Copilot",
    "opencode": "OpenCode",
    "cursor": "Cursor",
    "cursor_ide": "CursorIde",
}
"""Module -> class; imported only when transcripts are looked for."""


def load_clients(names: list[str] | None = None) -> list[TranscriptSource]:
    wanted = [name for name in CLIENTS if not names or name in names]
    return [_load(name) for name in wanted]


def _load(name: str) -> TranscriptSource:
    module = import_module(f"clew.history.clients.{name}")
    return cast(TranscriptSource, getattr(module, CLIENTS[name])())
