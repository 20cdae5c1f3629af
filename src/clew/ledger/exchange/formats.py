"""A session as text that can be read back: cipher lines for agents, Markdown for people.

The lines keep everything but times and critiques. The Markdown keeps everything, in comments that no viewer shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from clew.canonical import canonical
from clew.errors import ClewError
from clew.ledger.cipher import read

_LINE = re.compile(r"\[(\d{1,18})/(\d{1,18})\]((?: \[[A-Z]:[^\]]*\])*): (.*)")
_FLAG = re.compile(r" \[([A-Z]):([^\]]*)\]")
_ESCAPE = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_UNESCAPE = re.compile(r"\\([\\nr])")


def render_cipher(exported: dict[str, Any], header: bool = True) -> str:
    session = exported["session"]
    lines = []
    if header:
        tags = ",".join(tag.replace("%", "%25").replace(",", "%2C") for tag in session["tags"])
        lines += [f"# {session['title']}", f"I:{session['id']}", f"T:{tags} N:{session['thoughtCount']}"]
    lines += [_line(session["id"], node) for node in exported["nodes"]]
    return "\n".join(lines) + "\n"


def _line(session: str, node: dict[str, Any]) -> str:
    data = node["data"]
    origin = _short(session, node["branchOrigin"])
    flags = []
    if node["branchId"]:
        flags.append(f"B:{node['branchId']}<{origin or ''}")
    elif origin:
        flags.append(f"F:{origin}")
    if data.get("isRevision"):
        flags.append(f"R:{_short(session, node['revisesNode']) or ''}")
    if data.get("type") and data["type"] != read(data["thought"]).kind:
        flags.append(f"T:{data['type']}")
    if not data["nextThoughtNeeded"]:
        flags.append("E:")
    marked = "".join(f" [{flag}]" for flag in flags)
    text = data["thought"].translate(_ESCAPE)
    return f"[{data['thoughtNumber']}/{data['totalThoughts']}]{marked}: {text}"


def _short(session: str, node_id: str | None) -> str | None:
    """`<session>:alt:4` as `alt:S4`."""
    if node_id is None:
        return None
    chain, _, number = node_id.removeprefix(f"{session}:").rpartition(":")
    return f"{chain}:S{number}" if chain else f"S{number}"


def _long(session: str, short: str) -> str | None:
    chain, _, number = short.rpartition(":")
    return f"{session}:{chain + ':' if chain else ''}{number.removeprefix('S')}" if number else None


def parse_cipher(text: str) -> dict[str, Any]:
    """The export that was rendered; a session without an id gets a new one."""
    lines = text.split("\n")
    session: dict[str, Any] = {"title": "", "tags": []}
    while lines and not _LINE.fullmatch(lines[0]):
        _read_header(session, lines.pop(0))
    key = session.get("id", "")
    nodes = [_node(key, line) for line in lines if line.strip()]
    if not nodes and not key:
        raise _unreadable_line(text[:60])
    return {"version": "1.0", "session": session, "nodes": nodes}


def _read_header(session: dict[str, Any], line: str) -> None:
    if line.startswith("# "):
        session["title"] = line[2:]
    elif line.startswith("I:"):
        session["id"] = line[2:].strip()
    elif line.startswith("T:"):
        tags, _, _ = line[2:].rpartition(" N:")
        session["tags"] = [tag.replace("%2C", ",").replace("%25", "%") for tag in tags.split(",") if tag]


def _node(session: str, line: str) -> dict[str, Any]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise _unreadable_line(line)
    number, total, marked, body = found.groups()
    flags = dict(_FLAG.findall(marked))
    chain, _, origin = flags.get("B", "").partition("<")
    origin = origin or flags.get("F", "")
    signs = {"\\": "\\", "n": "\n", "r": "\r"}
    data = {
        "thought": _UNESCAPE.sub(lambda match: signs[match.group(1)], body),
        "thoughtNumber": int(number),
        "totalThoughts": int(total),
        "nextThoughtNeeded": "E" not in flags,
        **({"isRevision": True} if "R" in flags else {}),
        **({"type": flags["T"]} if "T" in flags else {}),
        **({"branchId": chain} if chain else {}),
    }
    return {
        "id": f"{session}:{chain + ':' if chain else ''}{number}",
        "data": data,
        "prev": None,
        "revisesNode": _long(session, flags["R"]) if flags.get("R") else None,
        "branchOrigin": _long(session, origin) if origin else None,
        "branchId": chain or None,
    }


def _unreadable_line(line: str) -> ClewError:
    return ClewError(
        "INVALID_INPUT",
        f"content: {line[:80]!r} is not a line of a cipher export",
        "Lines look like `[1/3]: S1|O|text`.",
        [{"kind": "value", "field": "content"}],
    )


_SESSION = "<!-- clew session "
_THOUGHT = "<!-- clew thought "
_CLOSE = " -->"
_END = "<!-- /thought -->"
_MARKS = re.compile(r"(\\*)(?=<!-- (?:clew (?:session|thought) |/thought -->))")


def render_markdown(exported: dict[str, Any], marks: bool = True) -> str:
    lines = _header(exported["session"], marks)
    for title, nodes in _threads(exported):
        lines += [f"## {title}", ""]
        for place, node in nodes:
            lines += _thought(node, place, marks)
    return "\n".join(lines).rstrip("\n") + "\n"


def _header(session: dict[str, Any], marks: bool) -> list[str]:
    if not marks:
        return []
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


def parse_markdown(text: str) -> dict[str, Any]:
    """The export that was rendered."""
    lines = text.split("\n")
    session = next((_load(line, _SESSION) for line in lines if line.startswith(_SESSION)), None)
    if session is None:
        raise _unreadable_mark("there is no session mark")
    nodes, at = [], 0
    while at < len(lines):
        if lines[at].startswith(_THOUGHT):
            mark = _load(lines[at], _THOUGHT)
            place, data = mark.pop("place", at), mark.get("data", {})
            if not isinstance(place, int) or not isinstance(data, dict):
                raise _unreadable_mark(f"the mark in line {at + 1} is damaged")
            try:
                end = lines.index(_END, at)
            except ValueError:
                raise _unreadable_mark(f"the thought in line {at + 1} has no end mark") from None
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
        raise _unreadable_mark(f"the mark {line[:60]!r} is damaged") from None
    if not isinstance(value, dict):
        raise _unreadable_mark(f"the mark {line[:60]!r} is damaged")
    return value


def _unreadable_mark(why: str) -> ClewError:
    return ClewError(
        "INVALID_INPUT",
        f"content: not a Markdown export with its marks: {why}",
        "Export with includeMetadata, or import the JSON export.",
        [{"kind": "value", "field": "content"}],
    )
