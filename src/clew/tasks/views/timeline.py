"""The last events of a plan or task."""

from __future__ import annotations

from typing import Any

import orjson

from clew.registry.context import Context
from clew.tasks import journal

SCANNED = 500


def timeline(ctx: Context, id: str, limit: int, path: str | None = None) -> dict[str, Any]:
    """The newest events, oldest first; with a path, those of that step and below it among the last ones."""
    if limit == 0:
        return {"events": [], "limit": 0}
    rows = ctx.tx.all(
        "SELECT * FROM event WHERE workspace = ? AND subject = ? AND topic = 'tasks' ORDER BY seq DESC LIMIT ?",
        ctx.workspace,
        id,
        limit if path is None else SCANNED,
    )
    if path is not None:
        rows = [row for row in rows if row["path"] == path or str(row["path"]).startswith(f"{path}.")][:limit]
    events = [journal.event_json({**row, "payload": orjson.loads(row["payload"])}) for row in reversed(rows)]
    return {"events": events, "limit": limit}
