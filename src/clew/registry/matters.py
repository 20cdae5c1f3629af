"""What waits for a person. Each domain says so of its own records; the Inbox gathers it.

A domain decorates a function with `@matters("kind")`: `(ctx, limit)` -> at most so many matters of that kind, the
oldest first. It reads only; whether somebody put a matter off is the Inbox's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clew.hooks import HookPoint
from clew.registry.context import Context


@dataclass(frozen=True, slots=True)
class Matter:
    """One matter that waits: the record to open, what it asks in a sentence, and what happens if nobody acts."""

    id: str
    kind: str
    title: str
    ts_ms: int
    if_nobody: str
    by: str | None = None
    """Who asks."""
    about: tuple[str, ...] = ()
    """Records that it concerns or came from."""
    note: str = ""
    """Why it waits, in the words of whoever asks."""
    risk: str | None = None
    until_ms: int | None = None
    """Put off until then by the domain itself."""
    advice: str | None = None
    facts: dict[str, Any] | None = None
    """What the ways out need to know."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "ts_ms": self.ts_ms,
            "if_nobody": self.if_nobody,
            "by": self.by,
            "note": self.note,
            "risk": self.risk,
            "until_ms": self.until_ms,
            "advice": self.advice,
            "facts": self.facts or {},
        }


matters: HookPoint[Callable[[Context, int], list[Matter]]] = HookPoint("matters")
