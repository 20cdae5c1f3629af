"""The horizon of a plan: how its tasks stand, in numbers rather than lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.registry.context import Context
from clew.tasks.plans import ACTIVE_LIMIT, STALE_AFTER_MS

_COUNTS = """
SELECT count(*) AS total,
  sum(CASE WHEN status = 'ACTIVE' THEN 1 ELSE 0 END) AS active,
  sum(CASE WHEN status = 'DONE' THEN 1 ELSE 0 END) AS done,
  sum(CASE WHEN status = 'PARKED' AND (parked_until_ts_ms IS NULL OR parked_until_ts_ms > ?) THEN 1 ELSE 0 END)
    AS parked,
  sum(CASE WHEN status = 'TODO' OR (status = 'PARKED' AND parked_until_ts_ms <= ?) THEN 1 ELSE 0 END) AS backlog,
  sum(CASE WHEN status IN ('TODO', 'ACTIVE', 'PARKED') AND updated_at_ms + COALESCE(stale_after_ms, ?) <= ?
    THEN 1 ELSE 0 END) AS stale
FROM work WHERE workspace = ? AND parent = ?
"""
_WAKE = """
SELECT id, title, parked_until_ts_ms FROM work
WHERE workspace = ? AND parent = ? AND status = 'PARKED' AND parked_until_ts_ms > ?
ORDER BY parked_until_ts_ms, number LIMIT 1
"""
NAMES = ("active", "backlog", "parked", "stale", "done", "total")


@dataclass(frozen=True, slots=True)
class Horizon:
    """A parked task whose time has come counts as backlog again."""

    active: int
    backlog: int
    parked: int
    stale: int
    done: int
    total: int
    next_wake: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        counts: dict[str, Any] = {name: getattr(self, name) for name in NAMES}
        limits = {"active_limit": ACTIVE_LIMIT, "over_active_limit": self.active > ACTIVE_LIMIT}
        wake = {"next_wake": self.next_wake} if self.next_wake else {}
        return {**counts, **limits, **wake}


def horizon_of(ctx: Context, plan: str) -> Horizon:
    now = ctx.now_ms
    row = ctx.tx.one(_COUNTS, now, now, STALE_AFTER_MS, now, ctx.workspace, plan) or {}
    wake = ctx.tx.one(_WAKE, ctx.workspace, plan, now) if row.get("parked") else None
    counts = {name: int(row.get(name) or 0) for name in NAMES}
    return Horizon(**counts, next_wake=wake)
