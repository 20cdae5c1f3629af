"""What a domain offers for the records it keeps, so that one call works on every id.

A domain decorates its functions: `@opener("task", "plan")` shows a record, `@refresh("block")` brings records up to
date that also stand in files. The keys are kinds of ids (`clew.ids.PATTERNS`) or kinds of what search finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.hooks import HookPoint
from clew.registry.context import Context

Opened = dict[str, Any]
Opener = Callable[[Context, str, int, bool], Opened | None]
"""`(ctx, id, limit, include_drafts)` -> the record with `kind` and `id` or `ref`, or None. Reads only."""

opener: HookPoint[Opener] = HookPoint("opener")
refresh: HookPoint[Callable[[Context], object]] = HookPoint("refresh")
"""Called before a record of this kind is opened, outside of any transaction."""
