"""What a client's own settings say about ours: hooks that it does not run, and Clew as one of its plugins.

Read for `clew doctor` and `clew connect`, never changed: whether hooks run and which plugins there are is the user's
decision. A file that cannot be read is ignored here; the code that writes into it reports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.faces.connect.clients import Client, grouped_hooks
from clew.faces.connect.config_formats import COMMENTED_JSON, JSONC, TOML, Format, value_at
from clew.faces.connect.jsonc import Unreadable
from clew.faces.connect.pieces import calls_us
from clew.faces.connect.servers import DISTRIBUTION
from clew.faces.connect.user_folders import Places


@dataclass(frozen=True)
class Obstacle:
    """Why hooks that are written do not run, and what the user can do about it."""

    detail: str
    fix: str


def obstacles(client: Client, places: Places) -> Iterator[Obstacle]:
    if client.name == "codex":
        yield from _codex(places)
    elif client.name == "gemini":
        yield from _gemini(places)
    elif client.name == "claude":
        file = places.claude() / "settings.json"
        if value_at(_read(file, JSONC), ("disableAllHooks",)) is True:
            yield Obstacle(f"disableAllHooks is set in {file}: no hook runs", f"Take disableAllHooks out of {file}")


def _codex(places: Places) -> Iterator[Obstacle]:
    file, config = places.codex() / "hooks.json", places.codex() / "config.toml"
    settings = _read(config, TOML)
    if value_at(settings, ("features", "hooks")) is False:
        yield Obstacle(f"features.hooks is false in {config}: no hook runs", f"Take it out of {config}")
        return
    keys = list(_codex_keys(file))
    untrusted = [key for key in keys if not _is_trusted(value_at(settings, ("hooks", "state", key)))]
    if untrusted:
        yield Obstacle(
            f"{len(untrusted)} of {len(keys)} hooks in {file} are not trusted or disabled: Codex does not run them and"
            " `codex exec` does not say so",
            'Start `codex` once and choose "Trust all" where it says that hooks need review',
        )


def _codex_keys(file: Path) -> Iterator[str]:
    """Under which names Codex keeps whether it may run each of our hooks."""
    events = value_at(_read(file, JSONC), ("hooks",))
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            if calls_us(group):
                yield f"{file}:{_snake(event)}:{number}:0"


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _is_trusted(state: Any) -> bool:
    return isinstance(state, dict) and bool(state.get("trusted_hash")) and state.get("enabled") is not False


def _gemini(places: Places) -> Iterator[Obstacle]:
    file = places.gemini() / "settings.json"
    found = value_at(_read(file, COMMENTED_JSON), ("hooksConfig",))
    switches = found if isinstance(found, dict) else {}
    if switches.get("enabled") is False:
        yield Obstacle(f"hooksConfig.enabled is false in {file}: no hook runs", f"Set it to true in {file}")
    disabled = switches.get("disabled")
    ours = [name for name in _gemini_names() if isinstance(disabled, list) and name in disabled]
    if ours:
        yield Obstacle(f"hooksConfig.disabled in {file} names {', '.join(ours)}", f"Take them out of {file}")


def _gemini_names() -> Iterator[str]:
    for groups in grouped_hooks("gemini", "", name=True).values():
        yield from (handler["name"] for group in groups for handler in group["hooks"])


def plugin_file(client: Client, places: Places) -> Path | None:
    """The file in which the client says that Clew is installed and enabled as its plugin or extension."""
    known = {
        "claude": (places.claude() / "settings.json", JSONC, "enabledPlugins"),
        "copilot": (places.copilot() / "settings.json", JSONC, "enabledPlugins"),
        "codex": (places.codex() / "config.toml", TOML, "plugins"),
    }
    if client.name == "gemini":
        # The extension that `clew connect` writes brings hooks; the one that is installed brings the server too.
        file = places.gemini() / "extensions" / DISTRIBUTION / "gemini-extension.json"
        return file if value_at(_read(file, JSONC), ("mcpServers",)) else None
    if client.name not in known:
        return None
    file, format, key = known[client.name]
    plugins = value_at(_read(file, format), (key,))
    return file if isinstance(plugins, dict) and any(map(_is_our_plugin, plugins.items())) else None


def _is_our_plugin(plugin: tuple[str, Any]) -> bool:
    name, state = plugin
    is_enabled = state.get("enabled") is not False if isinstance(state, dict) else state is True
    return name.partition("@")[0] == DISTRIBUTION and is_enabled


def _read(file: Path, format: Format) -> Any:
    try:
        return format.read(file.read_text(encoding="utf-8-sig"))
    except (OSError, Unreadable, UnicodeDecodeError):
        return {}
