"""A result as indented text, for operations that have no lines of their own. Nothing but blanks is left out."""

from __future__ import annotations

from typing import Any

from clew.registry.envelope import argument

WIDEST = 160
"""Characters up to which an object stands on one line."""
FURNITURE = frozenset({"workspace", "budget"})


def outline(result: dict[str, Any]) -> list[str]:
    """`name: value` lines; lists have an entry on each line, and what is deeper is indented."""
    return [line for name, value in result.items() if name not in FURNITURE for line in _field(name, value)]


def _field(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) and "\n" in value:
        return [f"{name}:", *(f"  {line}" for line in value.splitlines())]
    flat = _flat(value)
    if (flat is not None and len(flat) <= WIDEST) or not isinstance(value, dict | list):
        return [f"{name}: {value if isinstance(value, str) else flat}"]
    if isinstance(value, list):
        return [f"{name}:", *(f"  {line}" for item in value for line in _entry(item))]
    return [f"{name}:", *(f"  {line}" for key, item in value.items() for line in _field(key, item))]


def _entry(item: Any) -> list[str]:
    flat = _flat(item)
    if (flat is not None and len(flat) <= WIDEST) or not isinstance(item, dict | list):
        return [f"- {item if isinstance(item, str) else flat}"]
    inner = [line for key, value in item.items() for line in _field(key, value)] if isinstance(item, dict) else []
    inner = inner or [line for value in item for line in _entry(value)]
    return [f"{'- ' if place == 0 else '  '}{line}" for place, line in enumerate(inner)]


def _flat(value: Any) -> str | None:
    """On one line; None for what has objects inside of objects or more than a line of text."""
    if isinstance(value, str):
        return None if "\n" in value else argument(value)
    if isinstance(value, dict):
        parts = [(name, _flat(item)) for name, item in value.items() if item is not None]
        if any(part is None or isinstance(value[name], dict) for name, part in parts):
            return None
        return " ".join(f"{name}={part}" for name, part in parts) or "{}"
    if isinstance(value, list):
        entries = [_flat(item) for item in value]
        if any(part is None or isinstance(item, dict | list) for part, item in zip(entries, value, strict=True)):
            return None
        return ", ".join(part for part in entries if part is not None) or "none"
    return argument(value)
