"""The real server over HTTP, as `clew serve` starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT
from tests.faces.mcp.process import environment


@contextmanager
def serving(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Its address and its process, which is killed in the end if it still lives."""
    command = [sys.executable, "-m", "clew", "serve", "--http", "--port", "0", "--json"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["mcp"], process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
