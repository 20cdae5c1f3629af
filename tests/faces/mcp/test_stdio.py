"""What a client that speaks raw lines notices."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCResponse

from clew.faces.mcp.stdio import written
from tests.faces.mcp.process import ROOT, environment
from tests.faces.resident.shims import ending

SERVERS = {
    "in process": (["-m", "tests.faces.mcp.serve", "stdio"], "off"),
    "through the resident server": (["-m", "clew", "serve"], "on"),
}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Which way a client is served; it must not notice."""
    with ending(tmp_path):
        yield request.param


class Lines:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, message: dict[str, Any] | str) -> None:
        assert self._process.stdin is not None
        line = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def request(self, id: int, method: str, **params: Any) -> dict[str, Any]:
        self.send({"id": id, "method": method, "params": params})
        return self.receive()

    def close(self) -> str:
        """Ends the input and returns what else was printed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        rest = self._process.stdout.read()
        assert self._process.wait(60) == 0
        return rest


@contextmanager
def stdio_process(home: Path, server: str = "in process") -> Iterator[Lines]:
    words, resident = SERVERS[server]
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(home, CLEW_RESIDENT=resident),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Lines(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def test_a_client_that_skips_the_handshake_is_served(tmp_path: Path, server: str) -> None:
    with stdio_process(tmp_path, server) as lines:
        answer = lines.request(1, "tools/list", toolset="full")
        assert "notes_commit" in [tool["name"] for tool in answer["result"]["tools"]]
        lines.send({"method": "initialized"})
        assert lines.request(2, "tools/call", name="branch_list", arguments={})["result"]["isError"] is False
        assert lines.close() == ""


def test_a_line_that_is_no_message_is_answered_with_its_error(tmp_path: Path, server: str) -> None:
    with stdio_process(tmp_path, server) as lines:
        lines.send("nonsense")
        assert lines.receive() | {"error": {}} == {"jsonrpc": "2.0", "id": None, "error": {}}
        lines.send('{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"text": "\\ud800"}}')
        assert (broken := lines.receive())["id"] == 7 and broken["error"]["code"] == -32700
        lines.send('{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}')
        assert (broken := lines.receive())["id"] is None and broken["error"]["code"] == -32700
        lines.send({"id": 1})
        assert (broken := lines.receive())["id"] == 1 and broken["error"]["code"] == -32600
        lines.send("[" * 100_000)
        assert lines.receive()["error"]["code"] == -32700
        assert lines.request(2, "no/such")["error"]["code"] == -32601
        assert lines.request(3, "tools/call", name="show", arguments="text")["result"]["isError"] is True
        assert lines.request(4, "ping")["result"] == {}


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\nContent-Type: application/json\r\n\r\n%b" % (len(body), body)


def test_a_client_that_frames_by_length_is_answered_in_kind(tmp_path: Path, server: str) -> None:
    text = "Grüße " * 3_000  # characters are not bytes, and the answer takes several reads
    calls: list[dict[str, Any]] = [
        {"id": 1, "method": "tools/call", "params": {"name": "notes_commit", "arguments": {"content": text}}},
        {"method": "initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "show", "arguments": {"doc_kind": "notes"}}},
    ]
    words, resident = SERVERS[server]
    process = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(tmp_path, CLEW_RESIDENT=resident),
        input=b"".join(framed(call) for call in calls),
        stdout=subprocess.PIPE,
        check=True,
    )
    rest, answers = process.stdout, {}
    while rest:
        head, _, body = rest.partition(b"\r\n\r\n")
        length = int(head.removeprefix(b"Content-Length: "))
        answer = json.loads(body[:length])
        answers[answer["id"]], rest = answer, body[length:]
    assert answers[1]["result"]["isError"] is False
    assert sorted(answers) == [1, 2]


def test_requests_sent_before_the_end_of_the_input_are_answered(tmp_path: Path, server: str) -> None:
    with stdio_process(tmp_path, server) as lines:
        for id in range(5):
            arguments = {"content": f"note {id}"}
            lines.send({"id": id, "method": "tools/call", "params": {"name": "notes_commit", "arguments": arguments}})
        answers = [json.loads(line) for line in lines.close().splitlines()]
        assert sorted(answer["id"] for answer in answers) == [0, 1, 2, 3, 4]
        assert all(answer["result"]["isError"] is False for answer in answers)


def test_the_server_ends_with_a_client_that_leaves_without_a_word(tmp_path: Path, server: str) -> None:
    with stdio_process(tmp_path, server) as lines:
        assert lines.close() == ""


def test_a_burst_of_requests_is_answered_once_each(tmp_path: Path, server: str) -> None:
    """More than are read ahead, in one write; one of them is taken back in the same breath."""
    calls = {"name": "branch_list", "arguments": {}}
    burst = [{"id": id, "method": "ping"} for id in range(1, 200)]
    burst += [{"id": id, "method": "tools/call", "params": calls} for id in range(200, 260)]
    burst += [{"method": "notifications/cancelled", "params": {"requestId": 259}}, {"id": 260, "method": "ping"}]
    with stdio_process(tmp_path, server) as lines:
        lines.send("\n".join(json.dumps({"jsonrpc": "2.0", **message}) for message in burst))
        answers = [json.loads(line) for line in lines.close().splitlines()]
    assert all("result" in answer for answer in answers)
    ids = [answer["id"] for answer in answers]
    assert len(ids) == len(set(ids)) and set(ids) | {259} == set(range(1, 261))


texts = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(result=st.dictionaries(st.text(max_size=8), values, max_size=4), id=st.integers(-5, 2**40) | st.text(max_size=9))
def test_a_message_is_written_as_the_sdk_would_write_it(result: dict[str, Any], id: int | str) -> None:
    for message in (
        JSONRPCResponse(jsonrpc="2.0", id=id, result=result),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params=result),
        JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=-32600, message="no", data=result)),
    ):
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        assert written(message) == f"{text}\n".encode()


def test_large_answers_and_messages_in_pieces_come_through_whole(tmp_path: Path, server: str) -> None:
    with stdio_process(tmp_path, server) as lines:
        text = "thread " * 40_000
        wrote = lines.request(1, "tools/call", name="notes_commit", arguments={"content": text})
        assert wrote["result"]["isError"] is False
        arguments = {"doc_kind": "notes", "max_chars": 1_000_000}
        for id in range(2, 6):
            lines.send({"id": id, "method": "tools/call", "params": {"name": "show", "arguments": arguments}})
        for _ in range(4):
            shown = lines.receive()["result"]["structuredContent"]["result"]
            assert shown["entries"][0]["content"] == text


def test_nothing_is_opened_before_the_first_call(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with stdio_process(home) as lines:
        lines.request(1, "tools/list")
        assert not home.exists()
        lines.request(2, "tools/call", name="branch_list", arguments={})
        assert home.exists()
