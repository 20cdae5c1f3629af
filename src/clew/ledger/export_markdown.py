"""A session as Markdown that people read and an import understands: the marks are comments, which no viewer shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from clew.canonical import canonical
from clew.errors import ClewError

_SESSION = "<!-- clew session "
_THOUGHT = "<!-- clew thought "
_CLOSE = " -->"
_END = "<!-- /thought -->"
_MARKS = re.compile(r"(\\*)(?=<!-- (?:clew (?:session|thought) |/thought -->))")


def render(exported: dict[str, Any], marks: bool = True) -> str:
    lines = _header(exported["session"], marks)
    for title, nodes in _threads(exported):
        lines += [f"## {title}", ""]
        for place, node in nodes:
            lines += _thought(node, place, marks)
    return "\n".join(lines).rstrip("\n") + "\n"


def _header(session: dict[str, Any], marks: bool) -> list[str]:
    if not marks:
        return [f"# {session['title']}", ""]
    head = [f"{_SESSION}{_json(session)}{_CLOSE}", f"# {session['title']}", ""]
    head += [f"**Tags:** {', '.join(session['tags'])}"] if session.get("tags") else []
    head += [f"**Created:** {session['createdAt']}", f"**Thoughts:** {session['thoughtCount']}", "", "---", ""]
    return head


def _threads(exported: dict[str, Any]) -> Iterator[tuple[str, list[tuple[int, dict[str, Any]]]]]:
    """The main line, then each branch; a place tells in which order all were written."""
    chains: dict[str, list[tuple[int, dict[str, Any]]]] = {"": []}
    for place, node in enumerate(exported["nodes"]):
        chains.setdefault(node["branchId"] or "", []).append((place, node))
    for chain, nodes in chains.items():
        origin = nodes[0][1]["data"].get("branchFromThought") if nodes else None
        yield f"Branch {chain} (from thought {origin})" if chain else "Main Thread", nodes


def _thought(node: dict[str, Any], place: int, marks: bool) -> list[str]:
    data = node["data"]
    revises = f" [R{data['revisesThought']}]" if data.get("revisesThought") else ""
    heading = [f"### Thought {data['thoughtNumber']}/{data['totalThoughts']}{revises}", ""]
    if not marks:
        return [*heading, data["thought"], ""]
    kept = {name: value for name, value in data.items() if name != "thought"}
    mark = {"place": place, **{name: node[name] for name in ("id", "prev", "revisesNode", "branchOrigin", "branchId")}}
    text = _MARKED_LINE.sub(lambda found: "\\" + found.group(), data["thought"])
    return [f"{_THOUGHT}{_json({**mark, 'data': kept})}{_CLOSE}", *heading, text, _END, ""]


_MARKED_LINE = re.compile(rf"^{_MARKS.pattern}", re.MULTILINE)
_ESCAPED_LINE = re.compile(rf"^\\(?={_MARKS.pattern})", re.MULTILINE)


def parse(text: str) -> dict[str, Any]:
    """The export that was rendered."""
    lines = text.split("\n")
    session = next((_load(line, _SESSION) for line in lines if line.startswith(_SESSION)), None)
    if session is None:
        raise _unreadable("there is no session mark")
    nodes, at = [], 0
    while at < len(lines):
        if lines[at].startswith(_THOUGHT):
            mark = _load(lines[at], _THOUGHT)
            place, data = mark.pop("place", at), mark.get("data", {})
            if not isinstance(place, int) or not isinstance(data, dict):
                raise _unreadable(f"the mark in line {at + 1} is damaged")
            try:
                end = lines.index(_END, at)
            except ValueError:
                raise _unreadable(f"the thought in line {at + 1} has no end mark") from None
            # The mark, the heading and one empty line stand before the text.
            body = _ESCAPED_LINE.sub("", "\n".join(lines[at + 3 : end]))
            nodes.append((place, {**mark, "data": {**data, "thought": body}}))
            at = end
        at += 1
    ordered = [node for _, node in sorted(nodes, key=lambda item: item[0])]
    return {"version": "1.0", "session": session, "nodes": ordered}


def _json(value: Any) -> str:
    """On one line; a comment must not end early, and a > needs no escape in JSON to be written as one."""
    return canonical(value).replace(">", "\\u003e")


def _load(line: str, start: str) -> dict[str, Any]:
    try:
        value = orjson.loads(line.removeprefix(start).removesuffix(_CLOSE))
    except orjson.JSONDecodeError:
        raise _unreadable(f"the mark {line[:60]!r} is damaged") from None
    if not isinstance(value, dict):
        raise _unreadable(f"the mark {line[:60]!r} is damaged")
    return value


def _unreadable(why: str) -> ClewError:
    return ClewError(
        "INVALID_INPUT",
        f"content: not a Markdown export with its marks: {why}",
        "Export with includeMetadata, or import the JSON export.",
        [{"kind": "value", "field": "content"}],
    )
