"""The server's entry where a client keeps its servers in a YAML list, as Continue does: each item has its name.

The item is inserted and removed as lines of text, and every change is read back before it counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.faces.connect import yaml_text
from clew.faces.connect.config_formats import Hollow
from clew.faces.connect.jsonc import Unreadable
from clew.faces.connect.pieces import State
from clew.faces.connect.servers import NAME, Entry, is_ours, merged

TABLE = "mcpServers"
_NEW = {"name": "Local", "version": "1.0.0", "schema": "v1"}
"""What a configuration of Continue must hold; its own default has these values too."""


@dataclass(frozen=True)
class ListedServer:
    file: Path
    entry: Entry = field(default_factory=dict)
    what: str = "server"

    def written(self, text: str) -> str:
        items = _items(text)
        place = self._place(items)
        if place is None:
            if any(item.get("name") == NAME for item in items):
                raise Unreadable(f"another server is called {NAME!r} there; rename it first")
            return self._checked(_appended(text, self.entry), [*items, self.entry])
        new = merged(items[place], self.entry)
        if new == items[place]:
            return text
        changed = _replaced(text, place, new)
        return self._checked(changed, [*items[:place], new, *items[place + 1 :]])

    def taken(self, text: str) -> str:
        while (place := self._place(items := _items(text))) is not None:
            text = self._checked(_replaced(text, place, None), [*items[:place], *items[place + 1 :]])
        return text

    def state(self, text: str) -> State:
        items = _items(text)
        place = self._place(items)
        if place is None:
            return "missing"
        return "current" if merged(items[place], self.entry) == items[place] else "stale"

    def names(self, text: str) -> list[str]:
        return [str(item.get("name")) for item in _items(text) if is_ours(str(item.get("name")), item)]

    def hollows(self, text: str) -> list[Hollow]:
        return [] if _items(text) else [((TABLE,), None)]

    def own_hollows(self, text: str) -> list[Hollow]:
        return []

    def refilled(self, text: str, hollow: Hollow) -> str:
        """Without the list that was begun for us, once nothing is in it."""
        if TABLE not in _read(text) or _items(text):
            return text
        return "".join(line for line in text.splitlines(True) if line.split("#")[0].rstrip() != f"{TABLE}:")

    def is_bare(self, text: str) -> bool:
        return _read(text) in ({}, _NEW, {**_NEW, TABLE: None})

    def snippet(self) -> str:
        """What a person adds by hand."""
        return f"{TABLE}:\n{_item(self.entry, 2, chr(10))}".rstrip()

    def _place(self, items: list[Entry]) -> int | None:
        return next((n for n, item in enumerate(items) if is_ours(str(item.get("name")), item)), None)

    def _checked(self, text: str, meant: list[Entry]) -> str:
        if _items(text) != meant:
            raise Unreadable("it is written in a way that cannot be changed safely")
        return text


def _read(text: str) -> dict[str, Any]:
    found = yaml_text.read(text)
    if not isinstance(found, dict):
        raise Unreadable("the document is not an object")
    return found


def _items(text: str) -> list[Entry]:
    items = _read(text).get(TABLE) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreadable(f"{TABLE} is not a list of servers")
    return items


def _item(entry: Entry, indent: int, newline: str) -> str:
    """One item as lines; values as JSON, which YAML reads too."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
    pad = " " * indent
    return f"{pad}- " + f"{newline}{pad}  ".join(lines) + newline


def _appended(text: str, entry: Entry) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    begun = text if text.endswith("\n") or not text else text + newline
    if not _read(text):
        begun += "".join(f"{name}: {value}{newline}" for name, value in _NEW.items())
    node = _list_node(begun)
    if node is None or not node.value:
        if TABLE in _read(begun):
            raise Unreadable(f"{TABLE} is there and empty; remove that line first")
        return f"{begun}{TABLE}:{newline}{_item(entry, 2, newline)}"
    last = node.value[-1]
    at = _line_after(begun, last)
    return begun[:at] + _item(entry, last.start_mark.column - 2, newline) + begun[at:]


def _replaced(text: str, place: int, entry: Entry | None) -> str:
    node = _list_node(text)
    item = node.value[place]
    start = text.rfind("\n", 0, item.start_mark.index) + 1
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _item(entry, item.start_mark.column - 2, newline) if entry is not None else ""
    return text[:start] + lines + text[_line_after(text, item) :]


def _list_node(text: str) -> Any:
    """The node of the list; a list in brackets cannot be changed line by line."""
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value if root is not None else ():
        if key.value == TABLE and isinstance(value, yaml.SequenceNode):
            if value.flow_style:
                raise Unreadable(f"{TABLE} is written in brackets; write one server to a line first")
            return value
    return None


def _line_after(text: str, node: Any) -> int:
    """Where the line after the last word of a node begins; the mark of a block's end comes after blank lines."""
    end = len(text[: node.end_mark.index].rstrip())
    found = text.find("\n", end)
    return len(text) if found < 0 else found + 1
