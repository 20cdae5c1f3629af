"""Spans of calls for a collector of OpenTelemetry (OTLP over HTTP, as JSON), where one is named.

Sent in the background and never waited for: while the collector is away, spans are dropped.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import secrets
import threading
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

from clew import __version__

log = logging.getLogger("clew.traces")

_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
MOST_KEPT, MOST_AT_ONCE = 4_096, 512
EVERY_SECONDS, PATIENCE = 2.0, 3.0

Span = dict[str, Any]


class Exporter:
    def __init__(self, endpoint: str, headers: Mapping[str, str]) -> None:
        self._url = f"{endpoint.rstrip('/')}/v1/traces"
        self._headers = {"content-type": "application/json", **headers}
        self._spans: queue.Queue[Span] = queue.Queue(MOST_KEPT)
        self._wake = threading.Event()
        threading.Thread(target=self._run, name="clew-traces", daemon=True).start()

    def add(self, name: str, seconds: float, attributes: Mapping[str, str], ok: bool, parent: str) -> None:
        found = _PARENT.fullmatch(parent)
        end = time.time_ns()
        span = {
            "traceId": found[1] if found else secrets.token_hex(16),
            "spanId": secrets.token_hex(8),
            **({"parentSpanId": found[2]} if found else {}),
            "name": name,
            "kind": 2,  # of a server
            "startTimeUnixNano": str(end - int(seconds * 1e9)),
            "endTimeUnixNano": str(end),
            "attributes": _attributes(attributes),
            "status": {"code": 1 if ok else 2},
        }
        if not self._spans.full():
            self._spans.put_nowait(span)
        if self._spans.qsize() >= MOST_AT_ONCE:
            self._wake.set()

    def flush(self) -> None:
        """Send what waits, until the collector does not take it."""
        while (spans := self._taken()) and self._send(spans):
            pass

    def _run(self) -> None:
        while True:
            self._wake.wait(EVERY_SECONDS)
            self._wake.clear()
            self.flush()

    def _taken(self) -> list[Span]:
        spans: list[Span] = []
        while len(spans) < MOST_AT_ONCE and not self._spans.empty():
            spans.append(self._spans.get_nowait())
        return spans

    def _send(self, spans: list[Span]) -> bool:
        resource = {"attributes": _attributes({"service.name": "clew", "service.version": __version__})}
        scope = {"scope": {"name": "clew"}, "spans": spans}
        body = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self._url, body, self._headers), timeout=PATIENCE):
                return True
        except OSError as problem:
            log.warning("spans could not be sent: %s", problem)
            return False


def _attributes(values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items() if value]


def configured_exporter() -> Exporter | None:
    """By the variables of OpenTelemetry; `OTEL_EXPORTER_OTLP_HEADERS` is `name=value,name=value`."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    given = os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")
    headers = dict(pair.strip().split("=", 1) for pair in given.split(",") if "=" in pair)
    return Exporter(endpoint, headers) if endpoint.startswith(("http://", "https://")) else None
