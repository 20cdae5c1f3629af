"""The same session as each client writes it: a question, an answer, a run that fails, an edit, a run that passes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import orjson

PROMPT = "Why do two relays take the same lease? <private>my salary is low</private>"
ANSWER = "The lease is renewed after the deadline; the clock of the second host is ahead."
COMMAND = "pytest -q tests/test_lease.py"
TOKEN = "ghp_" + "a1B2" * 9
FAILURE = f"E   LeaseExpired: lease 42 of relay-7 is taken\nGITHUB_TOKEN={TOKEN}\n1 failed in 0.31s"
PASSED = "1 passed in 0.29s"
EDITED = "src/relay/lease.py"
WRITTEN = "renew_at = deadline - margin"
DAY = "2026-11-02T09:{minute:02}:00Z"


@dataclass(frozen=True)
class TranscriptWriter:
    client: str
    write: Callable[[Path, Path, str], Path]
    """Given the home, the directory of the session and its id: writes the transcript and names it."""
    knows_results: bool = True
    lines: bool = True


def jsonl(path: Path, lines: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for line in lines:
            file.write(orjson.dumps(line) + b"\n")
    return path


def claude(home: Path, directory: Path, id: str) -> Path:
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(directory))

    def line(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
        return {
            "type": role,
            "uuid": f"{id}-{number}",
            "sessionId": id,
            "cwd": str(directory),
            "timestamp": DAY.format(minute=number),
            "message": {"role": role, "content": content},
            **more,
        }

    def call(number: int, name: str, input: dict[str, str]) -> dict[str, Any]:
        return line(number, "assistant", [{"type": "tool_use", "id": f"{id}-t{number}", "name": name, "input": input}])

    def result(number: int, of: int, text: str, failed: bool = False) -> dict[str, Any]:
        content = {"type": "tool_result", "tool_use_id": f"{id}-t{of}", "content": text, "is_error": failed}
        return line(number, "user", [content])

    lines = [
        {"type": "file-history-snapshot", "messageId": "m"},
        line(1, "user", "<system-reminder>be brief</system-reminder>", isMeta=True),
        line(2, "user", PROMPT),
        line(3, "assistant", [{"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": ANSWER}]),
        call(4, "Bash", {"command": COMMAND}),
        result(5, 4, f"Exit code 1\n{FAILURE}", failed=True),
        call(6, "Edit", {"file_path": str(directory / EDITED), "old_string": "x", "new_string": WRITTEN}),
        result(7, 6, "ok"),
        call(8, "Bash", {"command": COMMAND}),
        result(9, 8, PASSED),
    ]
    return jsonl(home / ".claude" / "projects" / folder / f"{id}.jsonl", lines)


def codex(home: Path, directory: Path, id: str) -> Path:
    def item(number: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": DAY.format(minute=number), "type": "response_item", "payload": payload}

    def said(number: int, role: str, text: str) -> dict[str, Any]:
        return item(number, type="message", role=role, content=[{"type": "input_text", "text": text}])

    def ran(number: int, output: str, code: int) -> list[dict[str, Any]]:
        arguments = orjson.dumps({"command": ["bash", "-lc", COMMAND]}).decode()
        wrapped = orjson.dumps({"output": output, "metadata": {"exit_code": code}}).decode()
        return [
            item(number, type="function_call", name="shell", arguments=arguments, call_id=f"{id}-c{number}"),
            item(number + 1, type="function_call_output", call_id=f"{id}-c{number}", output=wrapped),
        ]

    patch = f"*** Begin Patch\n*** Update File: {EDITED}\n@@\n+{WRITTEN}\n*** End Patch"
    lines = [
        {
            "timestamp": DAY.format(minute=0),
            "type": "session_meta",
            "payload": {"id": id, "cwd": str(directory), "cli_version": "0.169.0"},
        },
        said(1, "user", "<environment_context>zsh</environment_context>"),
        said(2, "user", PROMPT),
        said(3, "assistant", ANSWER),
        *ran(4, FAILURE, 1),
        item(6, type="custom_tool_call", name="apply_patch", input=patch, call_id=f"{id}-p"),
        item(7, type="custom_tool_call_output", call_id=f"{id}-p", output="Success"),
        *ran(8, PASSED, 0),
    ]
    return jsonl(home / ".codex" / "sessions" / "2026" / "11" / "02" / f"rollout-2026-11-02-{id}.jsonl", lines)


def gemini(home: Path, directory: Path, id: str) -> Path:
    def ran(number: int, output: str) -> dict[str, Any]:
        response = {"functionResponse": {"response": {"output": output}}}
        return {
            "id": f"{id}-g{number}",
            "name": "run_shell_command",
            "args": {"command": COMMAND},
            "result": [response],
            "status": "success",
        }

    edit = {
        "id": f"{id}-e",
        "name": "replace",
        "args": {"file_path": str(directory / EDITED), "new_string": WRITTEN},
        "result": [],
        "status": "success",
    }
    calls = [ran(1, f"Output: {FAILURE}\nExit Code: 1\nProcess Group PGID: 7"), edit, ran(2, f"Output: {PASSED}")]
    messages = [
        {"type": "user", "timestamp": DAY.format(minute=2), "content": PROMPT},
        {"type": "gemini", "timestamp": DAY.format(minute=3), "content": ANSWER, "toolCalls": calls},
    ]
    folder = home / ".gemini" / "tmp" / hashlib.sha256(str(directory).encode()).hexdigest() / "chats"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{id}.json"
    path.write_bytes(orjson.dumps({"sessionId": id, "messages": messages}))
    return path


def copilot(home: Path, directory: Path, id: str) -> Path:
    def event(number: int, type: str, **data: Any) -> dict[str, Any]:
        return {"type": type, "timestamp": DAY.format(minute=number), "data": data}

    def ran(number: int, output: str, code: int) -> list[dict[str, Any]]:
        text = f"{output}\n<shellId: 0 completed with exit code {code}>"
        call = f"{id}-k{number}"
        return [
            event(number, "tool.execution_start", toolCallId=call, toolName="bash", arguments={"command": COMMAND}),
            event(number + 1, "tool.execution_complete", toolCallId=call, success=True, result={"content": text}),
        ]

    edit = {"path": str(directory / EDITED), "old_str": "x", "new_str": WRITTEN}
    lines = [
        event(0, "session.start", sessionId=id, context={"cwd": str(directory)}),
        event(2, "user.message", content=PROMPT),
        event(3, "assistant.message", content=ANSWER),
        *ran(4, FAILURE, 1),
        event(6, "tool.execution_start", toolCallId=f"{id}-k6", toolName="edit", arguments=edit),
        event(7, "tool.execution_complete", toolCallId=f"{id}-k6", success=True, result={"content": "ok"}),
        *ran(8, PASSED, 0),
    ]
    return jsonl(home / ".copilot" / "session-state" / id / "events.jsonl", lines)


def opencode(home: Path, directory: Path, id: str) -> Path:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE IF NOT EXISTS session (id TEXT, directory TEXT, time_created INT, time_updated INT)")
    db.execute("CREATE TABLE IF NOT EXISTS message (id TEXT, session_id TEXT, time_created INT, data TEXT)")
    db.execute("CREATE TABLE IF NOT EXISTS part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
    db.execute("INSERT INTO session VALUES (?, ?, ?, ?)", (id, str(directory), 1_793_610_000_000, 1_793_610_600_000))

    def say(number: int, role: str, part: dict[str, Any]) -> None:
        message = {"role": role, "time": {"created": 1_793_610_000_000 + number * 60_000}}
        key = f"{id}-{number}"
        db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (key, id, number, orjson.dumps(message).decode()))
        db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"p-{key}", key, id, orjson.dumps(part).decode()))

    def tool(number: int, name: str, input: dict[str, str], output: str, code: int | None) -> None:
        state = {"status": "completed", "input": input, "output": output, "metadata": {"exit": code}}
        say(number, "assistant", {"type": "tool", "callID": f"{id}-o{number}", "tool": name, "state": state})

    say(2, "user", {"type": "text", "text": PROMPT})
    say(3, "assistant", {"type": "text", "text": ANSWER})
    tool(4, "bash", {"command": COMMAND}, FAILURE, 1)
    tool(5, "edit", {"filePath": str(directory / EDITED), "newString": WRITTEN}, "ok", None)
    tool(6, "bash", {"command": COMMAND}, PASSED, 0)
    db.close()
    return path


def cursor(home: Path, directory: Path, id: str) -> Path:
    def line(role: str, content: Any) -> dict[str, Any]:
        return {"role": role, "message": {"content": content}}

    edit = {"file_path": str(directory / EDITED), "new_string": WRITTEN}
    lines = [
        line("user", [{"type": "text", "text": f"<user_query>{PROMPT}</user_query>"}]),
        line("assistant", [{"type": "text", "text": ANSWER}]),
        line("assistant", [{"type": "tool_use", "name": "Shell", "input": {"command": COMMAND}}]),
        line("assistant", [{"type": "tool_use", "name": "Write", "input": edit}]),
    ]
    named = str(directory).strip("/").replace("/", "-")
    return jsonl(home / ".cursor" / "projects" / named / "agent-transcripts" / f"{id}.jsonl", lines)


def cursor_ide(home: Path, directory: Path, id: str) -> Path:
    user = home / ".config" / "Cursor" / "User"
    window = user / "workspaceStorage" / hashlib.sha256(str(directory).encode()).hexdigest()[:16]
    window.mkdir(parents=True, exist_ok=True)
    (user / "globalStorage").mkdir(exist_ok=True)
    (window / "workspace.json").write_bytes(orjson.dumps({"folder": f"file://{directory}"}))

    def put(path: Path, table: str, values: dict[str, Any]) -> None:
        db = apsw.Connection(str(path))
        db.execute(f"CREATE TABLE IF NOT EXISTS {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for key, value in values.items():
            db.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, orjson.dumps(value)))
        db.close()

    def tool(name: str, arguments: dict[str, str], **result: Any) -> dict[str, Any]:
        given = orjson.dumps(arguments).decode()
        return {"type": 2, "toolFormerData": {"name": name, "rawArgs": given, "result": orjson.dumps(result).decode()}}

    messages: list[dict[str, Any]] = [
        {"type": 1, "text": PROMPT, "createdAt": DAY.format(minute=2)},
        {"type": 2, "text": ANSWER, "thinking": {"text": "hidden"}},
        tool("run_terminal_cmd", {"command": COMMAND}, output=FAILURE, exitCode=1),
        tool("edit_file", {"target_file": str(directory / EDITED), "code_edit": WRITTEN}),
        tool("run_terminal_cmd", {"command": COMMAND}, output=PASSED, exitCode=0),
    ]
    headers = [{"bubbleId": f"b{number}", "type": item["type"]} for number, item in enumerate(messages)]
    chats = user / "globalStorage" / "state.vscdb"
    put(
        chats,
        "cursorDiskKV",
        {
            f"composerData:{id}": {"composerId": id, "fullConversationHeadersOnly": headers},
            **{f"bubbleId:{id}:b{number}": item for number, item in enumerate(messages)},
        },
    )
    known = {"allComposers": [{"composerId": id, "lastUpdatedAt": 1_793_610_600_000}]}
    put(window / "state.vscdb", "ItemTable", {"composer.composerData": known})
    return chats


WRITERS = [
    TranscriptWriter("claude_code", claude),
    TranscriptWriter("codex", codex),
    TranscriptWriter("gemini", gemini, lines=False),
    TranscriptWriter("copilot", copilot),
    TranscriptWriter("opencode", opencode, lines=False),
    TranscriptWriter("cursor", cursor, knows_results=False),
    TranscriptWriter("cursor_ide", cursor_ide, lines=False),
]
