"""A home in which every client has been used: files as people have them, and the rules by which clients read."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from clew.faces.connect.config_formats import JSONC
from clew.faces.connect.jsonc import tokens

FILES = {
    ".claude.json": '{"numStartups": 12,"projects":{"/p":{"mcpServers":{}}},"oauthAccount":{"x":"ü"}}',
    ".claude/settings.json": """{
  "permissions": {"allow": ["Bash(git *)"]},
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    "PreToolUse": []
  },
  "model": "opus"
}
""",
    ".config/Claude/claude_desktop_config.json": '{\n\t"mcpServers": {}\n}',
    ".codex/config.toml": """# my own
model = "gpt-5"   # fast

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]

[projects."/home/me"]
trust_level = "trusted"
""",
    ".cursor/mcp.json": (
        '{\r\n  // servers\r\n  "mcpServers": {\r\n    "gh": {"url": "https://x.example/mcp"} // mine\r\n  }\r\n}\r\n'
    ),
    ".config/Code/User/mcp.json": """{
	"servers": {
		"gh": { "type": "http", "url": "https://x.example/mcp" }, // trailing comma is fine here
	},
	"inputs": [],
}
""",
    ".copilot/mcp-config.json": '{\n  "mcpServers": {\n  }\n}\n',
    ".gemini/settings.json": '\ufeff{\n    // theme\n    "theme": "Dracula"\n}\n',
    ".gemini/config/mcp_config.json": "",
    ".config/opencode/opencode.jsonc": '{\n  "$schema": "https://opencode.ai/config.json",\n  /* none yet */\n}\n',
    ".config/zed/settings.json": """// Zed settings
//
// For information on how to configure Zed
{
  "ui_font_size": 16,
  "buffer_font_size": 15, // small
  // "context_servers": {},
  "theme": {
    "mode": "system",
  },
}
""",
    ".codeium/windsurf/mcp_config.json": '{ "mcpServers": { "x": {"command": "x"} } }',
    ".config/goose/config.yaml": """# goose
GOOSE_PROVIDER: openai
extensions:
  developer:
    enabled: true      # built in
    type: builtin
    name: developer
GOOSE_MODE: auto
""",
    ".qwen/settings.json": '{\n  // mine\n  "model": {"name": "qwen3-coder"}\n}\n',
    ".cline/data/settings/cline_mcp_settings.json": '{"mcpServers": {"x": {"command": "x", "disabled": true}}}\n',
    ".continue/config.yaml": """name: mine
version: 1.0.0
schema: v1
models: [] # none
mcpServers:
  # the browser
  - name: browser
    command: npx
    args: ["-y", "browser"]

rules:
  - Be brief
""",
    ".config/amp/settings.json": '{\n  "amp.mcpServers": {},\n  "amp.url": "https://x.example" // mine\n}\n',
    ".augment/settings.json": "",
}
FOLDERS = (".cursor/skills",)


def make(home: Path) -> Path:
    for name, text in FILES.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    for name in FOLDERS:
        (home / name).mkdir(parents=True, exist_ok=True)
    return home


def tree(home: Path, but: tuple[str, ...] = (".clew", ".cache")) -> dict[str, bytes | None]:
    """Every file and folder with its bytes, but for Clew's own data and what libraries cache."""
    found = (path for path in sorted(home.rglob("*")) if path.relative_to(home).parts[0] not in but)
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in found}


def notes(name: str, text: str) -> list[str]:
    """The comments of a file, in their order."""
    if name.endswith((".toml", ".yaml")):
        return [line[line.index("#") :] for line in text.splitlines() if "#" in line]
    return [token.text for token in tokens(text.removeprefix("\ufeff")) if token.kind in ("line", "block")]


def strict(text: str) -> Any:
    return json.loads(text)


def lenient(text: str) -> Any:
    """JSON with comments; read by our own parser, which is tested against the standard one."""
    return JSONC.read(text.removeprefix("\ufeff"))


@dataclass(frozen=True)
class Rule:
    """How a client reads its servers, and what an entry must be for it to start one."""

    file: str
    read: Callable[[str], Any]
    table: str
    check: Callable[[dict[str, Any]], bool]


def _stdio(entry: dict[str, Any]) -> bool:
    return isinstance(entry["command"], str) and entry["args"][-1] == "serve"


def _listed(text: str) -> Any:
    """Continue's servers by their names, which are a list in its file."""
    found = yaml.safe_load(text)
    return {**found, "mcpServers": {entry["name"]: entry for entry in found["mcpServers"] or ()}}


RULES = {
    "claude": Rule(".claude.json", strict, "mcpServers", lambda entry: entry["type"] == "stdio" and _stdio(entry)),
    "claude-desktop": Rule(".config/Claude/claude_desktop_config.json", strict, "mcpServers", _stdio),
    "codex": Rule(".codex/config.toml", tomllib.loads, "mcp_servers", _stdio),
    "cursor": Rule(".cursor/mcp.json", lenient, "mcpServers", _stdio),
    "vscode": Rule(
        ".config/Code/User/mcp.json", lenient, "servers", lambda entry: entry["type"] == "stdio" and _stdio(entry)
    ),
    "copilot": Rule(
        ".copilot/mcp-config.json",
        strict,
        "mcpServers",
        lambda entry: entry["type"] == "local" and entry["tools"] == ["*"] and _stdio(entry),
    ),
    "gemini": Rule(".gemini/settings.json", lenient, "mcpServers", _stdio),
    "antigravity": Rule(".gemini/config/mcp_config.json", strict, "mcpServers", _stdio),
    "opencode": Rule(
        ".config/opencode/opencode.jsonc",
        lenient,
        "mcp",
        lambda entry: entry["type"] == "local" and entry["command"][-1] == "serve" and entry["enabled"] is True,
    ),
    "zed": Rule(".config/zed/settings.json", lenient, "context_servers", _stdio),
    "windsurf": Rule(".codeium/windsurf/mcp_config.json", strict, "mcpServers", _stdio),
    "goose": Rule(
        ".config/goose/config.yaml",
        yaml.safe_load,
        "extensions",
        lambda entry: (
            entry["enabled"] is True
            and entry["type"] == "stdio"
            and entry["name"] == "clew"
            and isinstance(entry["cmd"], str)
            and entry["args"][-1] == "serve"
        ),
    ),
    "qwen": Rule(".qwen/settings.json", lenient, "mcpServers", _stdio),
    "cline": Rule(".cline/data/settings/cline_mcp_settings.json", strict, "mcpServers", _stdio),
    "continue": Rule(".continue/config.yaml", _listed, "mcpServers", _stdio),
    "amp": Rule(".config/amp/settings.json", lenient, "amp.mcpServers", _stdio),
    "auggie": Rule(".augment/settings.json", lenient, "mcpServers", _stdio),
}


def server_of(home: Path, client: str, name: str = "clew") -> dict[str, Any]:
    rule = RULES[client]
    entry: dict[str, Any] = rule.read((home / rule.file).read_bytes().decode())[rule.table][name]
    return entry
