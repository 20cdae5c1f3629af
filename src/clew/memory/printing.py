"""Blocks to Markdown: a whole new one, or one field of an existing one with every other byte left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clew.errors import ClewError
from clew.memory.grammar import Value, parse_block

GAP = "\n\n---\n\n"
_DASH = re.compile(r"\A(\s*)(\\*-(?:\s|$))")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    """Text from outside as a value may hold it: no control characters, no blank ends, plain line ends."""
    plain = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "\n".join(line.rstrip(" \t") for line in plain.split("\n")).strip()


def print_field(name: str, value: Value) -> str:
    """`Name: value`. Further lines are indented, so that nothing inside a value can pass for a header or a field."""
    if isinstance(value, str):
        first, *rest = value.split("\n")
        return "\n".join([f"{name}: {first}".rstrip(" "), *(_continued(line) for line in rest)])
    lines = [f"{name}:"]
    for item in value:
        first, *rest = item.split("\n")
        lines += [f"- {first}", *(f"  {line}" if line else "" for line in rest)]
    return "\n".join(lines)


def _continued(line: str) -> str:
    """A dash at the start would make an item of the line, so it gets a backslash."""
    return "  " + _DASH.sub(r"\1\\\2", line) if line else ""


def print_block(id: str, fields: Mapping[str, Value | None]) -> str:
    """A new block. Fields without a value are left out."""
    printed = [print_field(name, value) for name, value in fields.items() if value]
    return "\n".join([f"[{id}]", *printed])


def set_field(text: str, name: str, value: Value) -> str:
    """The block with one field replaced, or added at its end."""
    lines = text.split("\n")
    start, end = parse_block(text).spans.get(name, (len(lines), len(lines) - 1))
    return "\n".join([*lines[:start], print_field(name, value), *lines[end + 1 :]])


def append_item(text: str, name: str, item: str) -> str:
    """The block with one more item in a list field; a single value becomes the first item."""
    value = parse_block(text).fields.get(name)
    if value is None:
        raise ClewError("CONFLICT", f"the block has no field {name}", f"Add {name} first, or name another list.")
    items = [*value] if isinstance(value, list) else [value]
    return set_field(text, name, [*items, item])
