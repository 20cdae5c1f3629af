"""Who is told, inside the transaction, that blocks changed; and who may object to a change before it is made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clew.registry.context import Context

if TYPE_CHECKING:
    from clew.memory.draft import Draft

WATCHERS: tuple[str, ...] = ("clew.memory.proposals:follow_edits", "clew.memory.contradictions:follow")
"""`module:function` of each `(ctx, ids) -> None`, called after blocks changed by approval, by hand or by rollback."""

OBJECTORS: tuple[str, ...] = ("clew.memory.contradictions:objections",)
"""`module:function` of each `(ctx, draft) -> list of sentences`: why a person should look at a change first."""


def changed(ctx: Context, ids: Sequence[str]) -> None:
    if not ids:
        return
    for watcher in WATCHERS:
        _function(watcher)(ctx, ids)


def objections(ctx: Context, draft: Draft) -> list[str]:
    return [said for objector in OBJECTORS for said in _function(objector)(ctx, draft)]


def _function(name: str) -> Callable[..., Any]:
    """Imported only when it is needed: these modules know blocks, blocks do not know them."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)  # type: ignore[no-any-return]
