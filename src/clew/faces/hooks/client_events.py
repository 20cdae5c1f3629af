"""Which events of which client call `clew-hook`, and how each client is answered. The standard library only.

One table for everybody: `clew connect` and the plugin folder write their entries from it, and the answers are put into
a client's words by it. The command of an entry never changes with a release, because some clients ask their user to
trust a hook again when its command has changed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

COMMAND = "clew-hook"
EVENTS = (
    "session-start",
    "prompt",
    "pre-tool",
    "post-tool",
    "tool-failed",
    "pre-compact",
    "stop",
    "task-completed",
    "session-end",
)
"""Our names of the events that a client reports."""
GUARDING = "pre-tool"
"""The one at which guards are asked."""
KEPT = frozenset({"post-tool", "tool-failed", "pre-compact", "session-end"})
"""Events of which something is kept; what only asks is of no use later."""
UNCHECKED = {
    "decision": "ask",
    "reason": "The guards of this project could not be checked: Clew's server did not answer. Try again in a moment;"
    " `clew doctor` says what is wrong.",
}
"""The answer if guards may apply but cannot be read: a person decides."""


class ClientHook:
    """One event of one client, as it is written into the client's configuration.

    A plain class: the hook itself reads this table, and importing dataclasses would cost it a tenth of its time.
    """

    __slots__ = ("client", "event", "matcher", "name", "seconds", "speaks")

    def __init__(
        self,
        client: str,
        name: str,
        event: str,
        matcher: str | None = None,
        seconds: int = 5,
        speaks: bool = True,
    ) -> None:
        self.client = client
        self.name = name
        """What the client calls the event."""
        self.event = event
        """What we call it; one of EVENTS."""
        self.matcher = matcher
        """Which tools or causes the client should call us for; None: all."""
        self.seconds = seconds
        """After which the client gives the hook up. The hook itself gives up long before."""
        self.speaks = speaks
        """Whether the client gives the model what the hook says."""

    @property
    def command(self) -> str:
        return f"{COMMAND} {self.event} --client {self.client}"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.event, "--client", self.client)


_CLEW = "mcp__(plugin_clew-memory_)?clew__(start|resume|close)"
"""Calls of our own tools: their answers name the task that this very session works on."""

CLAUDE = (
    ClientHook("claude", "SessionStart", "session-start", "startup|resume|clear|compact"),
    ClientHook("claude", "UserPromptSubmit", "prompt", seconds=3),
    ClientHook("claude", "PreToolUse", "pre-tool", "Edit|Write|MultiEdit|NotebookEdit|Bash"),
    # Not in the background: a `close` right after a test run must find it.
    ClientHook("claude", "PostToolUse", "post-tool", f"^(Bash|Edit|Write|MultiEdit|NotebookEdit|{_CLEW})$", 5, False),
    ClientHook("claude", "PostToolUseFailure", "tool-failed", "Bash", 3),
    ClientHook("claude", "PreCompact", "pre-compact", "manual|auto", speaks=False),
    ClientHook("claude", "Stop", "stop"),
    ClientHook("claude", "TaskCompleted", "task-completed"),
    ClientHook("claude", "SessionEnd", "session-end", seconds=1, speaks=False),
)
CODEX = (
    ClientHook("codex", "SessionStart", "session-start", "startup|resume|clear|compact"),
    ClientHook("codex", "UserPromptSubmit", "prompt", seconds=3),
    ClientHook("codex", "PreToolUse", "pre-tool", "Bash|apply_patch"),
    # Codex has no separate event for a failed command: the exit code is in the result.
    ClientHook("codex", "PostToolUse", "post-tool", f"^(Bash|apply_patch|{_CLEW})$", 5),
    ClientHook("codex", "PreCompact", "pre-compact", speaks=False),
    ClientHook("codex", "Stop", "stop"),
    ClientHook("codex", "SessionEnd", "session-end", seconds=1, speaks=False),
)
CURSOR = (
    ClientHook("cursor", "sessionStart", "session-start"),
    # Nothing can be added to a prompt here: what fits it is said after the next tool.
    ClientHook("cursor", "beforeSubmitPrompt", "prompt", seconds=3, speaks=False),
    ClientHook("cursor", "preToolUse", "pre-tool", "Shell|Write|Edit|StrReplace|Delete", speaks=False),
    ClientHook("cursor", "postToolUse", "post-tool", "Shell|Write|Edit|StrReplace|Delete|MCP", 5),
    ClientHook("cursor", "postToolUseFailure", "tool-failed", "Shell", 3),
    ClientHook("cursor", "preCompact", "pre-compact", speaks=False),
    ClientHook("cursor", "stop", "stop"),
    ClientHook("cursor", "sessionEnd", "session-end", seconds=1, speaks=False),
)
VSCODE = (
    # Claude's format. Matchers are ignored there, so the hook looks at the tool itself.
    ClientHook("vscode", "SessionStart", "session-start"),
    ClientHook("vscode", "UserPromptSubmit", "prompt", seconds=3, speaks=False),
    ClientHook("vscode", "PreToolUse", "pre-tool"),
    ClientHook("vscode", "PostToolUse", "post-tool", seconds=5),
    ClientHook("vscode", "PreCompact", "pre-compact", speaks=False),
    ClientHook("vscode", "Stop", "stop"),
    # VS Code has no such event; Copilot CLI, which reads the same file, has.
    ClientHook("vscode", "SessionEnd", "session-end", seconds=1, speaks=False),
)
COPILOT = tuple(ClientHook("copilot", entry.name, entry.event, None, entry.seconds) for entry in VSCODE)
"""Copilot CLI runs the hooks of VS Code's file, and unlike VS Code gives the model what is said at a prompt."""
GEMINI = (
    # Its timeouts are in milliseconds; who writes the entry multiplies.
    ClientHook("gemini", "SessionStart", "session-start"),
    ClientHook("gemini", "BeforeAgent", "prompt", seconds=3),
    ClientHook("gemini", "BeforeTool", "pre-tool", "run_shell_command|write_file|replace", speaks=False),
    ClientHook(
        "gemini", "AfterTool", "post-tool", "run_shell_command|write_file|replace|mcp_clew_(start|resume|close)", 5
    ),
    ClientHook("gemini", "PreCompress", "pre-compact", speaks=False),
    ClientHook("gemini", "SessionEnd", "session-end", seconds=1, speaks=False),
)
ANTIGRAVITY = (
    # It calls before every call of the model; the first one is the start of a session, and the only one we answer.
    ClientHook("antigravity", "PreInvocation", "session-start"),
)
WINDSURF = (
    # Its hooks can refuse and cannot speak, and of a command that ended it does not say how.
    ClientHook("windsurf", "pre_run_command", "pre-tool", speaks=False),
    ClientHook("windsurf", "pre_write_code", "pre-tool", speaks=False),
    ClientHook("windsurf", "post_write_code", "post-tool", speaks=False),
)
OPENCODE = (
    # Its hooks are functions of a plugin (`connect/texts/opencode.js`), which starts the command.
    ClientHook("opencode", "experimental.chat.system.transform", "session-start"),
    ClientHook("opencode", "chat.message", "prompt", seconds=3),
    ClientHook("opencode", "tool.execute.before", "pre-tool", speaks=False),
    ClientHook("opencode", "tool.execute.after", "post-tool"),
    ClientHook("opencode", "experimental.session.compacting", "pre-compact", speaks=False),
)
ENTRIES: tuple[ClientHook, ...] = (
    *CLAUDE,
    *CODEX,
    *CURSOR,
    *VSCODE,
    *COPILOT,
    *GEMINI,
    *ANTIGRAVITY,
    *WINDSURF,
    *OPENCODE,
)
CLIENTS: tuple[str, ...] = tuple(dict.fromkeys(entry.client for entry in ENTRIES))


def entries_of(client: str) -> tuple[ClientHook, ...]:
    """The events of one client, in the order of a session; none for a client without hooks."""
    return tuple(entry for entry in ENTRIES if entry.client == client)


def entry_for(client: str, event: str) -> ClientHook | None:
    return next((entry for entry in ENTRIES if (entry.client, entry.event) == (client, event)), None)


TYPE_CHECKING = False

REFUSE = 2
"""The exit code by which some events are refused: where the user has set that stops are blocked, and by a guard that a
person has approved in a client that knows no other refusal."""
_ASKING = frozenset({"claude", "vscode", "copilot"})
"""Clients that can ask their user. The others refuse, and the reason says how the user lets it pass."""


def reply_of(client: str, event: str, answer: Mapping[str, Any]) -> tuple[dict[str, Any], int, str]:
    """What is printed (nothing when empty), the exit code, and what goes to stderr."""
    if event == "task-completed" and answer.get("decision") == "block":
        return {}, REFUSE, str(answer.get("reason", ""))
    if client == "windsurf":
        is_refused = event == "pre-tool" and answer.get("decision") in ("ask", "deny")
        return ({}, REFUSE, str(answer.get("reason", ""))) if is_refused else ({}, 0, "")
    render = _OWN.get(client)
    return (render(event, answer) if render else _claude(client, event, answer)), 0, ""


def _claude(client: str, event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Claude Code's format, which Codex, VS Code and Gemini share in most."""
    said, reason = answer.get("say") or "", answer.get("reason") or ""
    decision = answer.get("decision") or ""
    if event == "pre-tool" and decision in ("ask", "deny"):
        chosen = decision if client in _ASKING else "deny"
        if client == "gemini":
            return {"decision": chosen, "reason": reason}
        return _specific(client, event, permissionDecision=chosen, permissionDecisionReason=reason)
    if event == "stop" and decision == "block":
        return {"decision": "block", "reason": reason}
    found = _specific(client, event, additionalContext=said) if said else {}
    if answer.get("notice"):
        found["systemMessage"] = answer["notice"]
    return found


def _specific(client: str, event: str, **told: str) -> dict[str, Any]:
    entry = entry_for(client, event)
    return {"hookSpecificOutput": {"hookEventName": entry.name, **told}} if entry is not None else {}


def _cursor(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    decision, reason = answer.get("decision") or "", answer.get("reason") or ""
    if event == "pre-tool":
        # An `allow` would pass over the user's own approval, so what is allowed is left unsaid.
        return (
            {"permission": "deny", "user_message": reason, "agent_message": reason}
            if decision in ("ask", "deny")
            else {}
        )
    if event == "stop":
        return {"followup_message": reason} if decision == "block" else {}
    return {"additional_context": answer["say"]} if answer.get("say") else {}


def _copilot(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Claude's format for a decision; context is read at the top level only."""
    found = _claude("copilot", event, {**answer, "say": ""})
    return {**found, "additionalContext": answer["say"]} if answer.get("say") else found


def _antigravity(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"injectSteps": [{"ephemeralMessage": answer["say"]}]} if answer.get("say") else {}


def _opencode(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """For our own plugin there, which puts it where it belongs."""
    if event == "pre-tool" and answer.get("decision") in ("ask", "deny"):
        return {"deny": answer.get("reason") or ""}
    return {"context": answer["say"]} if answer.get("say") else {}


_OWN = {"cursor": _cursor, "copilot": _copilot, "antigravity": _antigravity, "opencode": _opencode}
"""The clients that have a format of their own."""
