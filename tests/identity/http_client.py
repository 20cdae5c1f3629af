"""A program that speaks MCP and the page's routes over HTTP, with whatever headers it likes."""

from __future__ import annotations

import json
import ssl
from typing import Any

import httpx2

ACCEPT = {"accept": "application/json, text/event-stream"}
STATELESS = "2026-07-28"
Verify = bool | ssl.SSLContext
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}


class Program:
    """One MCP session over HTTP; a new one is a reconnected client."""

    def __init__(self, address: str, client: str = "probe", verify: Verify = True, /, **headers: str) -> None:
        self.address = address
        self.http = httpx2.Client(timeout=60, headers={**ACCEPT, **headers}, verify=verify)
        opened = self.post(
            {"id": 1, "method": "initialize", "params": {**HELLO, "clientInfo": {"name": client, "version": "1"}}}
        )
        self.http.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        self.post({"method": "notifications/initialized"})

    def post(self, message: dict[str, Any]) -> httpx2.Response:
        return self.http.post(f"{self.address}/mcp", json={"jsonrpc": "2.0", **message})

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The envelope of an operation, by its own name or through op_call."""
        answer = self.post({"id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
        return envelope_of(message_of(answer)["result"])


def stateless_call(address: str, name: str, /, verify: Verify = True, **arguments: Any) -> dict[str, Any]:
    """The envelope of one call by a client that opens no session."""
    return envelope_of(message_of(stateless_post(address, name, arguments, verify))["result"])


def stateless_post(address: str, name: str, arguments: dict[str, Any], verify: Verify = True) -> httpx2.Response:
    about = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, "_meta": about}
    headers = {**ACCEPT, "mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": name}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return httpx2.post(f"{address}/mcp", json=message, headers=headers, timeout=60, verify=verify)


def message_of(answer: httpx2.Response) -> dict[str, Any]:
    """The JSON-RPC message of an answer, which may come as an event stream."""
    lines = [line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith("data:")]
    found: dict[str, Any] = json.loads(lines[-1] if lines else answer.text)
    return found


def envelope_of(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result.get("structuredContent") or json.loads(result["content"][0]["text"])
    return found
