"""Changes to TOML as text. The standard library reads it before and after; only our own lines are touched.

A style-preserving library would be one more to load, and removing with it is no exact inverse of adding; all that is
needed here is one table, which may always be at the end of the file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clew.faces.connect.jsonc import Path, Unreadable

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
# A date and its time may be apart by one blank.
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s#,\]}]+|[^\s\"'#,\[\]{}]+")


@dataclass(frozen=True, slots=True)
class TomlStatement:
    """A table's header or a key with its value; `end` is the end of its line, without the line's comment."""

    path: tuple[str, ...]
    start: int
    end: int
    header: bool
    value_start: int = 0


def read(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise Unreadable(str(problem)) from problem


def put(text: str, path: Path, value: Any) -> str:
    """The text with `value` at `path`: in place if it exists, otherwise as a new table at the end."""
    names = tuple(map(str, path))
    found = list(statements(text))
    own = next((entry for entry in found if entry.path == names and not entry.header), None)
    if own is not None:
        return text[: own.value_start] + inline(value) + text[own.end :]
    if isinstance(value, dict) and any(entry.path == names and entry.header for entry in found):
        for key, item in value.items():
            text = put(text, (*names, key), item)
        return text
    # A table may always be added at the end of a file; a single key belongs below its own header.
    is_entry = isinstance(value, dict) and len(names) == 2
    return _append(text, names, value) if is_entry else _put_key(text, found, names, value)


def drop(text: str, path: Path) -> str:
    """The text without the table, its sub-tables or the key at `path`."""
    names = tuple(map(str, path))
    # From the end, so that the places of the earlier ones stay right.
    for start, end in reversed(list(_spans(text, names))):
        text = _cut(text, start, end)
    return text


def hollows(text: str, path: Path) -> list[tuple[Path, str | None]]:
    """Nothing: a separate table needs no container, and what is appended can be cut off again."""
    return []


def refill(text: str, path: Path, inner: str | None) -> str:
    return text


def inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, str):
        # A JSON string is a TOML string, but for the one control character that JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def statements(text: str) -> Iterator[TomlStatement]:
    """Headers and keys in order. The text has been read before, so its syntax holds."""
    table: tuple[str, ...] = ()
    place = _skip(text, 0)
    while place < len(text):
        if text[place] == "[":
            start, doubled = place, text.startswith("[[", place)
            table, place = _dotted(text, place + 1 + doubled)
            place = text.index("]", place) + 1 + doubled
            yield TomlStatement(table, start, place, True)
        else:
            start = place
            key, place = _dotted(text, place)
            begin = _blank(text, text.index("=", place) + 1)
            place = _value_end(text, begin)
            yield TomlStatement((*table, *key), start, place, False, begin)
        place = _skip(text, place)


def _put_key(text: str, found: list[TomlStatement], names: tuple[str, ...], value: Any) -> str:
    table = [entry for entry in found if entry.header and entry.path == names[:-1]]
    if not table:
        raise Unreadable(f"{'.'.join(names[:-1])} is written in one line; change it by hand")
    after = table[0].end
    for entry in found[found.index(table[0]) + 1 :]:
        if entry.header:
            break
        after = entry.end
    end = text.find("\n", after)
    end = len(text) if end < 0 else end - text[:end].endswith("\r")
    return f"{text[:end]}{_newline(text)}{_key(names[-1])} = {inline(value)}{text[end:]}"


def _append(text: str, names: tuple[str, ...], value: dict[str, Any]) -> str:
    newline = _newline(text)
    lines = [f"[{'.'.join(map(_key, names))}]", *(f"{_key(key)} = {inline(item)}" for key, item in value.items())]
    gap = newline * (bool(text.strip()) + bool(text and not text.endswith("\n")))
    return text + gap + newline.join(lines) + newline


def _spans(text: str, names: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The statements at or below a path, neighbours joined, each from the start of its line to the end of its line."""
    ours = [entry for entry in statements(text) if entry.path[: len(names)] == names]
    joined: list[tuple[int, int]] = []
    for entry in ours:
        start, end = text.rfind("\n", 0, entry.start) + 1, text.find("\n", entry.end)
        end = len(text) if end < 0 else end + 1
        # Only blank lines in between: cut together, they leave no gap behind.
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return iter(joined)


def _cut(text: str, start: int, end: int) -> str:
    """Without these lines; the empty line before a table goes with it."""
    before = text[:start]
    if before.strip() and before.endswith(("\n\n", "\n\r\n")):
        before = before[: -2 if before.endswith("\r\n") else -1]
    return before + text[end:]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else inline(name)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip(text: str, place: int) -> int:
    found = _TRIVIA.match(text, place)
    return found.end() if found else place


def _blank(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\t"):
        place += 1
    return place


def _dotted(text: str, place: int) -> tuple[tuple[str, ...], int]:
    """The parts of a key such as `a."b.c".d`, and where it ends."""
    parts: list[str] = []
    while True:
        place = _blank(text, place)
        found = _STRING.match(text, place) or _BARE.match(text, place)
        if found is None:
            raise Unreadable(f"no key at {text[place : place + 20]!r}")
        parts.append(_key_text(found.group()))
        place = _blank(text, found.end())
        if text[place : place + 1] != ".":
            return tuple(parts), place
        place += 1


def _key_text(written: str) -> str:
    return str(next(iter(tomllib.loads(f"{written} = 0")))) if written[0] in "\"'" else written


def _value_end(text: str, place: int) -> int:
    """Where a value ends: brackets are counted, strings and comments skipped."""
    depth = 0
    while True:
        found = _STRING.match(text, place) or _PLAIN.match(text, place)
        if found:
            place = found.end()
        elif text[place] in "[{":
            depth, place = depth + 1, place + 1
        elif text[place] in "]}":
            depth, place = depth - 1, place + 1
        else:
            place += 1
        if depth == 0:
            return place
        place = _skip(text, place)
