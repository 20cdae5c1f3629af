"""Thoughts that one connection sends at once are numbered in the order in which they arrived."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faces.mcp.test_stdio import Lines, server, stdio_process

__all__ = ["server"]

AT_ONCE = 30
BATCHES = 5


def thought(id: int, text: str, tool: str = "thought") -> dict[str, Any]:
    arguments: dict[str, Any] = {"text": text} if tool == "think" else {"thought": text, "nextThoughtNeeded": True}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def number_of(answer: dict[str, Any]) -> int:
    result = answer["result"]
    assert not result["isError"], result
    structured = result.get("structuredContent") or json.loads(result["content"][0]["text"])
    found = structured.get("result", structured)
    return int(found["thoughtNumber"])


def numbers(lines: Lines, first: int) -> list[int]:
    """What the thoughts of one write are numbered, in the order in which they were sent."""
    batch = [thought(id, f"r-{id}") for id in range(first, first + AT_ONCE)]
    lines.send("\n".join(json.dumps(message) for message in batch))
    answers = [lines.receive() for _ in batch]
    return [number_of(answer) for answer in sorted(answers, key=lambda answer: int(answer["id"]))]


def test_thoughts_of_one_pipe_keep_their_order(tmp_path: Path, server: str) -> None:
    with stdio_process(tmp_path, server) as lines:
        for batch in range(BATCHES):
            first = batch * AT_ONCE + 1
            assert numbers(lines, first) == list(range(first, first + AT_ONCE))


@pytest.mark.parametrize("name", ["think", "thoughtbox_gateway", "op_call"])
def test_every_way_to_record_a_thought_keeps_the_order(tmp_path: Path, name: str) -> None:
    given: Callable[[str], dict[str, Any]] = {
        "think": lambda text: {"text": text},
        "thoughtbox_gateway": lambda text: {"operation": "thought", "thought": text, "nextThoughtNeeded": True},
        "op_call": lambda text: {"name": "thought", "arguments": {"thought": text, "nextThoughtNeeded": True}},
    }[name]
    with stdio_process(tmp_path) as lines:
        if name == "thoughtbox_gateway":
            opening = {"operation": "start_new", "cipher": True, "newWork": {"project": "p"}, "title": "Order"}
            lines.request(1, "tools/call", name=name, arguments=opening)
        for id in range(2, 2 + AT_ONCE):
            arguments = given(f"order {id}")
            lines.send({"id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
        answers = sorted((lines.receive() for _ in range(AT_ONCE)), key=lambda answer: int(answer["id"]))
        assert not any(answer["result"]["isError"] for answer in answers), answers
        read = {"name": "read_thoughts", "arguments": {"range": [1, AT_ONCE], "fmt": "json"}}
        shown = json.dumps(lines.request(99, "tools/call", **read))
    places = [shown.index(f"order {id}\\") if f"order {id}\\" in shown else -1 for id in range(2, 2 + AT_ONCE)]
    assert -1 not in places and places == sorted(places)
