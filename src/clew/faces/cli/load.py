"""A load test with clients that use a server like agents: latency of each call, errors, resources of the server."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2
import orjson

PROTOCOL = "2026-07-28"
SHARES = {"recall": 30, "think": 30, "open": 18, "remember": 14, "resume": 8}
"""The mix of a hundred calls, as observed with agents."""
SUBJECTS = (
    "retries",
    "carts",
    "invoices",
    "the relay",
    "the cache",
    "uploads",
    "search",
    "sign-in",
    "the queue",
    "logs",
)
DEEDS = ("are kept in", "are read from", "are checked by", "wait for", "are written by", "fail without")
OBJECTS = ("one process", "the second region", "a nightly job", "the gateway", "a worker", "a lock", "the archive")
TO_ANSWER = 120.0
CPU, MEMORY = "clew_process_cpu_seconds", "clew_process_resident_bytes"


@dataclass(frozen=True)
class LoadPlan:
    address: str
    clients: int
    seconds: float
    workspace: str
    token: str | None = None
    pause: float = 0.0
    """Seconds that each client waits after a response."""


@dataclass
class Measured:
    """The measurements: milliseconds of each successful call, by operation, and the refused calls."""

    seconds: float = 0.0
    ms: dict[str, list[float]] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)
    slowed: int = 0
    """Calls that the server rejected with 429; each was retried after the given delay."""
    cpu_ms: float | None = None
    """Of one server process, by its own metrics: meaningless with several servers behind the address."""
    memory_mb: float | None = None

    @property
    def calls(self) -> int:
        return sum(map(len, self.ms.values()))

    def to_dict(self) -> dict[str, Any]:
        known = {
            "calls": self.calls,
            "seconds": round(self.seconds, 1),
            "calls_per_second": round(self.calls / self.seconds, 2) if self.seconds else 0.0,
            "problems": dict(self.problems),
            "slowed": self.slowed,
            "ms": {name: quantiles(found) for name, found in sorted(self.ms.items())},
            "all_ms": quantiles([one for found in self.ms.values() for one in found]),
        }
        if self.cpu_ms is not None and self.calls:
            known["cpu_ms_per_call"] = round(self.cpu_ms / self.calls, 1)
        return known if self.memory_mb is None else {**known, "memory_mb": round(self.memory_mb)}


def quantiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    found = {name: ordered[min(len(ordered) - 1, int(len(ordered) * at))] for name, at in shares.items() if ordered}
    return {"calls": len(ordered), **{name: round(value, 1) for name, value in found.items()}}


class LoadClient:
    """One agent: it remembers its writes, and opens and recalls them."""

    def __init__(self, plan: LoadPlan, http: httpx2.AsyncClient, seen: Measured, number: int) -> None:
        self._plan = plan
        self._http = http
        self._seen = seen
        self._chance = random.Random(number)
        self._name = f"bench-load-{number}"
        self._kept: list[str] = []
        self._session: str | None = None

    async def run(self, until: float) -> None:
        while time.monotonic() < until:
            name = self._chance.choices(list(SHARES), list(SHARES.values()))[0]
            if name == "open" and not self._kept:
                name = "remember"
            await self._measured(name, until)
            await asyncio.sleep(self._plan.pause)

    async def _measured(self, name: str, until: float) -> None:
        began = time.monotonic()
        try:
            answer = await self._call(name, self._arguments(name), until)
        except (httpx2.HTTPError, OSError, ValueError) as problem:
            self._seen.problems[f"{name}: {type(problem).__name__}"] += 1
            await asyncio.sleep(0.5)
            return
        if answer is None:
            return
        if not answer.get("success"):
            self._seen.problems[f"{name}: {(answer.get('error') or {}).get('code', 'no answer')}"] += 1
            return
        self._seen.ms.setdefault(name, []).append((time.monotonic() - began) * 1000)
        self._remember(name, answer.get("result") or {})

    def _remember(self, name: str, result: dict[str, Any]) -> None:
        if name == "remember" and isinstance(result.get("id"), str):
            self._kept = [*self._kept[-19:], result["id"]]
        if name == "think":
            self._session = result.get("session") or result.get("session_id") or self._session

    def _arguments(self, name: str) -> dict[str, Any]:
        said = f"{self._of(SUBJECTS)} {self._of(DEEDS)} {self._of(OBJECTS)}"
        own: dict[str, dict[str, Any]] = {
            "recall": {"query": said},
            "think": {"thought": f"Do {said}? {uuid4().hex[:8]}", "session": self._session},
            "open": {"id": self._of(self._kept or [""])},
            "remember": {"kind": "note", "text": f"{said}, as seen in run {uuid4().hex[:12]}"},
        }
        given = {**own.get(name, {}), "workspace": self._plan.workspace, "fmt": "json"}
        return {key: value for key, value in given.items() if value is not None}

    def _of(self, values: Any) -> str:
        return str(self._chance.choice(values))

    async def _call(self, name: str, arguments: dict[str, Any], until: float) -> dict[str, Any] | None:
        """The response envelope; None if the time was over before the server accepted the call."""
        message = _message(name, arguments, self._name)
        headers = {"mcp-protocol-version": PROTOCOL, "mcp-method": "tools/call", "mcp-name": name}
        while True:
            answer = await self._http.post(f"{self._plan.address}/mcp", json=message, headers=headers)
            if answer.status_code != 429:
                answer.raise_for_status()
                return _envelope(answer.text)
            self._seen.slowed += 1
            wait = float(answer.headers.get("retry-after", "1"))
            if time.monotonic() + wait > until:
                return None
            await asyncio.sleep(wait)


def _message(name: str, arguments: dict[str, Any], client: str) -> dict[str, Any]:
    about = {
        "io.modelcontextprotocol/protocolVersion": PROTOCOL,
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, "_meta": about}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _envelope(text: str) -> dict[str, Any]:
    """The envelope of a response in JSON or as a stream of events."""
    lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    message = orjson.loads(lines[-1] if lines else text)
    result = message.get("result") or {}
    found: dict[str, Any] = result.get("structuredContent") or _in_content(result)
    return found


def _in_content(result: dict[str, Any]) -> dict[str, Any]:
    text = str((result.get("content") or [{}])[0].get("text", ""))
    try:
        found: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        code = re.match(r"ERROR: ([A-Z_]+)", text)
        return {"success": False, "error": {"code": code[1] if code else "no answer"}}
    return found


async def measure(plan: LoadPlan) -> Measured:
    headers = {"accept": "application/json, text/event-stream"}
    if plan.token:
        headers["authorization"] = f"Bearer {plan.token}"
    limits = httpx2.Limits(max_connections=plan.clients, max_keepalive_connections=plan.clients)
    seen = Measured()
    async with httpx2.AsyncClient(headers=headers, timeout=TO_ANSWER, limits=limits) as http:
        before = await _figures(http, plan.address)
        began = time.monotonic()
        clients = [LoadClient(plan, http, seen, number) for number in range(plan.clients)]
        await asyncio.gather(*(client.run(began + plan.seconds) for client in clients))
        seen.seconds = time.monotonic() - began
        after = await _figures(http, plan.address)
    if CPU in before and CPU in after:
        seen.cpu_ms = (after[CPU] - before[CPU]) * 1000
    if MEMORY in after:
        seen.memory_mb = after[MEMORY] / 1e6
    return seen


async def _figures(http: httpx2.AsyncClient, address: str) -> dict[str, float]:
    """The server's own metrics, if the token may read them."""
    answer = await http.get(f"{address}/metrics")
    if answer.status_code != 200:
        return {}
    found = re.findall(rf"^({CPU}|{MEMORY}) ([0-9.e+]+)$", answer.text, re.MULTILINE)
    return {name: float(value) for name, value in found}
