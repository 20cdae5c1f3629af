"""A minimal JSON-RPC client over stdio, so that only the server is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CPU_OF_ALL_THREADS = 2
"""Linux: the low bits of a clock's number say which time of a process it shows."""


class StdioServer:
    """A server process and one conversation with it."""

    def __init__(self, command: list[str], directory: Path = ROOT, **environ: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environ}
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=directory)
        self._id = 0

    def initialize(self, client: str = "benchmark") -> float:
        """Seconds from the start of the process to the response."""
        parameters = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": client, "version": "1"},
        }
        self.request("initialize", parameters)
        taken = time.perf_counter() - self.begun
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return taken

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return result

    def timed(self, name: str, /, **arguments: Any) -> float:
        begun = time.perf_counter()
        self.call(name, **arguments)
        return time.perf_counter() - begun

    def series(self, name: str, count: int, warm: int = 10, /, **arguments: Any) -> list[float]:
        """Seconds of consecutive calls, after some warm-up calls."""
        for _ in range(warm):
            self.timed(name, **arguments)
        return [self.timed(name, **arguments) for _ in range(count)]

    def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": parameters})
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._id:
                if "error" in message:
                    raise RuntimeError(message["error"])
                answer: dict[str, Any] = message["result"]
                return answer
        raise RuntimeError("the server ended")

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def memory_mb(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def cpu_ms(self) -> float:
        """Processor time of the server; more reliable than wall time on a busy machine."""
        # The number of another process's clock, as `clock_getcpuclockid` makes it; /proc counts in ticks of 10 ms.
        return time.clock_gettime(~self.process.pid << 3 | CPU_OF_ALL_THREADS) * 1000

    def cpu_exact_ms(self) -> float:
        """The same to the microsecond, of the threads that are alive; for calls that take less than a tick."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e6

    def __enter__(self) -> StdioServer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=120)


Calls = tuple[str, dict[str, Any]]


def alternating(server: StdioServer, count: int, *calls: Calls) -> list[list[float]]:
    """Seconds of each call, in alternation, so that all of them run under the same load."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(count + 10):
        for times, (name, arguments) in zip(taken, calls, strict=True):
            times.append(server.timed(name, **arguments))
    return [times[10:] for times in taken]


def clew_server(home: Path, url: str = "", toolset: str = "full", **environ: str) -> StdioServer:
    command = [sys.executable, "-m", "clew", "serve", "--toolset", toolset, "--workspace", "bench"]
    variables = {"CLEW_HOME": str(home), "CLEW_DATABASE_URL": url, "CLEW_RESIDENT": "off", **environ}
    return StdioServer(command, ROOT, **variables)


def bare_server() -> StdioServer:
    return StdioServer([sys.executable, "-m", "benchmarks.bare"])
