"""A model on loopback: it records what it is sent and does what a script says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.clients.wire import Anthropic, Chat, Gemini, Request, Responses, Turn

Script = Callable[[Request], Turn]
"""What the model does next, from what it has been sent."""

QUIET = Turn(text="ok")
"""The answer to whatever a client asks besides: titles, summaries, checks of the quota."""


class Stub:
    """Answers at `address`, from `open` to `close`."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.seen: list[Request] = []
        self.others: list[tuple[str, str]] = []
        """Method and path of requests that are no question to the model."""
        self.outside: list[str] = []
        """Hosts outside of loopback that the client tried to reach, and did not."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def open(self) -> Stub:
        self._thread.start()
        return self

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def asked(self) -> list[Request]:
        """The questions of the agent itself: those that offer tools."""
        return [request for request in self.seen if request.tools]

    def answer(self, request: Request) -> tuple[Turn, int]:
        with self._lock:
            self.seen.append(request)
            number = len(self.seen)
        return (self._script(request) if request.tools else QUIET), number

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                stub.others.append(("GET", self.path))
                self._send(200, b'{"object": "list", "data": [{"id": "stub", "object": "model"}], "models": []}')

            def do_CONNECT(self) -> None:
                """We are named as the proxy, so this is a client on its way out of loopback."""
                stub.outside.append(self.path)
                self._send(403, b"")

            def do_HEAD(self) -> None:
                self._send(200, b"")

            def do_POST(self) -> None:
                body = json.loads(self._body() or b"{}")
                found = _answered(stub, self.path.partition("?")[0], self.path, body)
                if found is None:
                    stub.others.append(("POST", self.path))
                    self._send(404, b'{"error": {"message": "no such method"}}')
                else:
                    self._send(200, found[1], found[0])

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def _send(self, status: int, data: bytes, kind: str = "application/json") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler


EVENTS = "text/event-stream"


def _answered(stub: Stub, path: str, whole: str, body: dict[str, Any]) -> tuple[str, bytes] | None:
    """Content type and body of the answer; None where nothing is known at this path."""
    if path.endswith("/count_tokens"):
        return "application/json", b'{"input_tokens": 1}'
    if path.endswith(":countTokens"):
        return "application/json", b'{"totalTokens": 1}'
    if path.endswith("/messages"):
        return EVENTS, Anthropic.stream(*stub.answer(Anthropic.read(body)))
    if path.endswith("/responses"):
        return EVENTS, Responses.stream(*stub.answer(Responses.read(body)))
    if path.endswith("/chat/completions"):
        answer = stub.answer(Chat.read(body))
        return (EVENTS, Chat.stream(*answer)) if body.get("stream") else ("application/json", Chat.whole(*answer))
    if path.endswith(":streamGenerateContent"):
        return EVENTS, Gemini.stream(*stub.answer(Gemini.read(body)))
    if path.endswith(":generateContent"):
        return "application/json", Gemini.whole(*stub.answer(Gemini.read(body)))
    return None
