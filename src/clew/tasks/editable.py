"""The fields of plans, tasks, steps and nodes that undo restores: everything that a caller can change."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

from clew.canonical import Json
from clew.store.rows import TableRow

_FIXED = frozenset(
    {
        *("id", "kind", "number", "parent", "task", "step", "ordinal", "path"),
        *("created_seq", "created_at_ms", "updated_at_ms", "revision", "stale_after_ms"),
    }
)
"""Parents and counters: undo never moves a record."""


class Editable(TableRow):
    """A record whose changes can be undone."""

    def content(self) -> Json:
        return {name: _plain(getattr(self, name)) for name in self._changeable()}

    def with_content(self, content: Json) -> Self:
        given: Json = {name: content[name] for name in self._changeable()}
        lists = {name: tuple(given[name]) for name in self.LISTS}
        return replace(self, **(given | lists))  # type: ignore[type-var]  # every TableRow is a dataclass

    def _changeable(self) -> list[str]:
        every = fields(self)  # type: ignore[arg-type]
        return [item.name for item in every if item.name not in _FIXED]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
