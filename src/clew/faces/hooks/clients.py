"""Which events of which client call `clew-hook`, and what each client lets a hook answer.

One table for everybody: `clew connect` and the plugin folder write their entries from it, and the answers are put into
a client's words by it. The command of an entry never changes with a release, because some clients ask their user to
trust a hook again when its command has changed.
"""

from __future__ import annotations

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
"""Our names of the moments at which a client calls."""


class HookEntry:
    """One event of one client, as it is written into the client's configuration.

    A plain class: the hook itself reads this table, and importing dataclasses would cost it a tenth of its time.
    """

    __slots__ = ("background", "client", "event", "matcher", "name", "seconds", "speaks")

    def __init__(
        self,
        client: str,
        name: str,
        event: str,
        matcher: str | None = None,
        seconds: int = 5,
        speaks: bool = True,
        background: bool = False,
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
        self.background = background
        """Whether the client need not wait for the end of it."""

    @property
    def command(self) -> str:
        return f"{COMMAND} {self.event} --client {self.client}"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.event, "--client", self.client)


_CLEW = "mcp__(plugin_clew-memory_)?clew__(start|resume|close)"
"""Calls of our own tools: their answers name the task that this very session works on."""

CLAUDE = (
    HookEntry("claude", "SessionStart", "session-start", "startup|resume|clear|compact"),
    HookEntry("claude", "UserPromptSubmit", "prompt", seconds=3),
    HookEntry("claude", "PreToolUse", "pre-tool", "Edit|Write|MultiEdit|NotebookEdit|Bash", 3),
    HookEntry(
        "claude", "PostToolUse", "post-tool", f"^(Bash|Edit|Write|MultiEdit|NotebookEdit|{_CLEW})$", 10, False, True
    ),
    HookEntry("claude", "PostToolUseFailure", "tool-failed", "Bash", 3),
    HookEntry("claude", "PreCompact", "pre-compact", "manual|auto", speaks=False),
    HookEntry("claude", "Stop", "stop"),
    HookEntry("claude", "TaskCompleted", "task-completed"),
    HookEntry("claude", "SessionEnd", "session-end", seconds=1, speaks=False),
)
CODEX = (
    HookEntry("codex", "SessionStart", "session-start", "startup|resume|clear|compact"),
    HookEntry("codex", "UserPromptSubmit", "prompt", seconds=3),
    HookEntry("codex", "PreToolUse", "pre-tool", "Bash|apply_patch", 3),
    # Codex has no event of its own for a command that failed: its exit code stands in the result.
    HookEntry("codex", "PostToolUse", "post-tool", f"^(Bash|apply_patch|{_CLEW})$", 5),
    HookEntry("codex", "PreCompact", "pre-compact", speaks=False),
    HookEntry("codex", "Stop", "stop"),
    HookEntry("codex", "SessionEnd", "session-end", seconds=1, speaks=False),
)
CURSOR = (
    HookEntry("cursor", "sessionStart", "session-start"),
    # Nothing can be added to a prompt here: what fits it is said after the next tool.
    HookEntry("cursor", "beforeSubmitPrompt", "prompt", seconds=3, speaks=False),
    HookEntry("cursor", "preToolUse", "pre-tool", "Shell|Write|Edit|StrReplace|Delete", 3, speaks=False),
    HookEntry("cursor", "postToolUse", "post-tool", "Shell|Write|Edit|StrReplace|Delete|MCP", 5),
    HookEntry("cursor", "postToolUseFailure", "tool-failed", "Shell", 3),
    HookEntry("cursor", "preCompact", "pre-compact", speaks=False),
    HookEntry("cursor", "stop", "stop"),
    HookEntry("cursor", "sessionEnd", "session-end", seconds=1, speaks=False),
)
VSCODE = (
    # Claude's format. Matchers are ignored there, so the hook looks at the tool itself.
    HookEntry("vscode", "SessionStart", "session-start"),
    HookEntry("vscode", "UserPromptSubmit", "prompt", seconds=3, speaks=False),
    HookEntry("vscode", "PreToolUse", "pre-tool", seconds=3),
    HookEntry("vscode", "PostToolUse", "post-tool", seconds=5),
    HookEntry("vscode", "PreCompact", "pre-compact", speaks=False),
    HookEntry("vscode", "Stop", "stop"),
)
GEMINI = (
    # Its timeouts are in milliseconds; who writes the entry multiplies.
    HookEntry("gemini", "SessionStart", "session-start"),
    HookEntry("gemini", "BeforeAgent", "prompt", seconds=3),
    HookEntry("gemini", "BeforeTool", "pre-tool", "run_shell_command|write_file|replace", 3, speaks=False),
    HookEntry("gemini", "AfterTool", "post-tool", "run_shell_command|write_file|replace", 5),
    HookEntry("gemini", "PreCompress", "pre-compact", speaks=False),
    HookEntry("gemini", "SessionEnd", "session-end", seconds=1, speaks=False),
)
ANTIGRAVITY = (
    # It calls before every call of the model; the first one is the start of a session, and the only one we answer.
    HookEntry("antigravity", "PreInvocation", "session-start"),
)
WINDSURF = (
    # Its hooks can refuse and cannot speak, and of a command that ended it does not say how.
    HookEntry("windsurf", "pre_run_command", "pre-tool", seconds=3, speaks=False),
    HookEntry("windsurf", "pre_write_code", "pre-tool", seconds=3, speaks=False),
    HookEntry("windsurf", "post_write_code", "post-tool", speaks=False),
)
OPENCODE = (
    # Its hooks are functions of a plugin (`connect/texts/opencode.js`), which starts the command.
    HookEntry("opencode", "experimental.chat.system.transform", "session-start"),
    HookEntry("opencode", "chat.message", "prompt", seconds=3),
    HookEntry("opencode", "tool.execute.before", "pre-tool", seconds=3, speaks=False),
    HookEntry("opencode", "tool.execute.after", "post-tool"),
    HookEntry("opencode", "experimental.session.compacting", "pre-compact", speaks=False),
)
ENTRIES: tuple[HookEntry, ...] = (*CLAUDE, *CODEX, *CURSOR, *VSCODE, *GEMINI, *ANTIGRAVITY, *WINDSURF, *OPENCODE)
CLIENTS: tuple[str, ...] = tuple(dict.fromkeys(entry.client for entry in ENTRIES))


def entries_of(client: str) -> tuple[HookEntry, ...]:
    """The events of one client, in the order of a session; none for a client without hooks."""
    return tuple(entry for entry in ENTRIES if entry.client == client)


def entry_for(client: str, event: str) -> HookEntry | None:
    return next((entry for entry in ENTRIES if (entry.client, entry.event) == (client, event)), None)
