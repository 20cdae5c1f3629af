"""Figures about the workspace: how many blocks of each kind, how many are live, what the last scan found."""

from __future__ import annotations

from typing import Any

import orjson

from clew.canonical import canonical
from clew.memory import blocks
from clew.memory.kinds import KINDS
from clew.registry.context import Context

COUNTED = {"decisions": "D", "tasks": "T", "contradictions": "C", "signals": "SIG"}
METRICS = "memory_metrics"


def health_of(ctx: Context) -> dict[str, Any]:
    return {"files": {name: counts(ctx, prefix) for name, prefix in COUNTED.items()}, "metrics": metrics(ctx)}


def counts(ctx: Context, prefix: str) -> dict[str, int]:
    live = blocks.count(ctx, prefix, KINDS[prefix].live)
    return {"total": blocks.count(ctx, prefix), "active": live}


def metrics(ctx: Context) -> dict[str, Any]:
    """What the last scan kept; empty before the first one."""
    text = ctx.tx.value("SELECT value FROM meta WHERE key = ?", f"{METRICS}:{ctx.workspace}")
    found: dict[str, Any] = orjson.loads(text) if text else {}
    return found


def keep_metrics(ctx: Context, figures: dict[str, Any]) -> None:
    ctx.tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        f"{METRICS}:{ctx.workspace}",
        canonical(figures),
    )
