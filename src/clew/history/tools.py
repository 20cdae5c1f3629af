"""Tool calls of clients: which of them run commands or edit files, and how a command ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from clew.history.port import ToolCall

COMMANDS = frozenset(
    {
        *("bash", "shell", "exec_command", "local_shell", "container.exec", "shell_command", "powershell"),
        *("run_shell_command", "run_in_terminal", "run_terminal_cmd", "runterminalcommand", "terminal"),
    }
)
EDITS = frozenset(
    {
        *("edit", "write", "multiedit", "notebookedit", "apply_patch", "patch", "delete"),
        *("str_replace", "str_replace_editor", "create", "write_file", "replace", "edit_file", "create_file"),
    }
)
_PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path")
_TEXTS = ("content", "new_string", "newString", "new_str", "new_source", "file_text", "code_edit")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_EXIT = re.compile(r"\bexit(?:ed)?(?:\s+with)?(?:\s+(?:code|status))?\s*[:=]?\s*(-?\d{1,5})\b", re.IGNORECASE)
_NEAR_AN_END = 300
"""Clients say how a command ended at the beginning or at the end of what it printed."""


def call_of(id: str, name: str, arguments: object, ts_ms: int) -> ToolCall | None:
    """A tool call, where it runs a command or edits a file; what only looks is left out."""
    given = _object(arguments)
    tool = name.lower().rpartition("__")[2]
    if tool in COMMANDS:
        command = given.get("command") or given.get("cmd") or ""
        words = command if isinstance(command, str) else _joined(command)
        return ToolCall(id, "command", words, (), ts_ms) if words else None
    if tool in EDITS:
        return _edit(id, given, arguments, ts_ms)
    return None


def _edit(id: str, given: Mapping[str, Any], arguments: object, ts_ms: int) -> ToolCall | None:
    patch = arguments if isinstance(arguments, str) and not given else given.get("input") or given.get("patch") or ""
    paths = [given[name] for name in _PATHS if isinstance(given.get(name), str)]
    paths += _PATCHED.findall(patch) if isinstance(patch, str) else []
    written = next((given[name] for name in _TEXTS if isinstance(given.get(name), str)), patch)
    if not paths:
        return None
    return ToolCall(id, "edit", str(written), tuple(dict.fromkeys(path.strip() for path in paths)), ts_ms)


def _joined(words: object) -> str:
    """A command that comes as a list; of `bash -lc LINE` the line."""
    if not isinstance(words, list):
        return ""
    texts = [str(word) for word in words]
    return texts[-1] if len(texts) == 3 and texts[1] in ("-c", "-lc") else " ".join(texts)


def exit_code_in(output: str) -> int | None:
    """How a command ended, where the output itself says so."""
    found = _EXIT.search(output[:_NEAR_AN_END]) or _EXIT.search(output[-_NEAR_AN_END:])
    return int(found[1]) if found else None


def _object(arguments: object) -> Mapping[str, Any]:
    """Arguments come as an object, or as the JSON text of one."""
    if isinstance(arguments, str) and arguments[:1] == "{":
        try:
            arguments = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return {}
    return arguments if isinstance(arguments, dict) else {}
