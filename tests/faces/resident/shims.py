"""Shims as clients start them, and the resident servers behind them, as processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.faces.mcp.process import ROOT, environment
from tests.waiting import PATIENCE

OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "probe", "version": "0"}}


def settings(home: Path, **more: str) -> dict[str, str]:
    return environment(home, **{"CLEW_RESIDENT": "on", "CLEW_RESIDENT_IDLE": "600", **more})


@contextmanager
def served_by(module: str, home: Path) -> Iterator[Path]:
    """A resident server of tests, from when it says that it is ready until it has ended."""
    command = [sys.executable, "-m", module, str(home)]
    process = subprocess.Popen(command, cwd=ROOT, env=settings(home), stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    yield home
    process.terminate()
    assert process.wait(PATIENCE) == 0
    process.stdout.close()


class Shim:
    """One `clew serve` and the client in front of it."""

    def __init__(self, home: Path, *words: str, cwd: Path = ROOT, **more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clew", "serve", *words],
            cwd=cwd,
            env=settings(home, **more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._next = 0

    def send(self, method: str, params: dict[str, Any] | None = None, id: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if id is not None:
            message["id"] = id
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def reply(self, id: Any, result: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer; notices in between are dropped."""
        self._next += 1
        self.send(method, params, self._next)
        while (answer := self.receive()).get("id") != self._next or "method" in answer:
            pass
        return answer

    def open(self, **changes: Any) -> Shim:
        assert "result" in self.ask("initialize", **{**OPENING, **changes})
        self.send("notifications/initialized")
        return self

    def call(self, name: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", name=name, arguments={"fmt": "json", **arguments})["result"]
        assert not result["isError"], result
        return json.loads(result["content"][0]["text"])["result"]

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Shim:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


def address(home: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((home / "resident" / "address.json").read_bytes())
    except (OSError, ValueError):
        return None
    return found


def resident(home: Path) -> int:
    found = address(home)
    assert found is not None, "no resident server has an address there"
    return int(found["pid"])


def residents(home: Path) -> list[int]:
    """The processes that serve this data directory, zombies included."""
    wanted = os.path.realpath(home)
    return [
        process.pid
        for process in psutil.process_iter()
        if _words(process)[-3:-1] == ["-m", "clew.faces.resident"] and _words(process)[-1] == wanted
    ]


def is_running(pid: int) -> bool:
    """A zombie is not: whose child an orphan becomes, and when that one asks for its end, differs by machine."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


@contextmanager
def ending(home: Path) -> Iterator[None]:
    """Ends the resident server of a data directory with the test."""
    try:
        yield
    finally:
        for process in residents(home):
            os.kill(process, signal.SIGKILL)
