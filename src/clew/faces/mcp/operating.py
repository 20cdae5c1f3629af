"""What an operator's tools ask of a server: is it alive, is it ready, what has it done.

`/livez` and `/readyz` need no token, so that a load balancer does not have to hold the secret of the team; they say
nothing but yes or no. `/metrics` needs it.
"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, request_response

from clew import __version__, metrics
from clew.errors import ClewError
from clew.faces.http import TokenGate
from clew.faces.web.bearer import bearers_of

if TYPE_CHECKING:
    from clew.app import Clew

READY_FOR = 1.0
"""Seconds for which an answer of `/readyz` holds: more frequent requests do not reach the store."""


class StoreReadiness:
    """Whether the store answers; looked up at most once in `READY_FOR`."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._looked = 0.0
        self._ready = False

    def __call__(self) -> bool:
        now = time.monotonic()
        if now - self._looked >= READY_FOR or not self._looked:
            self._ready, self._looked = self._look(), now
        return self._ready

    def _look(self) -> bool:
        try:
            self._clew.database.schema_version()
        except ClewError:
            return False
        return True


def operating_routes(clew: Clew) -> list[Route]:
    ready = StoreReadiness(clew)

    async def livez(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    async def readyz(_: Request) -> PlainTextResponse:
        answers = await to_thread.run_sync(ready)
        return PlainTextResponse("ok" if answers else "unavailable", 200 if answers else 503)

    async def show_metrics(_: Request) -> PlainTextResponse:
        text = await to_thread.run_sync(metrics_text, clew)
        return PlainTextResponse(text, media_type=metrics.CONTENT_TYPE)

    guarded = TokenGate(request_response(show_metrics), bearers_of(clew))
    return [Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", guarded)]


def metrics_text(clew: Clew) -> str:
    lines = [
        *metrics.header("clew_info", "gauge", "The version that runs."),
        metrics.sample("clew_info", 1, version=__version__, python=platform.python_version()),
        *metrics.calls.lines(),
        *metrics.gauges(_process()),
        *metrics.gauges(_store(clew)),
    ]
    return "\n".join(lines) + "\n"


def _process() -> dict[str, tuple[str, float]]:
    spent = time.process_time()
    found = {"clew_process_cpu_seconds": ("Processor time of this process.", round(spent, 3))}
    resident = resident_bytes()
    if resident is not None:
        found["clew_process_resident_bytes"] = ("Memory of this process.", float(resident))
    return found


def resident_bytes() -> int | None:
    """Linux only; elsewhere the system's own tools say it."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _store(clew: Clew) -> dict[str, tuple[str, float]]:
    try:
        size = clew.database.describe().get("bytes")
        version = clew.database.schema_version()
    except ClewError:
        return {"clew_store_up": ("Whether the store answers.", 0)}
    found: dict[str, tuple[str, float]] = {
        "clew_store_up": ("Whether the store answers.", 1),
        "clew_store_schema_version": ("The schema of the store.", version),
    }
    if isinstance(size, int):
        found["clew_store_bytes"] = ("Size of the store.", size)
    return found
