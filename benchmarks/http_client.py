"""A bare JSON-RPC client over HTTP, for measurements with several clients of one server."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.client import ROOT

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


@contextmanager
def http_server(home: Path, url: str = "", workspace: str = "bench") -> Iterator[tuple[str, int]]:
    """A server on a free port; its address and its process id."""
    command = [sys.executable, "-m", "clew", "serve", "--http", "--port", "0", "--json", "--workspace", workspace]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CLEW_HOME": str(home), "CLEW_DATABASE_URL": url}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["mcp"], process.pid
    finally:
        process.terminate()
        process.wait(30)


class HttpClient:
    """One conversation over one connection."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
        self._path = parts.path or "/mcp"
        self._headers = dict(HEADERS)
        self._id = 0
        self._request("initialize", OPENING)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        result = self._request("tools/call", {"name": name, "arguments": {"fmt": "json", **arguments}})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        found: dict[str, Any] = result["structuredContent"]["result"]
        return found

    def envelope(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The whole answer, also of a call that was refused."""
        result = self._request("tools/call", {"name": name, "arguments": {"fmt": "json", **arguments}})
        found: dict[str, Any] = result["structuredContent"]
        return found

    def timed(self, name: str, /, **arguments: Any) -> float:
        begun = time.perf_counter()
        self.call(name, **arguments)
        return time.perf_counter() - begun

    def close(self) -> None:
        self._connection.close()

    def _request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        body = self._post({"jsonrpc": "2.0", "id": self._id, "method": method, "params": parameters})
        for message in _messages(body):
            if message.get("id") == self._id:
                if "error" in message:
                    raise RuntimeError(message["error"])
                answer: dict[str, Any] = message["result"]
                return answer
        raise RuntimeError("no answer")

    def _post(self, message: dict[str, Any]) -> str:
        self._connection.request("POST", self._path, json.dumps(message), self._headers)
        reply = self._connection.getresponse()
        session = reply.headers.get("mcp-session-id")
        if session:
            self._headers["mcp-session-id"] = session
        return reply.read().decode()


def _messages(body: str) -> Iterator[dict[str, Any]]:
    """A plain JSON answer, or a stream of events."""
    if body.lstrip().startswith("{"):
        yield json.loads(body)
        return
    for line in body.splitlines():
        if line.startswith("data:") and line[5:].strip():
            yield json.loads(line[5:])
