"""The formats of configuration files, and one rule for all: a change counts only when it reads back as meant."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from clew.faces.connect import json_text, toml_text, yaml_text
from clew.faces.connect.jsonc import Path, Unreadable

Hollow = tuple[Path, str | None]
"""A container that was missing (None) or empty (its text) before something was put into it."""


@dataclass(frozen=True)
class Format:
    name: str
    read: Callable[[str], Any]
    _put: Callable[[str, Path, Any], str]
    _drop: Callable[[str, Path], str]
    hollows: Callable[[str, Path], list[Hollow]]
    _refill: Callable[[str, Path, str | None], str]

    def put(self, text: str, path: Path, value: Any) -> str:
        """The text with `value` at `path`, in place where there is one and last in its container otherwise."""
        data = self.read(text)
        return self._verified(self._put(text, path, value), _placed(data, path, value))

    def drop(self, text: str, path: Path) -> str:
        """The text without the value at `path`; TOML's table of tables goes with the last of them."""
        meant = _removed(self.read(text), path)
        # Two results are right: in TOML a table that has lost its last sub-table is no longer written down.
        return self._verified(self._drop(text, path), meant, _pruned(meant, path[:-1]))

    def refill(self, text: str, hollow: Hollow) -> str:
        """A container that is empty again, as it was before."""
        changed = self._refill(text, *hollow)
        self.read(changed)
        return changed

    def _verified(self, text: str, *meant: Any) -> str:
        # As texts, so that 1 is not true, an order is an order, and a float that is no number equals itself.
        if repr(self.read(text)) not in map(repr, meant):
            raise Unreadable("it is written in a way that cannot be changed safely; change it by hand")
        return text


def value_at(data: Any, path: Path) -> Any:
    """The value at a path of plain values, or None."""
    for part in path:
        if isinstance(data, dict) and isinstance(part, str):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _placed(data: Any, path: Path, value: Any) -> Any:
    data = deepcopy(data)
    inner = data
    for part, following in zip(path, (*path[1:], None), strict=True):
        fresh = value if following is None else ({} if isinstance(following, str) else [])
        if isinstance(inner, list) and part == len(inner):
            inner.append(fresh)
        elif following is None or (isinstance(inner, dict) and inner.get(part) is None):
            inner[part] = fresh  # a table that YAML leaves empty reads as None
        inner = inner[part]
    return data


def _removed(data: Any, path: Path) -> Any:
    data = deepcopy(data)
    inner = value_at(data, path[:-1])
    known = isinstance(inner, dict) and path[-1] in inner
    if known or (isinstance(inner, list) and int(path[-1]) < len(inner)):
        del inner[path[-1]]
    return data


def _pruned(data: Any, path: Path) -> Any:
    while path and value_at(data, path) == {}:
        data, path = _removed(data, path), path[:-1]
    return data


JSONC = Format("JSON", json_text.read, json_text.put, json_text.drop, json_text.hollows, json_text.refill)
"""With comments and trailing commas."""
COMMENTED_JSON = replace(JSONC, read=partial(json_text.read, trailing_commas=False))
"""With comments only: Gemini CLI and its descendants refuse a trailing comma, and then the whole file."""
JSON = replace(JSONC, read=partial(json_text.read, comments=False, trailing_commas=False))
TOML = Format("TOML", toml_text.read, toml_text.put, toml_text.drop, toml_text.hollows, toml_text.refill)
YAML = Format("YAML", yaml_text.read, yaml_text.put, yaml_text.drop, yaml_text.hollows, yaml_text.refill)
