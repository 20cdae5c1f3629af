"""Time, behind one seam so that tests and replays can set it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], int]


def system_clock() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=4096)
def iso_millis(ts_ms: int) -> str:
    """UTC with all three digits of the milliseconds, so that times sort as text: 2026-11-15T10:00:00.250Z."""
    seconds, millis = divmod(ts_ms, 1000)
    return f"{_minute(seconds // 60)}:{seconds % 60:02d}.{millis:03d}Z"


@lru_cache(maxsize=4096)
def _minute(minutes: int) -> str:
    """Up to the minute, which the times of one session share: writing a date takes five times as long as the rest."""
    return datetime.fromtimestamp(minutes * 60, UTC).strftime("%Y-%m-%dT%H:%M")


@lru_cache(maxsize=4096)
def rfc3339(ts_ms: int) -> str:
    """UTC with millisecond precision, trailing zeros trimmed: 2026-11-15T10:00:00.25Z."""
    moment = datetime.fromtimestamp(ts_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{ts_ms % 1000:03d}".rstrip("0")
    return f"{moment}.{fraction}Z" if fraction else f"{moment}Z"
