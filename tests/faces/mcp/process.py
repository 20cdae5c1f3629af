"""Starts servers as users do: as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    own = {"PYTHONPATH": paths, "CLEW_HOME": str(home), "CLEW_WORKSPACE": "probe", "CLEW_RESIDENT": "off"}
    return {**kept, **own, **more}


@dataclass
class Running:
    address: str
    process: subprocess.Popen[str]


@contextmanager
def running(module: str, home: Path, *args: str, log: Path | None = None, **more: str) -> Iterator[Running]:
    """Runs a module that prints its address when it listens; `log` takes what it writes to stderr."""
    command, env = [sys.executable, "-m", module, *args], environment(home, **more)
    with log.open("w") if log else nullcontext() as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), address
        yield Running(address, process)
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def http_process(module: str, home: Path, *args: str, **more: str) -> Iterator[str]:
    """The same, for those who need the address only."""
    with running(module, home, *args, log=None, **more) as found:
        yield found.address
