"""Changes to JSON as text: a value is inserted, replaced or cut, and every other character stays where it was.

What `put` inserts `drop` cuts again, exactly, because `put` only inserts: a comma after the value before, and the new
member behind the comment that follows on that line. Only an empty container loses its inner white space; `hollows`
keeps what was in it, and `refill` puts it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from clew.faces.connect.jsonc import JsonNode, Member, Part, Path, Token, Unreadable, parse, tokens

_COMMENTS_ON_LINE = re.compile(r"(?:[ \t]*/\*(?:(?!\*/)[^\r\n])*\*/)*(?P<line>[ \t]*//[^\r\n]*)?")
_FIRST_INDENT = re.compile(r"\n([ \t]+)[^\s/]")
EMPTY = "{}\n"


def read(text: str, comments: bool = True, trailing_commas: bool = True) -> Any:
    """The document as plain values; a file with nothing in it is an empty object."""
    return parse(text, comments, trailing_commas).value() if text.strip() else {}


def put(text: str, path: Path, value: Any) -> str:
    """The text with `value` at `path`; missing containers are made, and a number one past the end appends."""
    text = text if text.strip() else EMPTY
    node = parse(text)
    for depth, part in enumerate(path):
        member = node.member(part)
        if member is None:
            return _insert(text, node, path[: depth + 1], _nested(path[depth + 1 :], value))
        node = member.node
    if same(node.value(), value):
        return text
    new = _render(text, value, _line_indent(text, node.start), "\n" not in text.strip())
    return text[: node.start] + new + text[node.end :]


def drop(text: str, path: Path) -> str:
    """The text without the value at `path`; unchanged if there is none."""
    container = find(text, path[:-1])
    member = container.member(path[-1]) if container else None
    if container is None or member is None:
        return text
    start, end = _cut_span(text, container, member)
    number = container.members.index(member)
    text = text[:start] + text[end:]
    if member.comma is None and number > 0:
        comma = container.members[number - 1].comma
        assert comma is not None and comma < start  # a value that another follows has its comma
        text = text[:comma] + text[comma + 1 :]
    return text


def find(text: str, path: Path) -> JsonNode | None:
    node = parse(text) if text.strip() else None
    for part in path:
        member = node.member(part) if node else None
        node = member.node if member else None
    return node


def hollows(text: str, path: Path) -> list[tuple[Path, str | None]]:
    """The containers above `path` that are missing (None) or empty (their text), the innermost first."""
    found: list[tuple[Path, str | None]] = []
    for depth in range(len(path)):
        node = find(text, path[:depth])
        if node is None:
            found.append((path[:depth], None))
        elif node.kind != "scalar" and not node.members:
            found.append((path[:depth], text[node.start + 1 : node.end - 1]))
    return found[::-1]


def refill(text: str, path: Path, inner: str | None) -> str:
    """An empty container as it was before something was put into it; gone if it was not there."""
    node = find(text, path)
    if node is None or node.kind == "scalar" or node.members:
        return text
    now = text[node.start + 1 : node.end - 1]
    if inner is None:
        return drop(text, path) if path and not now.strip() else text
    return text[: node.start + 1] + inner + text[node.end - 1 :] if now.split() == inner.split() else text


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is not true there."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _nested(path: Sequence[Part], value: Any) -> Any:
    for part in reversed(path):
        value = {part: value} if isinstance(part, str) else [value]
    return value


def _insert(text: str, container: JsonNode, path: Path, value: Any) -> str:
    key = path[-1]
    if (container.kind == "object") != isinstance(key, str) or container.kind == "scalar":
        where = ".".join(map(str, path[:-1])) or "the document"
        raise Unreadable(f"{where} is not {'an object' if isinstance(key, str) else 'a list'}")
    if container.members:
        return _insert_last(text, container, key, value)
    return _insert_only(text, container, key, value)


def _insert_last(text: str, container: JsonNode, key: Part, value: Any) -> str:
    last = container.members[-1]
    anchor = last.node.end if last.comma is None else last.comma + 1
    behind = _COMMENTS_ON_LINE.match(text, anchor)
    assert behind is not None  # it matches nothing, too
    place = behind.end()
    inline = "\n" not in text[container.start + 1 : container.members[0].start]
    indent = "" if inline else _line_indent(text, container.members[0].start)
    lead = " " if inline and not behind["line"] else _newline(text) + indent
    new = lead + _member(text, key, value, indent, inline) + ("" if last.comma is None else ",")
    comma = "," if last.comma is None else ""
    return text[:anchor] + comma + text[anchor:place] + new + text[place:]


def _insert_only(text: str, container: JsonNode, key: Part, value: Any) -> str:
    place = max((token.end for token in _comments(text, container)), default=container.start + 1)
    inline = "\n" not in text.strip() and container.start > 0 and text.strip() != "{}"
    outer = _line_indent(text, container.start)
    indent = "" if inline else outer + _unit(text)
    new = _member(text, key, value, indent, inline)
    if inline:
        return text[:place] + new + text[place:]
    closing = "" if "\n" in text[place : container.end] else _newline(text) + outer
    return text[:place] + _newline(text) + indent + new + closing + text[place:]


def _comments(text: str, container: JsonNode) -> list[Token]:
    inner = text[: container.end - 1]
    return [token for token in tokens(inner, container.start + 1) if token.kind in ("line", "block")]


def _cut_span(text: str, container: JsonNode, member: Member) -> tuple[int, int]:
    """From the white space before a member to its end, with the comma behind it."""
    end = member.node.end if member.comma is None else member.comma + 1
    *_, before, last = [None, *tokens(text[: member.start], container.start)]
    if last is None or last.kind != "space":
        return member.start, end
    if before is not None and before.kind == "line" and text[end : end + 1] not in ("\n", "\r"):
        return member.start, end  # the rest of this line must not move behind a line comment
    return last.start, end


def _member(text: str, key: Part, value: Any, indent: str, inline: bool) -> str:
    shown = _render(text, value, indent, inline)
    return f"{json.dumps(key, ensure_ascii=False)}: {shown}" if isinstance(key, str) else shown


def _render(text: str, value: Any, indent: str, inline: bool) -> str:
    """JSON as people write it: one line for a list of plain values, the file's own indentation for the rest."""
    plain = not isinstance(value, dict | list) or not value
    if plain or inline or (isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)):
        return json.dumps(value, ensure_ascii=False)
    inner, newline = indent + _unit(text), _newline(text)
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    lines = [inner + _member(text, key, item, inner, False) for key, item in pairs]
    left, right = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return f"{left}{newline}{f',{newline}'.join(lines)}{newline}{indent}{right}"


def _unit(text: str) -> str:
    found = _FIRST_INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]
