"""How Clew is named to a client: the entry of its table of servers, in the words of each client."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

NAME = "clew"
DISTRIBUTION = "clew-memory"
HOOK = "clew-hook"

TRANSPORT = frozenset(
    (
        "type",
        "command",
        "args",
        "cmd",
        "url",
        "uri",
        "httpUrl",
        "serverUrl",
        "headers",
        "bearer_token_env_var",
        "transport",
    )
)
"""The keys of an entry that say how the server is reached. All other keys belong to the user."""

_TRUSTED: dict[str, Any] = {"trust": True}
ALLOWING: dict[str, dict[str, Any]] = {
    "claude": {},  # keeps its rules in its settings
    "codex": {"default_tools_approval_mode": "approve"},
    "gemini": _TRUSTED,
    "qwen": _TRUSTED,
}
"""Clients that ask before each call, and what their entry says to let ours through."""

PREFERENCES = frozenset(
    ("alwaysLoad", "required", "startup_timeout_sec", *(key for entry in ALLOWING.values() for key in entry))
)
"""Keys that we suggest and that the user may have decided otherwise: what is there already stays."""

Entry = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """How a client reaches Clew: by starting the command with `serve`, or at `url`."""

    command: tuple[str, ...]
    url: str | None = None
    token: str = ""
    """The variable in which the client finds the token; empty where none is needed."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Settings that the server needs and that a client started from a desktop would not pass on."""

    @property
    def arguments(self) -> list[str]:
        return [*self.command[1:], "serve"]

    def shell(self) -> str:
        return shlex.join([*self.command, "serve"])


def this_command(absolute: bool = False) -> tuple[str, ...]:
    """How a client should start this very Clew.

    By name when the shell finds it and `absolute` is not asked for: a program started from a desktop has another PATH.
    A copy that `uvx` runs from its cache may be gone tomorrow, so there `uvx` itself is named.
    """
    own = own_script(NAME)
    if own is None:
        return (sys.executable, "-m", NAME)
    if is_cached(own):
        return (shutil.which("uvx") or "uvx", "--from", DISTRIBUTION, NAME)
    return (str(own),) if absolute or shutil.which(NAME) != str(own) else (NAME,)


def own_script(name: str) -> Path | None:
    """A command of this installation: as PATH finds it (a link there outlives an upgrade), else next to Python."""
    beside = Path(sys.executable).parent / (f"{name}.exe" if os.name == "nt" else name)
    if not beside.is_file():
        return None
    found = shutil.which(name)
    return Path(found) if found and Path(found).resolve() == beside.resolve() else beside


def is_cached(path: Path) -> bool:
    """Whether it is in the cache of `uvx`, which may be cleared at any time."""
    return any(part.startswith(("archive-v", "environments-v")) for part in path.absolute().parts)


def is_ours(name: str, entry: Any) -> bool:
    """Whether an entry starts Clew, whatever it is called and wherever that Clew was installed."""
    if not isinstance(entry, dict):
        return False
    command = entry.get("command", entry.get("cmd", ""))
    words = [*(command if isinstance(command, list) else [command]), *(entry.get("args") or [])]
    if any(_is_our_word(str(word)) for word in words):
        return True
    address = next((str(entry[key]) for key in ("url", "httpUrl", "serverUrl", "uri") if key in entry), "")
    # An address alone does not show whose it is, so here the name must be ours too.
    return name == NAME and address.rstrip("/").endswith("/mcp")


def _is_our_word(word: str) -> bool:
    """`clew`, `/opt/bin/clew`, `clew.exe`, `clew-memory[all]==1.2`."""
    last = PurePath(word.replace("\\", "/")).name.lower().removesuffix(".exe")
    return last in (NAME, DISTRIBUTION) or last.startswith((f"{DISTRIBUTION}[", f"{DISTRIBUTION}=="))


def merged(old: Entry, new: Entry) -> Entry:
    """An older entry of ours brought up to date: the way to the server is new, what the user added stays."""
    # An older way to reach the server is removed completely; parts of it would confuse the client.
    kept = {key: value for key, value in old.items() if key in new or key not in TRANSPORT}
    for key, value in new.items():
        if key in PREFERENCES and key in kept:
            continue
        before = kept.get(key)
        kept[key] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
    return kept


def plain_entry(target: Target) -> Entry:
    """`{"command", "args", "env"}` or `{"url", "headers"}`: what most clients read."""
    if target.url is None:
        return {"command": target.command[0], "args": target.arguments, **_env("env", target)}
    return {"url": target.url, **bearer(target, f"${{env:{target.token}}}")}


def typed_entry(target: Target) -> Entry:
    """The same with a type; `${NAME}` of a variable is replaced by the client."""
    if target.url is None:
        return {"type": "stdio", **plain_entry(target)}
    return {"type": "http", "url": target.url, **bearer(target, f"${{{target.token}}}")}


def claude_entry(target: Target) -> Entry:
    """Without `alwaysLoad` the model must search for the tools, and does not learn of them while we start."""
    return {**typed_entry(target), "alwaysLoad": True}


def vscode_entry(target: Target) -> Entry:
    return {"type": "stdio" if target.url is None else "http", **plain_entry(target)}


def copilot_entry(target: Target) -> Entry:
    entry = typed_entry(target)
    return {**entry, "type": "local" if target.url is None else "http", "tools": ["*"]}


def gemini_entry(target: Target) -> Entry:
    if target.url is None:
        return plain_entry(target)
    return {"httpUrl": target.url, **bearer(target, f"${{{target.token}}}")}


def remote_entry(target: Target) -> Entry:
    """Windsurf and Antigravity call the address `serverUrl`."""
    entry = plain_entry(target)
    return entry if target.url is None else {"serverUrl": entry.pop("url"), **entry}


def opencode_entry(target: Target) -> Entry:
    if target.url is None:
        command = [target.command[0], *target.arguments]
        return {"type": "local", "command": command, **_env("environment", target), "enabled": True}
    return {"type": "remote", "url": target.url, **bearer(target, f"{{env:{target.token}}}"), "enabled": True}


def codex_entry(target: Target) -> Entry:
    """With `required` the first request waits for the tools; without it a cold start leaves them out.

    Codex then does not start where we do not, so a slow machine gets a minute instead of its ten seconds.
    """
    if target.url is None:
        return {**plain_entry(target), "required": True, "startup_timeout_sec": 60}
    return {"url": target.url, **({"bearer_token_env_var": target.token} if target.token else {})}


def goose_entry(target: Target) -> Entry:
    head = {"enabled": True, "name": NAME, "description": "Durable memory: what was decided, proven, and what is next"}
    if target.url is None:
        way = {"type": "stdio", "cmd": target.command[0], "args": target.arguments, **_env("envs", target)}
        return {**head, **way, "timeout": 300}
    keys = {"env_keys": [target.token]} if target.token else {}
    way = {"type": "streamable_http", "uri": target.url, **bearer(target, f"${target.token}"), **keys}
    return {**head, **way, "timeout": 300}


def cline_entry(target: Target) -> Entry:
    return plain_entry(target) if target.url is None else {"type": "streamableHttp", "url": target.url}


def continue_entry(target: Target) -> Entry:
    """An item of a list, which therefore holds its name."""
    entry = plain_entry(target) if target.url is None else {"type": "streamable-http", "url": target.url}
    return {"name": NAME, **entry}


def auggie_entry(target: Target) -> Entry:
    return plain_entry(target) if target.url is None else {"type": "http", "url": target.url}


def bearer(target: Target, variable: str) -> Entry:
    """The token is never written: the client takes it from its own environment."""
    return {"headers": {"Authorization": f"Bearer {variable}"}} if target.token else {}


def _env(key: str, target: Target) -> Entry:
    return {key: dict(target.env)} if target.env else {}
