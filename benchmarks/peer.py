"""A separate environment with mind-mem, created when a measurement first needs it.

`MIND_MEM_PYTHON` names another interpreter that has the package. Of the three originals only this one is in a registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

VERSION = "5.0.3"
PEER = f"mind-mem {VERSION}"
PATIENCE = 600


def mind_mem_python() -> str | None:
    """Its interpreter; None, with the reason printed, if the package is not available."""
    named = os.environ.get("MIND_MEM_PYTHON")
    if named:
        return named
    place = cache() / f"mind-mem-{VERSION}"
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not (place / "ready").is_file():
        problem = _make(place, python)
        if problem:
            print(f"without {PEER}: {problem}")
            shutil.rmtree(place, ignore_errors=True)
            return None
    return str(python)


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clew-benchmarks"


def _make(place: Path, python: Path) -> str:
    """Install into the environment; returns the reason of a failure, or nothing."""
    venv.create(place, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "-q", f"mind-mem=={VERSION}"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return f"pip took more than {PATIENCE} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["pip failed"])[-1][:300]
    (place / "ready").write_text(VERSION, encoding="utf-8")
    return ""
