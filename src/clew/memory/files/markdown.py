"""Parses Markdown into blocks, tolerating what people write, and reports every line that could not be parsed.

A file is a preamble and a sequence of parts. A part is a block's text, from its header to its last
line, and the gap up to the next header: blank lines, rules, prose. Joining preamble, texts and gaps
restores the file byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clew.errors import ClewError
from clew.ids import ANY_BLOCK

Value = str | list[str]

HEADER = re.compile(rf"\[(?<![^\n\ufeff]\[)({ANY_BLOCK.pattern})\][ \t]*\r?$", re.MULTILINE)
"""A line with nothing but an id in brackets; some editors put a byte order mark before the first one.

The pattern starts with the bracket and only then looks behind: searching for a literal is ten times as fast.
"""
# A bracket with `(`, `:` or `[` after it is a Markdown link or its definition, not an intended header.
_LIKE_HEADER = re.compile(r"(?:^|(?<=\ufeff))\[([A-Za-z]{1,16}-[^\]\n]*)\](?![(:\[])[^\n]*$", re.MULTILINE)
_RULE = re.compile(r"^---", re.MULTILINE)
# `(?!//)`: a line that begins with a URL is not a field.
_FIELD = re.compile(r"([A-Z][A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*):(?!//)[ \t]*(.*)")
_ITEM = re.compile(r"([ \t]*)-(?:[ \t]+(.*))?$")
_ESCAPED_DASH = re.compile(r"\A(\s*)\\(\\*-(?:\s|$))")
_INDENT = re.compile(r"\t| {2,}")

Problem = tuple[int, str]
"""A line, counted from 0 at the start of the parsed text, and the problem with it."""


@dataclass(frozen=True, slots=True)
class MarkdownPart:
    id: str
    text: str
    gap: str


@dataclass(frozen=True, slots=True)
class ParsedFile:
    preamble: str
    parts: list[MarkdownPart]

    def join(self) -> str:
        return self.preamble + "".join(part.text + part.gap for part in self.parts)


@dataclass(slots=True)
class ParsedBlock:
    """The fields of a block, the lines of each, and what could not be parsed."""

    id: str
    fields: dict[str, Value] = field(default_factory=dict)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def parse_file(text: str) -> ParsedFile:
    """Split a file at its headers. The same id twice gives two parts; the caller decides between them."""
    starts = list(HEADER.finditer(text))
    if not starts:
        return ParsedFile(text, [])
    ends = [match.start() for match in starts[1:]] + [len(text)]
    parts = [_part(match, text[match.start() : end]) for match, end in zip(starts, ends, strict=True)]
    return ParsedFile(text[: starts[0].start()], parts)


def _part(header: re.Match[str], chunk: str) -> MarkdownPart:
    # A rule separates blocks, so it and everything after it belong to the gap.
    rule = _RULE.search(chunk)
    text = (chunk[: rule.start()] if rule else chunk).rstrip(" \t\r\n")
    return MarkdownPart(header.group(1), text, chunk[len(text) :])


def gap_problems(gap: str) -> list[Problem]:
    """Lines outside of blocks that begin one, or look as if they were meant to.

    A well-formed header is only in a gap if its id is taken: then its block stays in the file as plain text.
    """
    if "[" not in gap:
        return []
    found, line, counted = [], 0, 0
    for match in _LIKE_HEADER.finditer(gap):
        line += gap.count("\n", counted, match.start())
        counted = match.start()
        found.append((line, _header_problem(match.group())))
    return found


REPEATED = " is used twice; the other block counts"


def _header_problem(line: str) -> str:
    found = HEADER.match(line)
    return f"{found.group(1)}{REPEATED}" if found else _not_a_header(line)


def repeated_ids(problems: Iterable[Problem]) -> set[str]:
    """Ids of blocks that are plain text because another block has the id."""
    return {said.removesuffix(REPEATED) for _, said in problems if said.endswith(REPEATED)}


def _not_a_header(line: str) -> str:
    return f"{line.strip()[:60]!r} is not a block header: write the id alone in brackets, its prefix in capitals"


def parse_block(text: str) -> ParsedBlock:
    """The fields of one block's text."""
    lines = text.split("\n")
    header = HEADER.match(lines[0])
    reader = _Reader(ParsedBlock(header.group(1) if header else ""))
    for number in range(1, len(lines)):
        line = lines[number].rstrip(" \t\r")
        field = _FIELD.match(line)
        if field is not None:
            reader.open(number, *field.groups())
        else:
            reader.take(number, line)
    reader.close()
    return reader.block


class _Reader:
    """Processes a block line by line; the open field collects its continuation lines."""

    def __init__(self, block: ParsedBlock) -> None:
        self.block = block
        self.name: str | None = None
        self.scalar: list[str] = []
        self.items: list[list[str]] | None = None
        self.item_indent = 0
        self.blanks = 0
        self.start = self.end = 0

    def open(self, number: int, name: str, value: str) -> None:
        self.close()
        if name in self.block.fields:
            self.block.problems.append((number, f"field {name} appears twice; the last one counts"))
        self.name, self.start, self.end = name, number, number
        value = value.strip(" \t")
        self.scalar, self.items = ([value], None) if value else ([], [])
        self.item_indent, self.blanks = -1, 0

    def take(self, number: int, line: str) -> None:
        """Process a line that begins no field."""
        if not line:
            self.blanks += 1
            return
        if self.name is None or not self._belongs(line):
            self._unreadable(number, line)
        else:
            self.end = number
        self.blanks = 0

    def close(self) -> None:
        if self.name is None:
            return
        if self.items is None:
            self.block.fields[self.name] = self.scalar[0] if len(self.scalar) == 1 else "\n".join(self.scalar)
        else:
            self.block.fields[self.name] = [text for text in map(_item_text, self.items) if text]
        self.block.spans[self.name] = (self.start, self.end)

    def _belongs(self, line: str) -> bool:
        """Whether the line continues the open field: as an item, or as part of its last value."""
        item = _ITEM.match(line)
        indent = len(line) - len(line.lstrip(" \t"))
        # An item that is indented two or more deeper than its list is nested, and stays text of its parent item.
        if item and (self.items is None or self.item_indent < 0 or indent <= self.item_indent + 1):
            self._add_item(item)
            return True
        if not _INDENT.match(line):
            return False
        if self.items is None:
            self.scalar += [""] * self.blanks + [_unescaped(_outdented(line, 2))]
        elif self.items:
            self.items[-1] += [""] * self.blanks + [_outdented(line, self.item_indent + 2)]
        else:
            self.scalar, self.items = [line.strip()], None
        return True

    def _add_item(self, item: re.Match[str]) -> None:
        if self.items is None:
            self.items = [["\n".join(self.scalar)]]
        if self.item_indent < 0:
            self.item_indent = len(item.group(1))
        self.items.append([item.group(2) or ""])

    def _unreadable(self, number: int, line: str) -> None:
        if line.startswith("["):
            self.block.problems.append((number, _not_a_header(line)))
        else:
            self.block.problems.append((number, f"{line.strip()[:60]!r} is neither a field nor part of one"))


def _item_text(lines: list[str]) -> str:
    return "\n".join(lines).strip()


def _outdented(line: str, width: int) -> str:
    if line.startswith("\t"):
        return line[1:]
    lead = len(line) - len(line.lstrip(" "))
    return line[min(width, lead) :]


def _unescaped(line: str) -> str:
    """A text line that begins with a dash is escaped with a backslash."""
    return _ESCAPED_DASH.sub(r"\1\2", line) if "\\" in line else line


def one_line(value: Value | None) -> str:
    """A field as a single line."""
    if value is None:
        return ""
    return " ".join((value if isinstance(value, str) else ", ".join(value)).split())


def listed(value: Value | None) -> list[str]:
    """A field as a list: its items, or its comma-separated words, with or without brackets."""
    if value is None:
        return []
    parts = value if isinstance(value, list) else [value]
    words = [word.strip() for part in parts for word in part.strip().strip("[]").replace("\n", ",").split(",")]
    return list(dict.fromkeys(word for word in words if word))


GAP = "\n\n---\n\n"
_DASH = re.compile(r"\A(\s*)(\\*-(?:\s|$))")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    """Normalize external text for use as a value: no control characters, no outer blanks, plain line ends."""
    plain = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "\n".join(line.rstrip(" \t") for line in plain.split("\n")).strip()


def print_field(name: str, value: Value) -> str:
    """`Name: value`. Further lines are indented, so that nothing in a value is parsed as a header or a field."""
    if isinstance(value, str):
        first, *rest = value.split("\n")
        return "\n".join([f"{name}: {first}".rstrip(" "), *(_continued(line) for line in rest)])
    lines = [f"{name}:"]
    for item in value:
        first, *rest = item.split("\n")
        lines += [f"- {first}", *(f"  {line}" if line else "" for line in rest)]
    return "\n".join(lines)


def _continued(line: str) -> str:
    """A leading dash would make the line an item, so it is escaped with a backslash."""
    return "  " + _DASH.sub(r"\1\\\2", line) if line else ""


def print_block(id: str, fields: Mapping[str, Value | None]) -> str:
    """The text of a new block. Fields without a value are left out."""
    printed = [print_field(name, value) for name, value in fields.items() if value]
    return "\n".join([f"[{id}]", *printed])


def set_field(text: str, name: str, value: Value) -> str:
    """The block with one field replaced, or added at its end."""
    lines = text.split("\n")
    # The default is an empty span after the last line: a missing field is appended.
    start, end = parse_block(text).spans.get(name, (len(lines), len(lines) - 1))
    return "\n".join([*lines[:start], print_field(name, value), *lines[end + 1 :]])


def without_field(text: str, name: str) -> str:
    start, end = parse_block(text).spans[name]
    lines = text.split("\n")
    return "\n".join([*lines[:start], *lines[end + 1 :]])


def append_item(text: str, name: str, item: str) -> str:
    """The block with one more item in a list field; a single value becomes the first item."""
    value = parse_block(text).fields.get(name)
    if value is None:
        raise ClewError("CONFLICT", f"the block has no field {name}", f"Add {name} first, or name another list.")
    items = [*value] if isinstance(value, list) else [value]
    return set_field(text, name, [*items, item])
