"""Writes the plugin folder, the marketplaces and the .mcpb bundle from their one source.

    python -m tools.plugin            writes plugins/clew-memory and the marketplace files
    python -m tools.plugin --bundle   builds dist/clew-memory-VERSION.mcpb as well

Hooks come from `clew.faces.hooks.client_events`, the skill and the commands from `clew.faces.connect.texts`, the
version from the package. Nothing below plugins/ is edited by hand; a test compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from clew import __version__
from clew.faces.connect import texts
from clew.faces.connect.clients import DESCRIPTION, flat_hooks, gemini_command, grouped_hooks
from clew.faces.connect.servers import DISTRIBUTION, NAME
from clew.registry import build

INDEX = "src/clew/registry/index.json"
MODEL = "packages/clew-memory-model"
ROOT = Path(__file__).parent.parent
PLUGIN = f"plugins/{DISTRIBUTION}"
MARKETPLACE = "clew"
AGENT_PLUGINS = "https://agent-plugins.org/schemas/1.0.0"
KEYWORDS = ["memory", "tasks", "decisions", "mcp"]
LONG = (
    "A durable memory for agents: what was thought, decided and proven, and what is next. One resume after any loss of "
    "context, decisions with their reasons, steps that close with proof."
)
COMMON: dict[str, Any] = {
    "name": DISTRIBUTION,
    "version": __version__,
    "description": DESCRIPTION,
    "author": {"name": "Clew"},
    "license": "Apache-2.0",
    "keywords": KEYWORDS,
}
UVX = {"command": "uvx", "args": ["--from", DISTRIBUTION, NAME, "serve"]}
INTERFACE = {
    "displayName": "Clew",
    "shortDescription": DESCRIPTION,
    "longDescription": LONG,
    "developerName": "Clew",
    "category": "Productivity",
    "capabilities": ["Read", "Write"],
    "defaultPrompt": ["Where does the work stand?", "What did we decide about this, and why?"],
}


def files() -> dict[str, str]:
    """Every generated file of the repository, by its path."""
    inner = {**_manifests(), **_hooks(), **_texts(), **_gemini()}
    return {**{f"{PLUGIN}/{path}": text for path, text in inner.items()}, **_marketplaces()}


def _manifests() -> dict[str, str]:
    portable = {"$schema": f"{AGENT_PLUGINS}/plugin.schema.json", **COMMON}
    openai = {"hooks": "./hooks/codex-hooks.json", "interface": INTERFACE}
    servers = {NAME: {"type": "stdio", **UVX}}
    return {
        "plugin.json": _json({**portable, "extensions": {"com.openai": openai}}),
        "mcp.json": _json({"$schema": f"{AGENT_PLUGINS}/mcp.schema.json", "mcpServers": servers}),
        ".mcp.json": _json({"mcpServers": {NAME: UVX}}),
        ".claude-plugin/plugin.json": _json({**COMMON, "displayName": "Clew"}),
        ".codex-plugin/plugin.json": _json(
            {**COMMON, "skills": "./skills/", "mcpServers": "./.mcp.json", **openai},
        ),
        ".cursor-plugin/plugin.json": _json(
            {**COMMON, "displayName": "Clew", "hooks": "./hooks/cursor-hooks.json", "mcpServers": "./.mcp.json"}
        ),
    }


def _launcher(variable: str) -> str:
    return f'"${{{variable}}}/bin/clew-hook"'


def _hooks() -> dict[str, str]:
    described = "Clew: what is known at the start, guards at the point of action, a checkpoint before compaction"
    claude = {"description": described, "hooks": grouped_hooks("claude", _launcher("CLAUDE_PLUGIN_ROOT"))}
    codex = grouped_hooks("codex", _launcher("PLUGIN_ROOT"))
    for groups in codex.values():
        for handler in (handler for group in groups for handler in group["hooks"]):
            handler["commandWindows"] = handler["command"].replace(_launcher("PLUGIN_ROOT"), "clew-hook")
    copilot = flat_hooks("vscode", _launcher("PLUGIN_ROOT"), typed=True)
    for entries in copilot.values():
        for entry in entries:
            entry["windows"] = entry["command"].replace(_launcher("PLUGIN_ROOT"), "clew-hook")
    cursor = flat_hooks("cursor", _launcher("CURSOR_PLUGIN_ROOT"))
    return {
        "hooks/hooks.json": _json(claude),
        "hooks/codex-hooks.json": _json({"hooks": codex}),
        "hooks/cursor-hooks.json": _json({"version": 1, "hooks": cursor}),
        "com.github.copilot/hooks/hooks.json": _json({"version": 1, "hooks": copilot}),
    }


def _texts() -> dict[str, str]:
    return {
        f"skills/{NAME}/SKILL.md": texts.skill(),
        **{f"commands/{name}.md": texts.command(name) for name in texts.COMMANDS},
        "bin/clew-hook": _beside("launcher.sh"),
        "bin/clew-hook.cmd": _beside("launcher.cmd"),
    }


def _beside(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _gemini() -> dict[str, str]:
    """An extension of its own: Gemini reads hooks/hooks.json too, but in milliseconds and with other events."""
    extension = {"name": DISTRIBUTION, "version": __version__, "description": DESCRIPTION, "mcpServers": {NAME: UVX}}
    hooks = grouped_hooks("gemini", '"${extensionPath}/bin/clew-hook"', factor=1000, name=True)
    return {
        "gemini/gemini-extension.json": _json(extension),
        "gemini/bin/clew-hook": _beside("launcher.sh"),
        "gemini/hooks/hooks.json": _json({"hooks": hooks}),
        f"gemini/skills/{NAME}/SKILL.md": texts.skill(),
        **{f"gemini/commands/{NAME}/{name}.toml": gemini_command(name) for name in texts.COMMANDS},
    }


def _marketplaces() -> dict[str, str]:
    """The owner is a name only: whoever publishes adds what identifies them (CONTRIBUTING.md)."""
    source, owner = f"./{PLUGIN}", {"name": "Clew"}
    entry = {"name": DISTRIBUTION, "source": source, "description": DESCRIPTION}
    policy = {"installation": "AVAILABLE", "authentication": "ON_USE"}
    codex = {"name": DISTRIBUTION, "source": {"source": "local", "path": source}, "policy": policy}
    return {
        ".claude-plugin/marketplace.json": _json(
            {
                "name": MARKETPLACE,
                "owner": owner,
                "description": DESCRIPTION,
                "plugins": [{**entry, "version": __version__, "category": "productivity", "tags": KEYWORDS}],
            }
        ),
        ".agents/plugins/marketplace.json": _json(
            {
                "name": MARKETPLACE,
                "interface": {"displayName": "Clew"},
                "plugins": [{**codex, "category": "Productivity"}],
            }
        ),
        ".cursor-plugin/marketplace.json": _json(
            {
                "name": MARKETPLACE,
                "owner": owner,
                "metadata": {"description": DESCRIPTION, "version": __version__},
                "plugins": [entry],
            }
        ),
    }


def bundle_manifest() -> dict[str, Any]:
    """The description of the .mcpb bundle: the host runs `uv` on the sources in it."""
    from clew.registry.catalogue import catalogue
    from clew.registry.toolsets import AGENT_TOOLS

    known = catalogue()
    tools = [{"name": name, "description": entry.summary} for name in AGENT_TOOLS if (entry := known.find(name))]
    # Not --directory: the server would take the bundle's own folder for the project.
    serve = ["run", "--project", "${__dirname}", NAME, "serve"]
    return {
        "manifest_version": "0.4",
        "name": DISTRIBUTION,
        "display_name": "Clew",
        "version": __version__,
        "description": DESCRIPTION,
        "long_description": LONG,
        "author": {"name": "Clew"},
        "server": {
            "type": "uv",
            "entry_point": "src/clew/__main__.py",
            "mcp_config": {
                "command": "uv",
                "args": serve,
                "env": {"CLEW_HOME": "${user_config.home}", "CLEW_PLUGIN_ROOT": "${__dirname}"},
            },
        },
        "tools": tools,
        "tools_generated": True,
        "keywords": KEYWORDS,
        "license": "Apache-2.0",
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.11"}},
        "user_config": {
            "home": {
                "type": "directory",
                "title": "Data directory",
                "description": "Where Clew keeps its memory; the same one for all your clients.",
                "required": False,
                "default": "${HOME}/.clew",
            }
        },
    }


def write() -> list[str]:
    """Write what differs; the paths of what was written."""
    written = []
    for name, text in files().items():
        file = ROOT / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            written.append(name)
        if file.name == "clew-hook":
            file.chmod(0o755)
    return written


def bundle(folder: Path) -> Path:
    """The same bytes for the same sources: names are sorted and times are fixed."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{DISTRIBUTION}-{__version__}.mcpb"
    build.main(["--index-only"])
    sources = ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE", INDEX]
    sources += [*_tracked("src/clew"), *_tracked(MODEL)]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        _store(archive, "manifest.json", _json(bundle_manifest()).encode())
        for name in sorted(sources):
            _store(archive, name, (ROOT / name).read_bytes())
    return target


def _store(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)


def _tracked(folder: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    for name in write():
        print(f"wrote {name}")
    if "--bundle" in sys.argv[1:]:
        print(f"built {bundle(ROOT / 'dist')}")


if __name__ == "__main__":
    main()
