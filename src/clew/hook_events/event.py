"""A hook event: the report of a client about its session, and the reply of Clew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.registry.context import Context
from clew.registry.operation import Input, Text

Event = Literal[
    "session-start",
    "prompt",
    "pre-tool",
    "post-tool",
    "tool-failed",
    "pre-compact",
    "stop",
    "task-completed",
    "session-end",
]
HookClient = Literal["claude", "codex", "cursor", "vscode", "copilot", "gemini", "antigravity", "windsurf", "opencode"]
Short = Annotated[str, Field(max_length=500)]
MOST_TEXT = 200_000


class HookEvent(Input):
    # A guard must see the real action. Whatever is stored passes `agent_sessions.public`.
    exact = ("command", "text", "before", "paths", "folder")

    client: Annotated[HookClient, Field(description="Whose hook.")]
    event: Annotated[Event, Field(description="What is about to happen, or has happened.")]
    session: Annotated[str, Field(min_length=1, max_length=200, description="The client's id of the session.")]
    source: Annotated[Short, Field(description="Why the session starts: startup, resume, clear, compact.")] = ""
    prompt: Annotated[Text, Field(max_length=MOST_TEXT, description="What the user asks.")] = ""
    tool: Annotated[Literal["", "edit", "command", "clew"], Field(description="What sort of tool it is.")] = ""
    tool_id: Annotated[Short, Field(description="The client's id of the tool call.")] = ""
    paths: Annotated[list[Annotated[str, Field(max_length=4096)]], Field(max_length=100)] = []
    text: Annotated[Text, Field(max_length=MOST_TEXT, description="What is written.")] = ""
    before: Annotated[Text, Field(max_length=MOST_TEXT, description="What it replaces.")] = ""
    whole: Annotated[bool, Field(description="Whether the text is the whole file.")] = False
    command: Annotated[Text, Field(max_length=MOST_TEXT)] = ""
    folder: Annotated[str, Field(max_length=4096, description="Where the command runs.")] = ""
    exit_code: Annotated[int | None, Field(ge=-(2**31), le=2**31, description="How it ended; None: unknown.")] = None
    output: Annotated[Text, Field(max_length=MOST_TEXT)] = ""
    duration_ms: Annotated[int | None, Field(ge=0, le=2**53 - 1)] = None
    subagent: Annotated[bool, Field(description="A sub-agent: guards hold, nothing is said or kept.")] = False
    speaks: Annotated[bool, Field(description="Whether the model is given what is said.")] = True
    at_ms: Annotated[int | None, Field(ge=0, le=2**53 - 1, description="When it happened, if it is told later.")] = None
    until_ms: Annotated[int | None, Field(ge=0, le=2**53 - 1, description="After this time the answer is useless.")] = (
        None
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply: text for the model, text for the person, and whether the tool may run."""

    say: str = ""
    notice: str = ""
    decision: Literal["", "inform", "ask", "deny", "block"] = ""
    reason: str = ""
    rules: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "say": self.say,
            "notice": self.notice,
            "decision": self.decision,
            "reason": self.reason,
            "rules": list(self.rules),
        }


SILENCE = Reply()


def in_time(ctx: Context, args: HookEvent) -> bool:
    return args.until_ms is None or ctx.clock() <= args.until_ms
