"""What is written for agents and people to read: the skill and the slash commands, one source for every client."""

from __future__ import annotations

import json
import re
from importlib.resources import files

COMMANDS = ("resume", "remember", "why")


def skill() -> str:
    return _text("SKILL.md")


def command(name: str) -> str:
    """A slash command as Markdown with front matter; `$ARGUMENTS` is replaced by what follows it."""
    return _text("commands", f"{name}.md")


def command_parts(name: str) -> tuple[str, str]:
    """Its description and its prompt."""
    found = re.fullmatch(r"---\n(.*?)\n---\n+(.*)", command(name), re.DOTALL)
    assert found is not None
    described = re.search(r"^description: (.+)$", found[1], re.MULTILINE)
    assert described is not None
    return described[1], found[2]


def opencode_plugin(hook: str) -> str:
    """The plugin by which opencode calls the hook; `hook` is how a shell starts it."""
    return _text("opencode.js").replace('"clew-hook"', json.dumps(hook), 1)


def _text(*parts: str) -> str:
    return files(__name__).joinpath(*parts).read_text(encoding="utf-8")
