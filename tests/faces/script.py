"""One list of calls, made over stdio and by `clew call`, for tests that want the same answers everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import pytest

from clew.faces.cli.main import run
from tests.conftest import ROOT
from tests.faces.mcp.process import environment
from tests.waiting import PATIENCE

Script = list[tuple[str, dict[str, Any]]]
VARYING = {
    "ts",
    "ts_ms",
    "last_ts_ms",
    "from_ts_ms",
    "created_at_ms",
    "updated_at_ms",
    "out_file",
    "used_chars",
    "bytes",
}
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}


def plain(value: Any, varying: AbstractSet[str] = VARYING) -> Any:
    """Without what depends on the moment or the machine."""
    if isinstance(value, dict):
        return {key: plain(item, varying) for key, item in value.items() if key not in varying}
    return [plain(item, varying) for item in value] if isinstance(value, list) else value


def over_stdio(script: Script, home: Path) -> list[Any]:
    """One server process; each line is a call."""
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": OPENING},
        {"method": "notifications/initialized"},
    ]
    for number, (name, arguments) in enumerate(script, 1):
        messages.append(
            {"id": number, "method": "tools/call", "params": {"name": name, "arguments": {"fmt": "json", **arguments}}}
        )
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "serve", "--toolset", "full"],
        cwd=ROOT,
        env=environment(home, CLEW_WORKSPACE="ws"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    answers = []
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        if "id" in message:
            answers.append(json.loads(process.stdout.readline()))
    process.communicate(timeout=PATIENCE)
    return [answer["result"]["structuredContent"]["result"] for answer in answers[1:]]


def by_command(script: Script, home: Path, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """Each call opens the store anew, as a shell does."""
    results = []
    for name, arguments in script:
        code = run(["--home", str(home), "--workspace", "ws", "call", name, json.dumps(arguments), "--json"])
        printed = capsys.readouterr()
        assert code == 0, printed
        results.append(json.loads(printed.out)["result"])
    return results
