"""Reading the lines of a portal the way an agent does: the state in segments, the commands as calls."""

from __future__ import annotations

import re
from typing import Any

import orjson

from clew.registry.envelope import Answer
from tests.conftest import Caller

_PAIR = re.compile(r"([A-Za-z_]+)=")
_BARE = re.compile(r"[A-Za-z0-9_./:@+-]+")

STEP = {"title": "Read rows", "success_criteria": ["every row is read"], "tests": ["make test"]}


def segments(line: str) -> list[str]:
    return line.split(" | ")


def segment(line: str, head: str) -> str | None:
    """The segment that begins with a word such as `next` or `ref=`."""
    return next((part for part in segments(line) if part.startswith(head)), None)


def parse_command(line: str) -> tuple[str, dict[str, Any]]:
    """`name key=value ...` as a call. Values are bare words or JSON."""
    name, _, rest = line.partition(" ")
    arguments: dict[str, Any] = {}
    while rest:
        match = _PAIR.match(rest)
        assert match, f"no argument at {rest!r} in {line!r}"
        value, rest = _value(rest[match.end() :])
        arguments[match.group(1)] = value
    return name, arguments


def _value(text: str) -> tuple[Any, str]:
    bare = _BARE.match(text)
    if bare and (bare.end() == len(text) or text[bare.end()] == " "):
        word = bare.group()
        known = {"true": True, "false": False}
        return known.get(word, int(word) if word.isdigit() else word), text[bare.end() + 1 :]
    for end in range(len(text), 0, -1):
        if end == len(text) or text[end] == " ":
            try:
                return orjson.loads(text[:end]), text[end + 1 :]
            except orjson.JSONDecodeError:
                continue
    raise AssertionError(f"no value at {text!r}")


def paste(call: Caller, line: str) -> Answer:
    """Run a command line as it stands; a method call changes what is listed."""
    name, arguments = parse_command(line)
    if name == "tools/list":
        call.session.toolset = arguments["toolset"]
        return Answer(True, {})
    return call.clew.dispatcher.call(name, arguments, call.session)


def check_form(lines: list[str]) -> None:
    """What holds for all lines: no blanks, no envelope, no other prefixes than those of the protocol."""
    for line in lines:
        assert line.strip() == line and line
        assert not line.startswith(("{", "[", "WATERMARK:", "ANSWER:", "COMMAND:"))
