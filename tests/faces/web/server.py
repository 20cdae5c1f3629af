"""A real server for tests that speak to the page's routes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from clew.app import open_clew
from clew.settings import load_settings
from tests.people import code_for

HOMES: dict[str, Path] = {}
"""Address of each server that was started -> its data directory."""


def sign_in_link(address: str, name: str) -> str:
    """What `clew login` prints for a person at a terminal."""
    with closing(open_clew(load_settings({"home": HOMES[address]}, {}, HOMES[address]))) as store:
        return f"{address}/#sign-in={code_for(store, name)}"


class Server:
    """`clew serve --http` in a process of its own."""

    def __init__(
        self, home: Path, port: str = "0", directory: Path | None = None, log: Any = None, **environ: str
    ) -> None:
        self.home = home
        command = [sys.executable, "-m", "clew", "serve", "--http", "--port", port, "--workspace", "ws", "--json"]
        env = {**os.environ, "CLEW_HOME": str(home), **environ}
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": log or subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen(command, env=env, cwd=directory, **streams)
        assert self.process.stdout is not None
        self.address: str = json.loads(self.process.stdout.readline())["mcp"].removesuffix("/mcp")
        self.socket_address = self.address.replace("http", "ws")
        HOMES[self.address] = home

    def call(self, name: str, headers: dict[str, str] | None = None, /, **arguments: Any) -> dict[str, Any]:
        body = json.dumps({"name": name, "arguments": arguments}).encode()
        request = Request(self.address + "/page/call", body, headers={"x-clew-page": "1", **(headers or {})})
        with urlopen(request, timeout=60) as response:
            answer: dict[str, Any] = json.loads(response.read())
            return answer

    def stop(self) -> None:
        self.process.terminate()
        # Reads what is left and closes the pipe.
        self.process.communicate(timeout=60)
