"""Starts another client with a handoff as its first prompt."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence

from clew.errors import ClewError
from clew.faces.cli.output import say

STARTS: dict[str, tuple[str, ...]] = {
    "claude": ("claude",),
    "codex": ("codex",),
    "copilot": ("copilot", "--interactive"),
    "cursor": ("cursor-agent",),
    "gemini": ("gemini", "--prompt-interactive"),
    "opencode": ("opencode", "--prompt"),
    "qwen": ("qwen", "--prompt-interactive"),
}
"""The command line before the prompt, for clients that accept an initial prompt in a terminal."""
MOST = 24_000
"""Characters of a prompt; an argument of a command has a limit on some systems."""
ASKED = (
    "Take over this work from another agent. Below is its status. If the tool `resume` of Clew is there, call it"
    " first: it knows more, and newer. Then go on with what is next.\n\n"
)


def prompt_of(lines: Sequence[str]) -> str:
    text = ASKED + "\n".join(lines)
    return text if len(text) <= MOST else f"{text[: MOST - 60].rpartition(chr(10))[0]}\n\n(The rest: `clew handoff`.)"


def command_of(client: str, prompt: str) -> list[str]:
    from clew.faces.connect.clients import ALIASES  # imported only if needed

    name = ALIASES.get(client.lower(), client.lower())
    if name not in STARTS:
        raise ClewError(
            "INVALID_INPUT",
            f"{client[:40]!r} cannot be started with a prompt",
            f"Use {', '.join(STARTS)}; or paste what `clew handoff` prints.",
        )
    return [*STARTS[name], prompt]


def start(client: str, lines: Sequence[str]) -> int:
    """Start the client here if this is a terminal; otherwise print the command for one."""
    command = command_of(client, prompt_of(lines))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(shlex.join(command))
        return 0
    program = shutil.which(command[0])
    if program is None:
        raise ClewError(
            "UNAVAILABLE", f"{command[0]} is not installed here", "Install it, or paste what `clew handoff` prints."
        )
    return subprocess.call([program, *command[1:]])
