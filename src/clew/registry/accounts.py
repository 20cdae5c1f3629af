"""Accounting for each call: metrics and, when enabled, a log line and a span."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING

from clew.metrics import calls
from clew.registry.envelope import Answer

if TYPE_CHECKING:
    from clew.traces import Exporter

log = logging.getLogger("clew.calls")

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""How the proxy in front of the server, or the server itself, calls the HTTP request that a call came with."""
_trace_parent: ContextVar[str] = ContextVar("trace_parent", default="")


class Spans:
    """Where the spans of calls are exported; set by the transport that serves them (see `traces`)."""

    exporter: Exporter | None = None


spans = Spans()


def came_with(request: str, trace_parent: str | None) -> None:
    """Record which HTTP request the calls of this context came with; their spans become children of its proxy's."""
    request_id.set(request)
    _trace_parent.set(trace_parent or "")


def account(operation: str, workspace: str, agent: str | None, answer: Answer, seconds: float) -> None:
    outcome = "ok" if answer.ok else str(answer.envelope["error"]["code"])
    known = operation if answer.ok or outcome != "UNKNOWN_TOOL" else "unknown"
    calls.add(known, outcome, seconds)
    told = {
        "request_id": request_id.get(),
        "agent": agent or "",
        "workspace": workspace,
        "operation": known,
        "outcome": outcome,
    }
    if spans.exporter is not None:
        attributes = {f"clew.{name}": value for name, value in told.items()}
        spans.exporter.add(known, seconds, attributes, answer.ok, _trace_parent.get())
    if log.isEnabledFor(logging.INFO):
        log.info("call", extra={"fields": {**told, "ms": round(seconds * 1000, 1)}})
