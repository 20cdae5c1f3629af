"""THOUGHTBOX_OBSERVATORY_ENABLED: the page beside a server that a client started on stdio."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path


def test_a_server_on_stdio_opens_the_observatory_on_its_own_port(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "CLEW_HOME": str(tmp_path),
        "THOUGHTBOX_OBSERVATORY_ENABLED": "true",
        "THOUGHTBOX_OBSERVATORY_PORT": "0",
    }
    command = [sys.executable, "-m", "clew", "serve", "--toolset", "thoughtbox", "--workspace", "w"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    server = subprocess.Popen(command, env=env, cwd=tmp_path, **pipes)  # type: ignore[call-overload]
    try:
        lines = iter(server.stderr.readline, "")
        address = next(found[1] for line in lines if (found := re.search(r"Observatory: (http://\S+)/", line)))
        with urllib.request.urlopen(f"{address}/", timeout=60) as page:
            assert page.status == 200 and b"<html" in page.read().lower()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "thoughtbox-server"
    finally:
        server.stdin.close()
        server.wait(120)
        server.stdout.close()
        server.stderr.close()
    assert server.returncode == 0
