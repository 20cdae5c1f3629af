"""The clients that Clew can connect: how each is found, and the pieces that are written for it.

What the hooks are comes from one table (`faces/hooks/client_events`), where files are from `user_folders`. A client is
a row here.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clew import __version__
from clew.faces.connect import servers, texts
from clew.faces.connect.config_formats import COMMENTED_JSON, JSON, JSONC, TOML, YAML, Format
from clew.faces.connect.listed_server import ListedServer
from clew.faces.connect.pieces import AllowRule, Hooks, Own, Piece, ServerPiece, Switch, own_json
from clew.faces.connect.servers import DISTRIBUTION, NAME, Target
from clew.faces.connect.user_folders import Places
from clew.faces.hooks.client_events import COMMAND, ClientHook, entries_of

DESCRIPTION = "What was thought, decided, proven, and what is next."


@dataclass(frozen=True)
class ClientPlan:
    """What the pieces of a client are made from."""

    places: Places
    target: Target
    hook: str | None = None
    """How a shell starts `clew-hook`, the way clients start their hooks; None writes none."""
    allow: bool = False
    """Whether clients that ask before each call let ours through."""


@dataclass(frozen=True)
class Client:
    name: str
    title: str
    folders: Callable[[Places], tuple[Path, ...]]
    """It is installed where one of these is."""
    pieces: Callable[[ClientPlan], list[Piece]]
    programs: tuple[str, ...] = ()
    entry: Callable[[Target], dict[str, Any]] = servers.plain_entry
    by_hand: Callable[[Target], str] | None = None
    """The client's own command for adding a server."""
    http: Literal["never", "open", "token"] = "token"
    """Whether it reaches servers at an address: not at all, without a token only, or with one."""

    def reaches(self, target: Target) -> bool:
        return target.url is None or self.http == "token" or (self.http == "open" and not target.token)

    def is_installed(self, places: Places) -> bool:
        if any(folder.exists() for folder in self.folders(places)):
            return True
        return any(shutil.which(program, path=places.env.get("PATH")) for program in self.programs)


def _lived_in(folder: Path, *others: str) -> tuple[Path, ...]:
    """The folder, unless all that is in it belongs to another client that shares it."""
    inside = {child.name for child in folder.iterdir()} if folder.is_dir() else set()
    return (folder,) if not inside or inside - set(others) else ()


def hook_command(command: str, entry: ClientHook) -> str:
    """The line that a client starts: never changed by a release, because some ask their user to trust it again."""
    return f"{command} {' '.join(entry.arguments)}"


def hook_start(program: str, env: Mapping[str, str]) -> str:
    """How a shell starts a program: quoted where it must be, with the settings that it would not find otherwise."""
    quoted = f'"{program}"' if " " in program or "\\" in program else program
    settings = "" if os.name == "nt" else "".join(f"{name}={shlex.quote(value)} " for name, value in env.items())
    return settings + quoted


def grouped_hooks(client: str, command: str, factor: int = 1, name: bool = False) -> dict[str, list[dict[str, Any]]]:
    """Claude's shape: for each event a list of groups, each with a matcher and its handlers."""
    events: dict[str, list[dict[str, Any]]] = {}
    for entry in entries_of(client):
        handler: dict[str, Any] = {"type": "command", "command": hook_command(command, entry)}
        if name:
            handler["name"] = f"{DISTRIBUTION}-{entry.event}"
        handler["timeout"] = entry.seconds * factor
        matcher = {"matcher": entry.matcher} if entry.matcher else {}
        events.setdefault(entry.name, []).append({**matcher, "hooks": [handler]})
    return events


def flat_hooks(client: str, command: str, typed: bool = False) -> dict[str, list[dict[str, Any]]]:
    """Cursor's shape, and with a type that of VS Code: for each event a list of commands."""
    events: dict[str, list[dict[str, Any]]] = {}
    for entry in entries_of(client):
        handler = {"command": hook_command(command, entry), "timeout": entry.seconds}
        matcher = {"matcher": entry.matcher} if entry.matcher else {}
        events.setdefault(entry.name, []).append({**({"type": "command"} if typed else {}), **handler, **matcher})
    return events


def named_hooks(command: str) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Antigravity's shape: a name, and for each event of it a list of commands."""
    return {NAME: flat_hooks("antigravity", command, typed=True)}


def silent_hooks(command: str) -> dict[str, list[dict[str, Any]]]:
    """Windsurf's shape: it has no limits of time, and would show people what a hook prints."""
    events: dict[str, list[dict[str, Any]]] = {}
    for entry in entries_of("windsurf"):
        events.setdefault(entry.name, []).append({"command": hook_command(command, entry), "show_output": False})
    return events


def _skill(folder: Path) -> Own:
    return Own(folder / NAME / "SKILL.md", texts.skill(), "skill")


def _server(
    plan: ClientPlan, client: str, file: Path, format: Format, *table: str, skeleton: dict[str, Any] | None = None
) -> ServerPiece:
    entry = CLIENTS[client].entry(plan.target) | (servers.ALLOWING.get(client, {}) if plan.allow else {})
    return ServerPiece(file, format, skeleton or {}, table or ("mcpServers",), entry)


def _claude(plan: ClientPlan) -> list[Piece]:
    folder = plan.places.claude()
    pieces: list[Piece] = [_server(plan, "claude", plan.places.claude_state(), JSON), _skill(folder / "skills")]
    if plan.hook:
        pieces.append(Hooks(folder / "settings.json", JSONC, {}, grouped_hooks("claude", plan.hook)))
    if plan.allow:
        pieces.append(AllowRule(folder / "settings.json", JSONC, {}, ("permissions", "allow"), f"mcp__{NAME}"))
    for name in texts.COMMANDS:
        pieces.append(Own(folder / "commands" / NAME / f"{name}.md", texts.command(name), "command"))
    return pieces


def _claude_desktop(plan: ClientPlan) -> list[Piece]:
    file = plan.places.application("Claude") / "claude_desktop_config.json"
    return [_server(plan, "claude-desktop", file, JSON)]


def _codex(plan: ClientPlan) -> list[Piece]:
    folder = plan.places.codex()
    pieces: list[Piece] = [_server(plan, "codex", folder / "config.toml", TOML, "mcp_servers")]
    if plan.hook:
        pieces.append(Hooks(folder / "hooks.json", JSON, {}, grouped_hooks("codex", plan.hook)))
    return [*pieces, _skill(plan.places.agents / "skills")]


def _cursor(plan: ClientPlan) -> list[Piece]:
    folder = plan.places.home / ".cursor"
    pieces: list[Piece] = [_server(plan, "cursor", folder / "mcp.json", JSONC), _skill(folder / "skills")]
    if plan.hook:
        pieces.append(Hooks(folder / "hooks.json", JSONC, {"version": 1}, flat_hooks("cursor", plan.hook)))
    return pieces


def _vscode(plan: ClientPlan) -> list[Piece]:
    found = [folder for folder in plan.places.vscode() if folder.exists()] or [plan.places.vscode()[0]]
    pieces: list[Piece] = [_server(plan, "vscode", folder / "mcp.json", JSONC, "servers") for folder in found]
    return [*pieces, *_copilot_hooks(plan), _skill(plan.places.agents / "skills")]


def _copilot_hooks(plan: ClientPlan) -> list[Piece]:
    """One file that VS Code and Copilot CLI both read."""
    if not plan.hook:
        return []
    value = {"version": 1, "hooks": flat_hooks("vscode", plan.hook, typed=True)}
    return [own_json(plan.places.copilot() / "hooks" / f"{DISTRIBUTION}.json", value, "hooks")]


def _copilot(plan: ClientPlan) -> list[Piece]:
    file = plan.places.copilot() / "mcp-config.json"
    return [_server(plan, "copilot", file, JSONC), *_copilot_hooks(plan), _skill(plan.places.agents / "skills")]


def _gemini(plan: ClientPlan) -> list[Piece]:
    """Hooks work from an extension only, so one is added to the entry; it includes commands and the skill."""
    settings, extension = plan.places.gemini() / "settings.json", plan.places.gemini() / "extensions" / DISTRIBUTION
    manifest = {"name": DISTRIBUTION, "version": __version__, "description": DESCRIPTION}
    pieces: list[Piece] = [
        _server(plan, "gemini", settings, COMMENTED_JSON),
        own_json(extension / "gemini-extension.json", manifest, "extension"),
        _skill(extension / "skills"),
    ]
    if plan.hook:
        pieces.append(Switch(settings, COMMENTED_JSON, {}, ("hooksConfig", "enabled")))
        hooks = {"hooks": grouped_hooks("gemini", plan.hook, factor=1000, name=True)}
        pieces.append(own_json(extension / "hooks" / "hooks.json", hooks, "hooks"))
    for name in texts.COMMANDS:
        pieces.append(Own(extension / "commands" / NAME / f"{name}.toml", gemini_command(name), "command"))
    return pieces


def gemini_command(name: str) -> str:
    """A slash command as Gemini reads it: TOML, with `{{args}}` for what follows it."""
    described, prompt = texts.command_parts(name)
    prompt = prompt.replace("$ARGUMENTS", "{{args}}").replace("\\", "\\\\")
    return f'description = {json.dumps(described)}\nprompt = """\n{prompt}"""\n'


def _antigravity(plan: ClientPlan) -> list[Piece]:
    folder = plan.places.gemini() / "config"
    plugin = folder / "plugins" / DISTRIBUTION
    manifest = {"name": DISTRIBUTION, "version": __version__, "description": DESCRIPTION}
    pieces: list[Piece] = [
        _server(plan, "antigravity", folder / "mcp_config.json", JSONC),
        own_json(plugin / "plugin.json", manifest, "plugin"),
        _skill(plugin / "skills"),
    ]
    if plan.hook:
        pieces.append(own_json(plugin / "hooks.json", named_hooks(plan.hook), "hooks"))
    return pieces


def _opencode(plan: ClientPlan) -> list[Piece]:
    schema = {"$schema": "https://opencode.ai/config.json"}
    server = _server(plan, "opencode", plan.places.opencode_file(), JSONC, "mcp", skeleton=schema)
    pieces: list[Piece] = [server, _skill(plan.places.agents / "skills")]
    if plan.hook:
        file = plan.places.opencode() / "plugins" / f"{DISTRIBUTION}.js"
        pieces.append(Own(file, texts.opencode_plugin(plan.hook), "hooks"))
    return pieces


def _zed(plan: ClientPlan) -> list[Piece]:
    server = _server(plan, "zed", plan.places.zed() / "settings.json", JSONC, "context_servers")
    return [server, _skill(plan.places.agents / "skills")]


def _windsurf(plan: ClientPlan) -> list[Piece]:
    folder = plan.places.windsurf()
    pieces: list[Piece] = [_server(plan, "windsurf", folder / "mcp_config.json", JSONC), _skill(folder / "skills")]
    if plan.hook:
        pieces.append(Hooks(folder / "hooks.json", JSON, {}, silent_hooks(plan.hook)))
    return pieces


def _goose(plan: ClientPlan) -> list[Piece]:
    server = _server(plan, "goose", plan.places.goose() / "config.yaml", YAML, "extensions")
    return [server, _skill(plan.places.agents / "skills")]


def _qwen(plan: ClientPlan) -> list[Piece]:
    file = plan.places.home / ".qwen" / "settings.json"
    return [_server(plan, "qwen", file, COMMENTED_JSON), _skill(plan.places.agents / "skills")]


def _cline(plan: ClientPlan) -> list[Piece]:
    file = plan.places.home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
    return [_server(plan, "cline", file, JSON)]


def _continue(plan: ClientPlan) -> list[Piece]:
    entry = CLIENTS["continue"].entry(plan.target)
    return [ListedServer(plan.places.home / ".continue" / "config.yaml", entry)]


def _amp(plan: ClientPlan) -> list[Piece]:
    file = plan.places.config / "amp" / "settings.json"
    return [_server(plan, "amp", file, JSONC, "amp.mcpServers"), _skill(plan.places.agents / "skills")]


def _auggie(plan: ClientPlan) -> list[Piece]:
    file = plan.places.home / ".augment" / "settings.json"
    return [_server(plan, "auggie", file, JSONC), _skill(plan.places.agents / "skills")]


def _claude_line(target: Target) -> str:
    if target.url is None:
        return f"claude mcp add {NAME} -- {target.shell()}"
    header = f' --header "Authorization: Bearer ${target.token}"' if target.token else ""
    return f"claude mcp add --transport http {NAME} {target.url}{header}"


def _codex_line(target: Target) -> str:
    if target.url is None:
        return f"codex mcp add {NAME} -- {target.shell()}"
    header = f" --bearer-token-env-var {target.token}" if target.token else ""
    return f"codex mcp add {NAME} --url {target.url}{header}"


def _vscode_line(target: Target) -> str:
    return f"code --add-mcp '{json.dumps({'name': NAME, **servers.vscode_entry(target)})}'"


def _cursor_line(target: Target) -> str:
    from base64 import b64encode

    config = b64encode(json.dumps(servers.plain_entry(target)).encode()).decode()
    return f"open cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={config}"


CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude",
            "Claude Code",
            lambda places: (places.claude(), places.claude_state()),
            _claude,
            ("claude",),
            servers.claude_entry,
            _claude_line,
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            lambda places: (places.application("Claude"),),
            _claude_desktop,
            http="never",
        ),
        Client(
            "codex",
            "Codex",
            lambda places: (places.codex(),),
            _codex,
            ("codex",),
            servers.codex_entry,
            _codex_line,
        ),
        Client(
            "cursor",
            "Cursor",
            lambda places: (places.home / ".cursor",),
            _cursor,
            ("cursor", "cursor-agent"),
            by_hand=_cursor_line,
        ),
        Client(
            "vscode",
            "VS Code",
            lambda places: places.vscode(),
            _vscode,
            ("code", "code-insiders"),
            servers.vscode_entry,
            _vscode_line,
        ),
        Client(
            "copilot",
            "Copilot CLI",
            lambda places: _lived_in(places.copilot(), "hooks"),
            _copilot,
            ("copilot",),
            servers.copilot_entry,
        ),
        Client(
            "gemini",
            "Gemini CLI",
            lambda places: _lived_in(places.gemini(), "config", "antigravity"),
            _gemini,
            ("gemini",),
            servers.gemini_entry,
        ),
        Client(
            "antigravity",
            "Antigravity",
            lambda places: (places.gemini() / "config", places.gemini() / "antigravity"),
            _antigravity,
            ("agy", "antigravity"),
            servers.remote_entry,
            http="open",
        ),
        Client(
            "opencode",
            "opencode",
            lambda places: (places.opencode(), places.opencode_file()),
            _opencode,
            ("opencode",),
            servers.opencode_entry,
        ),
        Client("zed", "Zed", lambda places: (places.zed(),), _zed, ("zed", "zeditor"), http="open"),
        Client(
            "windsurf",
            "Windsurf",
            lambda places: (places.windsurf(),),
            _windsurf,
            ("windsurf",),
            servers.remote_entry,
        ),
        Client("goose", "Goose", lambda places: (places.goose(),), _goose, ("goose",), servers.goose_entry),
        Client(
            "qwen",
            "Qwen Code",
            lambda places: (places.home / ".qwen",),
            _qwen,
            ("qwen",),
            servers.gemini_entry,
        ),
        Client(
            "cline",
            "Cline",
            lambda places: (places.home / ".cline",),
            _cline,
            ("cline",),
            servers.cline_entry,
            http="open",
        ),
        Client(
            "continue",
            "Continue",
            lambda places: (places.home / ".continue",),
            _continue,
            ("cn",),
            servers.continue_entry,
            http="open",
        ),
        Client(
            "amp",
            "Amp",
            lambda places: (places.config / "amp",),
            _amp,
            ("amp",),
            http="open",
        ),
        Client(
            "auggie",
            "Auggie",
            lambda places: (places.home / ".augment",),
            _auggie,
            ("auggie",),
            servers.auggie_entry,
            http="open",
        ),
    )
}
"""By the name that a person types."""
ALIASES = {"claude-code": "claude", "desktop": "claude-desktop", "code": "vscode", "gemini-cli": "gemini"}


def own_hook() -> str | None:
    """The `clew-hook` of this installation; none from a cache that may be emptied, for a hook must answer at once."""
    found = servers.own_script(COMMAND)
    return None if found is None or servers.is_cached(found) else str(found)
