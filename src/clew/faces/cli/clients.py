"""The programs that connect to Clew: where they keep their servers, and the lines that add this one."""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.faces.cli.output import say

NAME = "clew"


@dataclass(frozen=True)
class Target:
    """How a client reaches Clew: by starting the command with `serve`, or at `url`."""

    command: tuple[str, ...]
    url: str | None = None
    token: bool = False

    def entry(self) -> dict[str, Any]:
        if self.url is None:
            return {"command": self.command[0], "args": [*self.command[1:], "serve"]}
        return {"url": self.url, **({"headers": {"Authorization": "Bearer ${env:CLEW_TOKEN}"}} if self.token else {})}

    def shell(self) -> str:
        return shlex.join([*self.command, "serve"])


@dataclass(frozen=True)
class Client:
    name: str
    title: str
    key: str  # the table of servers in its configuration files
    files: Callable[[Path], tuple[Path, ...]]  # project directory -> files, the user's own first
    lines: Callable[[Target], list[str]]


@dataclass(frozen=True)
class Registration:
    """What one configuration file says about Clew."""

    client: Client
    file: Path
    registered: bool
    problem: str | None = None


def this_command() -> tuple[str, ...]:
    """How a client should start this very Clew: by name when the shell finds it, by path otherwise."""
    own = Path(sys.executable).parent / NAME
    if not own.exists():
        return (sys.executable, "-m", NAME)
    found = shutil.which(NAME)
    return (NAME,) if found and Path(found).resolve() == own.resolve() else (str(own),)


def registrations(project: Path) -> Iterator[Registration]:
    """Every configuration file of a known client that exists here."""
    for client in CLIENTS.values():
        for file in client.files(project):
            if file.is_file():
                yield _inspect(client, file, project)


def _inspect(client: Client, file: Path, project: Path) -> Registration:
    try:
        text = file.read_text(encoding="utf-8")
        data = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as problem:
        return Registration(client, file, False, f"{file} cannot be read: {problem}")
    return Registration(client, file, any(_is_clew(*item) for item in _servers(data, client.key, project)))


def _servers(data: Any, key: str, project: Path) -> Iterator[tuple[str, Any]]:
    """The servers of a file; Claude Code keeps a second table for each project directory."""
    if not isinstance(data, dict):
        return
    here = data.get("projects", {}).get(str(project), {}) if isinstance(data.get("projects"), dict) else {}
    for table in (data.get(key), here.get(key)):
        if isinstance(table, dict):
            yield from table.items()


def _is_clew(name: str, entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    words = [str(entry.get("command", "")), *map(str, entry.get("args") or [])]
    return name == NAME or any(Path(word).name == NAME for word in words)


def _claude(target: Target) -> list[str]:
    if target.url is None:
        return [f"claude mcp add {NAME} -- {target.shell()}"]
    header = ' --header "Authorization: Bearer $CLEW_TOKEN"' if target.token else ""
    return [f"claude mcp add --transport http {NAME} {target.url}{header}"]


def _codex(target: Target) -> list[str]:
    if target.url is None:
        return [f"codex mcp add {NAME} -- {target.shell()}"]
    header = " --bearer-token-env-var CLEW_TOKEN" if target.token else ""
    return [f"codex mcp add {NAME} --url {target.url}{header}"]


def _cursor(target: Target) -> list[str]:
    entry = target.entry()
    config = base64.b64encode(json.dumps(entry).encode()).decode()
    return [
        "in ~/.cursor/mcp.json: " + json.dumps({"mcpServers": {NAME: entry}}),
        f"or open: cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={config}",
    ]


def _vscode(target: Target) -> list[str]:
    entry = {"name": NAME, **({"type": "http"} if target.url else {}), **target.entry()}
    return [f"code --add-mcp '{json.dumps(entry)}'"]


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _vscode_user() -> Path:
    if sys.platform == "darwin":
        return _home("Library", "Application Support", "Code", "User", "mcp.json")
    return _home(".config", "Code", "User", "mcp.json")


def _codex_home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or _home(".codex"))


CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude",
            "Claude Code",
            "mcpServers",
            lambda project: (_home(".claude.json"), project / ".mcp.json"),
            _claude,
        ),
        Client("codex", "Codex", "mcp_servers", lambda _: (_codex_home() / "config.toml",), _codex),
        Client(
            "cursor",
            "Cursor",
            "mcpServers",
            lambda project: (_home(".cursor", "mcp.json"), project / ".cursor" / "mcp.json"),
            _cursor,
        ),
        Client(
            "vscode",
            "VS Code",
            "servers",
            lambda project: (_vscode_user(), project / ".vscode" / "mcp.json"),
            _vscode,
        ),
    )
}


def show_connections(target: Target, names: list[str] | None = None) -> None:
    for name in names or list(CLIENTS):
        say(CLIENTS[name].title, "bold")
        for line in CLIENTS[name].lines(target):
            say(f"  {line}")
