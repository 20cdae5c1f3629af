"""A session as lines, one for each thought: short for agents, complete but for times and critiques.

[4/9] [B:alt<S2] [R:S3]: S4|R|^S3|the cache is cold
"""

from __future__ import annotations

import re
from typing import Any

from clew.errors import ClewError
from clew.ledger.cipher import read

_LINE = re.compile(r"\[(\d{1,18})/(\d{1,18})\]((?: \[[A-Z]:[^\]]*\])*): (.*)")
_FLAG = re.compile(r" \[([A-Z]):([^\]]*)\]")
_ESCAPE = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_UNESCAPE = re.compile(r"\\([\\nr])")


def render(exported: dict[str, Any], header: bool = True) -> str:
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
    text = "".join(_ESCAPE.get(sign, sign) for sign in data["thought"])
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


def parse(text: str) -> dict[str, Any]:
    """The export that was rendered; a session without an id gets a new one."""
    lines = text.split("\n")
    session: dict[str, Any] = {"title": "", "tags": []}
    while lines and not _LINE.fullmatch(lines[0]):
        _read_header(session, lines.pop(0))
    key = session.get("id", "")
    nodes = [_node(key, line) for line in lines if line.strip()]
    if not nodes and not key:
        raise _unreadable(text[:60])
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
        raise _unreadable(line)
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


def _unreadable(line: str) -> ClewError:
    return ClewError(
        "INVALID_INPUT",
        f"content: {line[:80]!r} is not a line of a cipher export",
        "Lines look like `[1/3]: S1|O|text`.",
        [{"kind": "value", "field": "content"}],
    )
