"""Clients that play the published hook protocols: what they write to a hook, and how they read its answer.

Each refuses an answer that the real client would refuse, so that a test fails where a user would see an error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.faces.hooks import launcher
from clew.faces.hooks.client_events import entry_for

LAUNCHER = Path(launcher.__file__)
ROOT = LAUNCHER.parents[4]
LONGEST = 10_000


@dataclass(frozen=True)
class Heard:
    """What a client takes from an answer."""

    context: str = ""
    decision: str = ""
    reason: str = ""
    notice: str = ""
    code: int = 0
    seconds: float = 0.0


class StubClient:
    """One session of one client in one project."""

    name = ""
    launcher = LAUNCHER

    def __init__(self, home: Path, project: Path, session: str, seconds: str | None = "20", **env: str) -> None:
        self.project, self.session = project, session
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
        self.env = {**kept, "CLEW_HOME": str(home), "CLEW_EMBEDDING_MODEL": "none", **env}
        if seconds is not None:
            self.env["CLEW_HOOK_SECONDS"] = seconds
        self.calls = 0

    def fire(self, event: str, **payload: Any) -> Heard:
        told = {**self.base(event), **payload}
        return self.send(event, json.dumps(told).encode())

    def send(self, event: str, data: bytes) -> Heard:
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(self.launcher), event, "--client", self.name],
            input=data,
            capture_output=True,
            env=self.env,
            cwd=self.project,
            timeout=60,
            check=False,
        )
        seconds = time.monotonic() - begun
        text = done.stdout.decode()
        heard = self.heard(event, self.parsed(event, text)) if text else Heard()
        reason = done.stderr.decode() if done.returncode == 2 else heard.reason
        return Heard(heard.context, heard.decision, reason, heard.notice, done.returncode, seconds)

    def parsed(self, event: str, text: str) -> dict[str, Any]:
        assert text.startswith("{"), text[:80]
        found: dict[str, Any] = json.loads(text)
        assert all(len(part) <= LONGEST for part in _strings(found))
        return found

    def base(self, event: str) -> dict[str, Any]:
        raise NotImplementedError

    def heard(self, event: str, answer: dict[str, Any]) -> Heard:
        raise NotImplementedError

    def tool(self, event: str, name: str, given: dict[str, Any], **result: Any) -> Heard:
        self.calls += 1
        return self.fire(event, tool_name=name, tool_input=given, tool_use_id=f"{self.session}-{self.calls}", **result)


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [part for item in value.values() for part in _strings(item)]
    return [value] if isinstance(value, str) else []


class ClaudeCode(StubClient):
    name = "claude"
    ADDS = frozenset({"session-start", "prompt", "pre-tool", "post-tool", "tool-failed", "stop"})

    def base(self, event: str) -> dict[str, Any]:
        entry = entry_for(self.name, event)
        assert entry is not None
        return {
            "session_id": self.session,
            "transcript_path": f"/tmp/{self.session}.jsonl",
            "cwd": str(self.project),
            "hook_event_name": entry.name,
            "permission_mode": "default",
        }

    def heard(self, event: str, answer: dict[str, Any]) -> Heard:
        assert set(answer) <= {"continue", "systemMessage", "decision", "reason", "hookSpecificOutput"}
        specific = answer.get("hookSpecificOutput", {})
        entry = entry_for(self.name, event)
        assert entry is not None and specific.get("hookEventName", entry.name) == entry.name
        if "additionalContext" in specific:
            assert event in self.ADDS
        decision = specific.get("permissionDecision", answer.get("decision", ""))
        assert decision in ("", "allow", "deny", "ask", "block")
        return Heard(
            specific.get("additionalContext", ""),
            decision,
            specific.get("permissionDecisionReason", answer.get("reason", "")),
            answer.get("systemMessage", ""),
        )

    def runs(self, command: str, output: str = "", error: str | None = None) -> Heard:
        given = {"command": command, "description": "run it"}
        if error is not None:
            return self.tool("tool-failed", "Bash", given, error=f"Exit code 1\n{error}", is_interrupt=False)
        response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        return self.tool("post-tool", "Bash", given, tool_response=response, duration_ms=12)

    def wants(self, command: str) -> Heard:
        return self.tool("pre-tool", "Bash", {"command": command})

    def edits(self, path: str, old: str, new: str) -> Heard:
        given = {"file_path": str(self.project / path), "old_string": old, "new_string": new}
        return self.tool("post-tool", "Edit", given, tool_response={"filePath": path, "success": True})


class Codex(ClaudeCode):
    name = "codex"
    SPECIFIC = frozenset({"session-start", "prompt", "pre-tool", "post-tool"})

    def base(self, event: str) -> dict[str, Any]:
        return {**super().base(event), "turn_id": "turn-1", "model": "gpt-5"}

    def heard(self, event: str, answer: dict[str, Any]) -> Heard:
        """Its schemas are closed, and it cannot ask."""
        allowed = {"continue", "stopReason", "suppressOutput", "systemMessage"}
        allowed |= {"decision", "reason"} if event in ("stop", "pre-tool", "post-tool", "prompt") else set()
        allowed |= {"hookSpecificOutput"} if event in self.SPECIFIC else set()
        assert set(answer) <= allowed, (event, answer)
        found = super().heard(event, answer)
        assert found.decision != "ask"
        return found

    def runs(self, command: str, output: str = "", error: str | None = None) -> Heard:
        code = 0 if error is None else 1
        response = {"output": error or output, "metadata": {"exit_code": code, "duration_seconds": 0.1}}
        return self.tool("post-tool", "Bash", {"command": ["bash", "-lc", command]}, tool_response=json.dumps(response))

    def edits(self, path: str, old: str, new: str) -> Heard:
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
        return self.tool("post-tool", "apply_patch", {"command": patch}, tool_response="Success. Updated files.")


class Cursor(StubClient):
    name = "cursor"
    KEYS = {
        "session-start": {"env", "additional_context"},
        "post-tool": {"additional_context", "updated_mcp_tool_output"},
        "tool-failed": {"additional_context"},
        "pre-tool": {"permission", "user_message", "agent_message", "updated_input"},
        "prompt": {"continue", "user_message"},
        "stop": {"followup_message"},
    }

    def base(self, event: str) -> dict[str, Any]:
        entry = entry_for(self.name, event)
        assert entry is not None
        return {
            "conversation_id": self.session,
            "generation_id": "g-1",
            "model": "auto",
            "hook_event_name": entry.name,
            "cursor_version": "2.1.0",
            "workspace_roots": [str(self.project)],
            "transcript_path": None,
        }

    def heard(self, event: str, answer: dict[str, Any]) -> Heard:
        assert set(answer) <= self.KEYS.get(event, set()), (event, answer)
        assert answer.get("permission") in (None, "deny")
        decision = answer.get("permission") or ("block" if "followup_message" in answer else "")
        reason = answer.get("agent_message") or answer.get("followup_message", "")
        return Heard(answer.get("additional_context", ""), decision, reason, answer.get("user_message", ""))

    def runs(self, command: str, output: str = "", error: str | None = None) -> Heard:
        given = {"command": command, "cwd": str(self.project)}
        if error is not None:
            return self.tool("tool-failed", "Shell", given, error_message=error, failure_type="error")
        told = json.dumps({"exitCode": 0, "stdout": output, "stderr": ""})
        return self.tool("post-tool", "Shell", given, tool_output=told, duration=12)

    def wants(self, command: str) -> Heard:
        return self.tool("pre-tool", "Shell", {"command": command})

    def edits(self, path: str, old: str, new: str) -> Heard:
        given = {"file_path": str(self.project / path), "old_string": old, "new_string": new}
        return self.tool("post-tool", "StrReplace", given, tool_output="{}")


class Windsurf(StubClient):
    """Reads nothing of what a hook prints; 2 refuses, and what stands in stderr is the reason."""

    name = "windsurf"

    def act(self, action: str, **tool_info: Any) -> Heard:
        event = "pre-tool" if action.startswith("pre_") else "post-tool"
        base = {"trajectory_id": self.session, "execution_id": "e-1", "model_name": "swe"}
        return self.send(event, json.dumps({"agent_action_name": action, **base, "tool_info": tool_info}).encode())

    def heard(self, event: str, answer: dict[str, Any]) -> Heard:
        raise AssertionError("it was printed for nobody")


class Antigravity(StubClient):
    """Starts its hooks in the folder of its plugin, and says in the payload where the work is."""

    name = "antigravity"

    def invokes(self, number: int, **more: Any) -> Heard:
        told = {"invocationNum": number, "workspacePaths": [str(self.project)], **more}
        return self.send("session-start", json.dumps(told).encode())

    def heard(self, event: str, answer: dict[str, Any]) -> Heard:
        assert set(answer) == {"injectSteps"}
        [step] = answer["injectSteps"]
        assert set(step) == {"ephemeralMessage"}
        return Heard(step["ephemeralMessage"])


CLIENTS: tuple[type[ClaudeCode] | type[Codex] | type[Cursor], ...] = (ClaudeCode, Codex, Cursor)
