"""Where the programs of this user keep their files: HOME, XDG, %APPDATA%, and the variables that move a client."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Places:
    home: Path = field(default_factory=Path.home)
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    system: str = sys.platform

    @property
    def config(self) -> Path:
        """The folder of configurations that command-line programs share."""
        return self.moved("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def agents(self) -> Path:
        """Skills that several clients read: Codex, VS Code, Copilot, opencode, Zed, Goose."""
        return self.home / ".agents"

    def moved(self, variable: str, default: Path) -> Path:
        named = self.env.get(variable)
        return Path(named).expanduser() if named else default

    def roaming(self, *parts: str) -> Path:
        """Where Windows keeps what follows its user."""
        return self.moved("APPDATA", self.home / "AppData" / "Roaming").joinpath(*parts)

    def application(self, name: str) -> Path:
        """Where a desktop program of this name keeps its data."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support" / name
        return self.roaming(name) if self.system == "win32" else self.config / name

    def claude(self) -> Path:
        return self.moved("CLAUDE_CONFIG_DIR", self.home / ".claude")

    def claude_state(self) -> Path:
        """Claude Code keeps its servers next to its folder, unless the folder was moved: then inside."""
        return self.moved("CLAUDE_CONFIG_DIR", self.home) / ".claude.json"

    def codex(self) -> Path:
        return self.moved("CODEX_HOME", self.home / ".codex")

    def copilot(self) -> Path:
        return self.moved("COPILOT_HOME", self.home / ".copilot")

    def gemini(self) -> Path:
        return self.moved("GEMINI_CLI_HOME", self.home) / ".gemini"

    def vscode(self) -> tuple[Path, ...]:
        """The user folders of VS Code and of its daily build."""
        if portable := self.env.get("VSCODE_PORTABLE"):
            return (Path(portable) / "user-data" / "User",)
        return tuple(self.application(name) / "User" for name in ("Code", "Code - Insiders"))

    def opencode(self) -> Path:
        """Its folder; OPENCODE_CONFIG names a single file instead."""
        return self.moved("OPENCODE_CONFIG_DIR", self.config / "opencode")

    def opencode_file(self) -> Path:
        if named := self.env.get("OPENCODE_CONFIG"):
            return Path(named).expanduser()
        known = [self.opencode() / name for name in ("opencode.jsonc", "opencode.json", "config.json")]
        return next((file for file in known if file.is_file()), known[1])

    def zed(self) -> Path:
        return self.roaming("Zed") if self.system == "win32" else self.config / "zed"

    def windsurf(self) -> Path:
        return self.home / ".codeium" / "windsurf"

    def goose(self) -> Path:
        if root := self.env.get("GOOSE_PATH_ROOT"):
            return Path(root) / "config"
        return self.roaming("Block", "goose", "config") if self.system == "win32" else self.config / "goose"
