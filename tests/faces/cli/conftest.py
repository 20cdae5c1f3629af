"""A `clew` process in a home of its own, with nothing of the developer's environment in it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.warm import can_fork, run

SOURCE = Path(__file__).parents[3] / "src"


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Shell:
    """Runs `clew` as a shell would; `env` adds to its environment."""

    directory: Path
    home: Path
    anew: bool = False
    """Start each command in a process of its own, for what is read when Clew is imported."""

    def environment(self, env: dict[str, str] | None = None) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "HOME": str(self.directory / "person"),
            "CLEW_HOME": str(self.home),
            "CLEW_RESIDENT": "off",
            "COLUMNS": "200",
            **(env or {}),
        }

    def __call__(self, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> Ran:
        # What is meant for Python itself needs a start of Python.
        if can_fork() and not self.anew and not any(name.startswith("PYTHON") for name in env or {}):
            return Ran(*run(words, self.directory, self.environment(env), stdin, 180))
        done = subprocess.run(
            [sys.executable, "-m", "clew", *words],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.directory,
            env=self.environment(env),
            timeout=180,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def clew(tmp_path: Path) -> Shell:
    (tmp_path / "person").mkdir()
    return Shell(tmp_path, tmp_path / "home")


@pytest.fixture
def person(clew: Shell) -> Path:
    """The home directory of whoever runs `clew`: where clients keep their configuration."""
    return clew.directory / "person"


Writer = Callable[[Path, str], Path]


@pytest.fixture
def write() -> Writer:
    def put(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return put
