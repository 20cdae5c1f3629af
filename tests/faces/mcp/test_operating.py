"""What an operator sees of a running server: life signs, metrics, and one line in the log for each call."""

from __future__ import annotations

import json
import queue
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faces.mcp.process import ROOT, Running, running

TOKEN = "a-long-token-of-the-team"
SAMPLE = re.compile(r'[a-z_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? [0-9.e+-]+')
MODERN = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "authorization": f"Bearer {TOKEN}",
}


def call(address: str, name: str, arguments: dict[str, Any], request_id: str = "", parent: str = "") -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, "_meta": meta}
    headers = {**MODERN, "mcp-method": "tools/call", "mcp-name": name}
    if request_id:
        headers["x-request-id"] = request_id
    if parent:
        headers["traceparent"] = parent
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = httpx2.post(f"{address}/mcp", json=message, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text


def metrics_of(server: Running) -> str:
    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = httpx2.get(f"{server.address}/metrics", headers=headers)
    assert answer.status_code == 200
    return answer.text


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_life_signs_need_no_token_and_say_nothing_more(tmp_path: Path, path: str) -> None:
    with running("tests.faces.mcp.serve", tmp_path, "http", CLEW_TOKEN=TOKEN) as server:
        answer = httpx2.get(f"{server.address}{path}")
        assert (answer.status_code, answer.text) == (200, "ok")


def test_metrics_need_the_token(tmp_path: Path) -> None:
    with running("tests.faces.mcp.serve", tmp_path, "http", CLEW_TOKEN=TOKEN) as server:
        assert httpx2.get(f"{server.address}/metrics").status_code == 401


def test_metrics_count_calls_by_outcome_in_the_format_of_prometheus(tmp_path: Path) -> None:
    with running("tests.faces.mcp.serve", tmp_path, "http", CLEW_TOKEN=TOKEN) as server:
        call(server.address, "remember", {"text": "Retry five times", "kind": "fact"})
        call(server.address, "open", {"id": "D-404"})
        call(server.address, "no_such_tool_anywhere", {})
        text = metrics_of(server)
    lines = text.splitlines()
    assert not [line for line in lines if not line.startswith("#") and not SAMPLE.fullmatch(line)]
    assert 'clew_calls_total{operation="remember",outcome="ok"} 1' in lines
    assert 'clew_calls_total{operation="open",outcome="UNKNOWN_ID"} 1' in lines
    assert 'clew_call_seconds_count{operation="remember"} 1' in lines
    assert "no_such_tool_anywhere" not in text, "a caller must not be able to add series"
    assert "clew_store_up 1" in lines
    (size,) = [line for line in lines if line.startswith("clew_store_bytes ")]
    assert float(size.split()[1]) > 10_000


def test_each_call_has_a_line_in_the_log_that_names_the_request_and_no_content(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    flags = {"CLEW_TOKEN": TOKEN, "CLEW_CALL_LOG": "true"}
    with running("tests.faces.mcp.serve", tmp_path, "http", log=log, **flags) as server:
        call(server.address, "remember", {"text": "Deploys happen on Tuesdays"}, "proxy-7f3a")
        call(server.address, "open", {"id": "D-404"})
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    first, second = [line for line in lines if line["logger"] == "clew.calls"]
    assert first["request_id"] == "proxy-7f3a"
    assert (first["operation"], first["outcome"]) == ("remember", "ok")
    assert first["agent"].startswith("tester")
    assert first["ms"] >= 0
    assert second["outcome"] == "UNKNOWN_ID" and len(second["request_id"]) == 16
    assert "Tuesdays" not in log.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_itself_finds_nothing_wrong_with_the_metrics_and_the_rules(tmp_path: Path) -> None:
    with running("tests.faces.mcp.serve", tmp_path, "http", CLEW_TOKEN=TOKEN) as server:
        call(server.address, "open", {"id": "D-404"})
        text = metrics_of(server)
    checks: list[tuple[list[str], str]] = [
        (["check", "metrics"], text),
        (["check", "rules", str(ROOT / "deploy/prometheus/clew.rules.yml")], ""),
    ]
    for words, given in checks:
        done = subprocess.run(["promtool", *words], input=given, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


class Collector(ThreadingHTTPServer):
    """Takes spans as a collector of OpenTelemetry does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.spans: queue.Queue[dict[str, Any]] = queue.Queue()
        self.address = f"http://127.0.0.1:{self.server_port}"


class Taker(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        right = self.path == "/v1/traces" and self.headers["x-key"] == "of-the-team"
        for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"] if right else ():
            self.server.spans.put(span)
        self.send_response(200 if right else 404)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_spans_go_to_the_collector_that_is_named_as_children_of_the_request(
    tmp_path: Path, collector: Collector
) -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=of-the-team"}
    with running("tests.faces.mcp.serve", tmp_path, "http", log=None, CLEW_TOKEN=TOKEN, **named) as server:
        parent = f"00-{'a' * 32}-{'b' * 16}-01"
        call(server.address, "remember", {"text": "Deploys happen on Tuesdays"}, "proxy-7f3a", parent)
        first = collector.spans.get(timeout=120)
        call(server.address, "open", {"id": "D-404"})
    second = collector.spans.get(timeout=120)  # sent at the latest when the server ends
    assert (first["name"], first["traceId"], first["parentSpanId"]) == ("remember", "a" * 32, "b" * 16)
    assert int(first["endTimeUnixNano"]) > int(first["startTimeUnixNano"])
    told = {item["key"]: item["value"]["stringValue"] for item in first["attributes"]}
    assert (told["clew.request_id"], told["clew.outcome"]) == ("proxy-7f3a", "ok")
    assert (second["name"], second["status"]["code"]) == ("open", 2)
    assert "Tuesdays" not in json.dumps(first)


def test_without_its_collector_a_server_answers_all_the_same(tmp_path: Path) -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with running("tests.faces.mcp.serve", tmp_path, "http", log=None, CLEW_TOKEN=TOKEN, **named) as server:
        call(server.address, "remember", {"text": "Deploys happen on Tuesdays"})
