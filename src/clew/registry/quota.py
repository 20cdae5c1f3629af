"""Daily write quota per token, across all servers of the store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.store.workspaces import forget_counts, next_count

if TYPE_CHECKING:
    from clew.clock import Clock
    from clew.registry.connection import Connection
    from clew.settings import Settings
    from clew.store.database import Database

_PREFIX = "writes:"
_DAY_MS = 86_400_000


def count_write(settings: Settings, database: Database, clock: Clock, connection: Connection) -> None:
    """Count a writing call of a token, and refuse it above the quota; refused calls count too."""
    token = connection.principal.token if connection.principal is not None else ""
    if settings.daily_writes is None or not token:
        return
    now = clock()
    today = f"{_PREFIX}{datetime.fromtimestamp(now / 1000, UTC):%Y-%m-%d}:"
    with database.write() as tx:
        written = next_count(tx, "", today + token)
        if written == 1:
            forget_counts(tx, "", _PREFIX, today)
    if written > settings.daily_writes:
        raise _used_up(settings.daily_writes, (_DAY_MS - now % _DAY_MS) // 1000 + 1)


def _used_up(quota: int, seconds: int) -> ClewError:
    return ClewError(
        "NOT_ALLOWED",
        f"this token has made its {quota} writing calls of today; the next one is taken in {seconds} s (midnight UTC)",
        "Go on reading; whoever runs the server raises CLEW_DAILY_WRITES.",
        details={"rule": "quota", "quota": quota, "retry_after": seconds},
    )
