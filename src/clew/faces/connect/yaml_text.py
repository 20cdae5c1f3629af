"""Changes to YAML as text: an entry is inserted as a separate block, and read back before it counts.

PyYAML gives the position of every node; it is imported here only, because only one client uses YAML. What its marks do
not show (aliases, several documents, `|+` at the end) shows when the result is read again, and is refused.
"""

from __future__ import annotations

import json
from typing import Any

from clew.faces.connect.jsonc import Path, Unreadable


def read(text: str) -> Any:
    import yaml

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise Unreadable(" ".join(str(problem).split())) from problem
    return {} if found is None else found


def put(text: str, path: Path, value: Any) -> str:
    """The text with `value` at `path`: a table of the document, a name in it, and perhaps a key of that entry."""
    table, name, *key = map(str, path)
    if key:
        value = {**read(text)[table][name], key[0]: value}
    root = _compose(text)
    if root is None:
        return text + _ended(text) + _block(table, {name: value}, 0, _newline(text)) + _newline(text)
    found = _pair(root, table)
    if found is None:
        return _insert_after(text, root, _block(table, {name: value}, _column(root), _newline(text)))
    own = _pair(found[1], name)
    if own is not None:
        return _replace(text, found[1], own, name, value)
    return _insert(text, found, name, value)


def drop(text: str, path: Path) -> str:
    table, name, *key = map(str, path)
    if key:
        kept = {other: value for other, value in read(text)[table][name].items() if other != key[0]}
        return put(text, (table, name), kept)
    root = _compose(text)
    found = _pair(root, table) if root is not None else None
    own = _pair(found[1], name) if found else None
    if found is None or own is None:
        return text
    start, end = own[0].start_mark.index, _end(text, own[1])
    if found[1].flow_style:
        return _cut_flow(text, found[1], own, start, end)
    line = text.rfind("\n", 0, start)
    end = _line_end(text, end)
    if line < 0:
        return text[_next_line(text, end) :]
    if text[line - 1 : line] == "\r":
        line -= 1
    left = text[:line] + text[end:]
    colon = text.index(":", found[0].end_mark.index) + 1
    return left if len(found[1].value) > 1 else f"{left[:colon]} {{}}{left[colon:]}"


def hollows(text: str, path: Path) -> list[tuple[Path, str | None]]:
    """The table, when it is missing (None) or empty (how its emptiness is written)."""
    root = _compose(text)
    found = _pair(root, str(path[0])) if root is not None else None
    if found is None:
        return [(path[:1], None)]
    if not _is_empty(found[1]):
        return []
    return [(path[:1], text[found[0].end_mark.index : max(found[1].end_mark.index, found[0].end_mark.index)])]


def refill(text: str, path: Path, inner: str | None) -> str:
    root = _compose(text)
    found = _pair(root, str(path[0])) if root is not None else None
    if found is None or not _is_empty(found[1]):
        return text
    if inner is not None:
        return text[: found[0].end_mark.index] + inner + text[found[1].end_mark.index :]
    start = text.rfind("\n", 0, found[0].start_mark.index)
    end = _line_end(text, found[1].end_mark.index)
    if start < 0 or len(root.value) == 1:
        return text[: start + 1] + text[_next_line(text, end) :]
    return text[: start - text[:start].endswith("\r")] + text[end:]


def _compose(text: str) -> Any:
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as problem:
        raise Unreadable(" ".join(str(problem).split())) from problem
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise Unreadable("the document is not a mapping")
    return root


def _pair(mapping: Any, name: str) -> tuple[Any, Any] | None:
    pairs = mapping.value if isinstance(mapping.value, list) else []
    return next((pair for pair in pairs if isinstance(pair, tuple) and pair[0].value == name), None)


def _is_empty(node: Any) -> bool:
    return not node.value or str(node.tag).endswith(":null")


def _insert(text: str, found: tuple[Any, Any], name: str, value: Any) -> str:
    key, table = found
    if _is_empty(table):
        return _insert_first(text, key, table, _block(name, value, key.start_mark.column + 2, _newline(text)))
    if not isinstance(table.value, list) or not isinstance(table.value[0], tuple):
        raise Unreadable(f"{key.value} is not a mapping")
    if table.flow_style:
        last = table.value[-1][1].end_mark.index
        return f"{text[:last]}, {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}{text[last:]}"
    return _insert_after(text, table, _block(name, value, _column(table), _newline(text)))


def _insert_first(text: str, key: Any, table: Any, block: str) -> str:
    """Under a table that says null, in whatever way: `{}` and `~` give way to the block."""
    colon = text.index(":", key.end_mark.index) + 1
    text = text[:colon] + text[max(table.end_mark.index, colon) :]
    end = _line_end(text, colon)
    return text[:end] + _newline(text) + block + text[end:]


def _insert_after(text: str, mapping: Any, block: str) -> str:
    end = _line_end(text, _end(text, mapping))
    return text[:end] + _newline(text) + block + text[end:]


def _replace(text: str, table: Any, own: tuple[Any, Any], name: str, value: Any) -> str:
    start, end = own[0].start_mark.index, _end(text, own[1])
    if table.flow_style:
        return f"{text[:start]}{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}{text[end:]}"
    block = _block(name, value, own[0].start_mark.column, _newline(text))
    return text[:start] + block.lstrip(" ") + text[end:]


def _cut_flow(text: str, table: Any, own: tuple[Any, Any], start: int, end: int) -> str:
    number = [pair[0] for pair in table.value].index(own[0])
    if number:  # with the comma before it
        return text[: table.value[number - 1][1].end_mark.index] + text[end:]
    after = table.value[1][0].start_mark.index if len(table.value) > 1 else end
    return text[:start] + text[after:]


def _block(name: str, value: Any, column: int, newline: str) -> str:
    """A key with its values in block style; lists and texts are written as JSON, which YAML reads."""
    pad = " " * column
    if not isinstance(value, dict) or not value:
        return f"{pad}{_name(name)}: {json.dumps(value, ensure_ascii=False)}"
    lines = [f"{pad}{_name(name)}:", *(_block(key, item, column + 2, newline) for key, item in value.items())]
    return newline.join(lines)


def _name(name: str) -> str:
    return name if name.replace("_", "a").replace("-", "a").isalnum() and not name[0].isdigit() else json.dumps(name)


def _column(mapping: Any) -> int:
    return int(mapping.value[0][0].start_mark.column)


def _end(text: str, node: Any) -> int:
    """The position of the last character of a node; a block's own mark is where the next one begins."""
    if isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    end = int(node.end_mark.index)
    return len(text[:end].rstrip()) if text[:end].endswith("\n") else end


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    if found < 0:
        return len(text)
    return found - text[:found].endswith("\r")


def _next_line(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1


def _ended(text: str) -> str:
    return "" if not text or text.endswith("\n") else _newline(text)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
