"""A session of an agent as its client's hooks tell it, over the dispatcher."""

from __future__ import annotations

from typing import Any

from clew.app import Clew
from clew.registry.connection import Connection
from tests.conftest import Caller


class Hooked:
    """Reports hook events of one session; what comes back is what would be said."""

    def __init__(self, clew: Clew, session: str = "session-1", client: str = "claude") -> None:
        self.clew, self.session, self.client = clew, session, client
        self.connection = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
        self.calls = 0

    def __call__(self, event: str, **given: Any) -> dict[str, Any]:
        arguments = {"client": self.client, "event": event, "session": self.session, **given}
        answer = self.clew.dispatcher.call("hook_event", arguments, self.connection)
        assert answer.ok, answer.envelope["error"]
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def _id(self) -> str:
        self.calls += 1
        return f"{self.session}-{self.calls}"

    def start(self, source: str = "startup") -> str:
        return str(self("session-start", source=source)["say"])

    def ask(self, prompt: str) -> str:
        return str(self("prompt", prompt=prompt)["say"])

    def runs(self, command: str, code: int = 0, output: str = "", **more: Any) -> str:
        given = {"tool": "command", "command": command, "exit_code": code, "output": output, "tool_id": self._id()}
        return str(self("tool-failed" if code else "post-tool", **{**given, **more})["say"])

    def edits(self, path: str, text: str = "", before: str = "") -> str:
        given = {"tool": "edit", "paths": [path], "text": text, "before": before, "tool_id": self._id()}
        return str(self("post-tool", **given)["say"])

    def about_to(self, **given: Any) -> dict[str, Any]:
        return self("pre-tool", tool="command" if "command" in given else "edit", tool_id=self._id(), **given)


def person(clew: Clew) -> Caller:
    at_shell = Caller(clew)
    at_shell.session = Connection(toolset="full", client="clew-cli", durable=False, local=True, person="@ines")
    return at_shell


def agent(clew: Clew, name: str = "claude-code") -> Caller:
    """The MCP connection of the same client."""
    own = Caller(clew)
    own.session = Connection(toolset="agent", client=name, handle=f"handle-{name}")
    return own
