"""A session as text that can be imported again: cipher lines for agents, Markdown for people.

Cipher lines keep everything except times and critiques. Markdown keeps everything, in comments that viewers hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from clew.canonical import canonical, without_none
from clew.clock import iso_millis
from clew.errors import ClewError
from clew.ledger.chains import Point
from clew.ledger.cipher import read
from clew.ledger.thought_rows import Thought, data_json, is_plain

_LINE = re.compile(r"\[(\d{1,18})/(\d{1,18})\]((?: \[[A-Z]:[^\]]*\])*): (.*)")
_FLAG = re.compile(r" \[([A-Z]):([^\]]*)\]")
# A thought may have several lines, but a cipher line must stay one.
_ESCAPE = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_UNESCAPE = re.compile(r"\\([\\nr])")


def render_cipher(session: dict[str, Any], thoughts: list[Thought], header: bool = True) -> str:
    lines = []
    if header:
        # Commas separate tags, so a comma inside of a tag is escaped.
        tags = ",".join(tag.replace("%", "%25").replace(",", "%2C") for tag in session["tags"])
        lines += [f"# {session['title']}", f"I:{session['id']}", f"T:{tags} N:{session['thoughtCount']}"]
    lines += [_line(thought) for thought in thoughts]
    return "\n".join(lines) + "\n"


def _line(thought: Thought) -> str:
    marked = "" if is_plain(thought) else "".join([f" [{flag}]" for flag in _flags(thought)])
    text = thought.text
    if "\\" in text or "\n" in text or "\r" in text:
        text = text.translate(_ESCAPE)
    return f"[{thought.point.number}/{thought.total}]{marked}: {text}"


def _flags(thought: Thought) -> Iterator[str]:
    """The flags of a line: branch, fork, revision, a kind that the text does not show, the end."""
    origin = thought.origin.short if thought.origin else ""
    if thought.point.chain:
        yield f"B:{thought.point.chain}<{origin}"
    elif origin:
        yield f"F:{origin}"
    if thought.is_revision:
        yield f"R:{thought.revises.short if thought.revises else ''}"
    if thought.kind and thought.kind != read(thought.text).kind:
        yield f"T:{thought.kind}"
    if not thought.next_needed:
        yield "E:"


def _long(session: str, short: str) -> str | None:
    chain, _, number = short.rpartition(":")
    return f"{session}:{chain + ':' if chain else ''}{number.removeprefix('S')}" if number else None


def parse_cipher(text: str) -> dict[str, Any]:
    """Convert cipher lines to a JSON export. Without an id the import gives the session a new one."""
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
        **without_none(branchId=chain or None),
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
# A text may contain our own marks. A backslash before them keeps them from being parsed as marks; existing backslashes
# are matched too, so that parsing removes exactly the one that was added.
_MARKS = re.compile(r"(\\*)(?=<!-- (?:clew (?:session|thought) |/thought -->))")


def render_markdown(session: dict[str, Any], thoughts: list[Thought], marks: bool = True) -> str:
    parts = _header(session, marks)
    shown = 0
    for title, placed in _threads(thoughts):
        parts.append(f"## {title}\n")
        before: Point | None = None
        for place, thought in placed:
            if marks:
                parts.append(_marked(thought, place if place != shown else None, before))
            else:
                parts.append(f"{_heading(thought)}\n\n{thought.text}\n")
            shown, before = shown + 1, thought.point
    return "\n".join(parts).rstrip("\n") + "\n"


def _header(session: dict[str, Any], marks: bool) -> list[str]:
    if not marks:
        return []
    head = [f"{_SESSION}{_json(session)}{_CLOSE}", f"# {session['title']}", ""]
    head += [f"**Tags:** {', '.join(session['tags'])}"] if session.get("tags") else []
    head += [f"**Created:** {session['createdAt']}", f"**Thoughts:** {session['thoughtCount']}", "", "---", ""]
    return head


def _threads(thoughts: list[Thought]) -> Iterator[tuple[str, list[tuple[int, Thought]]]]:
    """The main line, then each branch, as thoughts with their position in the order of writing."""
    chains: dict[str, list[tuple[int, Thought]]] = {"": []}
    for place, thought in enumerate(thoughts):
        chains.setdefault(thought.point.chain, []).append((place, thought))
    for chain, placed in chains.items():
        origin = placed[0][1].origin if placed else None
        yield f"Branch {chain} (from thought {origin.number if origin else None})" if chain else "Main Thread", placed


def _heading(thought: Thought) -> str:
    revises = f" [R{thought.revises.number}]" if thought.revises else ""
    return f"### Thought {thought.point.number}/{thought.total}{revises}"


def _escaped(text: str) -> str:
    """Escape a line that looks like one of our marks with a backslash."""
    return _MARKED_LINE.sub(lambda found: "\\" + found.group(), text) if "<!-- " in text else text


def _marked(thought: Thought, place: int | None, before: Point | None) -> str:
    """A thought with heading and marks."""
    if place is not None or thought.prev not in (None, before) or not is_plain(thought):
        return f"{_mark(thought, place, before)}\n{_heading(thought)}\n\n{_escaped(thought.text)}\n{_END}\n"
    # The same in a third of the time; nearly all thoughts of a long session are plain.
    number, total, time = thought.point.number, thought.total, iso_millis(thought.ts_ms)
    return (
        f'{_THOUGHT}{{"data":{{"thoughtNumber":{number},"timestamp":"{time}","totalThoughts":{total}}}}}{_CLOSE}\n'
        f"### Thought {number}/{total}\n\n{_escaped(thought.text)}\n{_END}\n"
    )


def _mark(thought: Thought, place: int | None, before: Point | None) -> str:
    """Everything that heading and text do not show. Left out, because they would double the size: ids, which are
    derived from chain and number, and `prev` if it is simply the thought before in the chain."""
    prev, data = thought.prev, data_json(thought)
    del data["thought"]
    if thought.next_needed:
        del data["nextThoughtNeeded"]
    mark: dict[str, Any] = {"data": data}
    if place is not None:
        mark["place"] = place
    if prev is not None and prev != before:
        mark["prev"] = thought.id_of(prev)
    if thought.revises is not None:
        mark["revisesNode"] = thought.id_of(thought.revises)
    if thought.origin is not None:
        mark["branchOrigin"] = thought.id_of(thought.origin)
    return f"{_THOUGHT}{_json(mark)}{_CLOSE}"


_MARKED_LINE = re.compile(rf"^{_MARKS.pattern}", re.MULTILINE)
_ESCAPED_LINE = re.compile(rf"^\\(?={_MARKS.pattern})", re.MULTILINE)


def parse_markdown(text: str) -> dict[str, Any]:
    """Convert Markdown with marks to a JSON export."""
    lines = text.split("\n")
    session = next((_load(line, _SESSION) for line in lines if line.startswith(_SESSION)), None)
    if session is None:
        raise _unreadable_mark("there is no session mark")
    nodes: list[tuple[int, dict[str, Any]]] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith(_THOUGHT):
            mark = _load(lines[at], _THOUGHT)
            place, data = mark.pop("place", len(nodes)), mark.get("data", {})
            if not isinstance(place, int) or not isinstance(data, dict):
                raise _unreadable_mark(f"the mark in line {at + 1} is damaged")
            try:
                end = lines.index(_END, at)
            except ValueError:
                raise _unreadable_mark(f"the thought in line {at + 1} has no end mark") from None
            # Three lines come before the text: the mark, the heading and an empty line.
            body = _ESCAPED_LINE.sub("", "\n".join(lines[at + 3 : end]))
            nodes.append((place, {**mark, "data": {**data, "thought": body}}))
            at = end
        at += 1
    ordered = [node for _, node in sorted(nodes, key=lambda item: item[0])]
    return {"version": "1.0", "session": session, "nodes": ordered}


def _json(value: Any) -> str:
    """JSON on one line. `>` is escaped, because `-->` in a text would end the HTML comment early."""
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
