"""JSON with comments as a tree with the position of every node in the text.

Line and block comments and trailing commas are understood unless the client refuses them. What its parser would
refuse is refused here too, with the line: a file that cannot be understood must not be edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

DEEPEST = 200
"""More levels than any configuration has; the bound keeps a hostile file from exhausting the stack."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<line>//[^\r\n]*)
      | (?P<block>/\*.*?\*/)
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.]))
      | (?P<word>(?:true|false|null)(?![0-9A-Za-z_]))
      | (?P<mark>[{}\[\]:,])""",
    re.VERBOSE | re.DOTALL,
)
_TRIVIA = ("space", "line", "block")
Part = str | int
Path = tuple[Part, ...]


class Unreadable(ValueError):
    """The text is not what its format asks for, or cannot be changed the way that was asked."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(slots=True)
class Member:
    """A value in its container: `start` is where its key begins, or the value itself in an array."""

    key: Part
    start: int
    node: JsonNode
    comma: int | None = None
    """The position of the comma after it, if there is one."""


@dataclass(slots=True)
class JsonNode:
    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    scalar: Any = None
    members: list[Member] = field(default_factory=list)

    def value(self) -> Any:
        if self.kind == "object":
            return {str(member.key): member.node.value() for member in self.members}
        return [member.node.value() for member in self.members] if self.kind == "array" else self.scalar

    def member(self, key: Part) -> Member | None:
        """The last one of this key, as every parser takes it."""
        if (self.kind == "object") != isinstance(key, str):
            return None
        return next((member for member in reversed(self.members) if member.key == key), None)


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    place = start
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise Unreadable(f"line {line_of(text, place)}: {text[place : place + 20]!r} is not JSON")
        yield Token(str(found.lastgroup), found.group(), place)
        place = found.end()


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def parse(text: str, comments: bool = True, trailing_commas: bool = True) -> JsonNode:
    """The tree of a whole document."""
    return _Parser(text, comments, trailing_commas).document()


class _Parser:
    def __init__(self, text: str, comments: bool, trailing_commas: bool) -> None:
        self.text, self.comments, self.trailing_commas = text, comments, trailing_commas
        self.rest = (token for token in tokens(text) if self._counts(token))
        self.token = next(self.rest, None)

    def document(self) -> JsonNode:
        node = self._value(0)
        if self.token is not None:
            raise self._refusal("something follows the end of the document")
        return node

    def _counts(self, token: Token) -> bool:
        if not self.comments and token.kind in ("line", "block"):
            raise Unreadable(f"line {line_of(self.text, token.start)}: this client's file may hold no comments")
        return token.kind not in _TRIVIA

    def _refusal(self, what: str) -> Unreadable:
        place = self.token.start if self.token else len(self.text)
        return Unreadable(f"line {line_of(self.text, place)}: {what}")

    def _take(self) -> Token:
        taken = self.token
        if taken is None:
            raise self._refusal("the document ends too early")
        self.token = next(self.rest, None)
        return taken

    def _at(self, mark: str) -> bool:
        return self.token is not None and self.token.kind == "mark" and self.token.text == mark

    def _value(self, depth: int) -> JsonNode:
        if depth > DEEPEST:
            raise self._refusal(f"more than {DEEPEST} levels")
        if self._at("{") or self._at("["):
            return self._container(depth)
        if self.token is None or self.token.kind == "mark":
            raise self._refusal("a value is missing")
        token = self._take()
        return JsonNode("scalar", token.start, token.end, _scalar(token, self.text))

    def _container(self, depth: int) -> JsonNode:
        opening = self._take()
        named = opening.text == "{"
        closing = "}" if named else "]"
        node = JsonNode("object" if named else "array", opening.start, opening.end)
        while not self._at(closing):
            # Checked before the next member, so that the refusal names the line where the comma is missing.
            if node.members and node.members[-1].comma is None:
                raise self._refusal(f"a comma or {closing} is missing")
            node.members.append(self._named(depth) if named else self._item(depth, len(node.members)))
            if self._at(","):
                node.members[-1].comma = self._take().start
        if not self.trailing_commas and node.members and node.members[-1].comma is not None:
            raise self._refusal(f"a comma before {closing}, which this client refuses")
        node.end = self._take().end
        return node

    def _named(self, depth: int) -> Member:
        if self.token is None or self.token.kind != "string":
            raise self._refusal("a key in quotes is missing")
        key = self._take()
        if not self._at(":"):
            raise self._refusal("a colon is missing")
        self._take()
        return Member(_scalar(key, self.text), key.start, self._value(depth + 1))

    def _item(self, depth: int, number: int) -> Member:
        node = self._value(depth + 1)
        return Member(number, node.start, node)


def _scalar(token: Token, text: str) -> Any:
    try:
        return json.loads(token.text)
    except ValueError as problem:
        raise Unreadable(f"line {line_of(text, token.start)}: {token.text[:40]} is not JSON") from problem
