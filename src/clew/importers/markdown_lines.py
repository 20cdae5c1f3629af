"""Markdown as importers need it: front matter, headings, list items with their line numbers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from clew.importers.port import Finding, Malformed, Provenance, Roots, read_text
from clew.private_parts import PRIVATE

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(.+)$")
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_OWN_BLOCK = re.compile(r"<!-- clew:begin.*?<!-- clew:end[^>]*-->", re.DOTALL)
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")


@dataclass(frozen=True)
class MarkdownLine:
    number: int
    text: str
    headings: tuple[str, ...]
    is_item: bool
    indent: int = 0
    box: str = ""
    """Of an item with a check box: a blank while it is open."""


@dataclass(frozen=True)
class FrontMatter:
    fields: dict[str, object]
    body: str
    first_line: int


def split_front_matter(text: str) -> FrontMatter:
    """YAML between two lines of `---` at the beginning; without it, or where it is broken, everything is body."""
    lines = text.split("\n")
    if lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return FrontMatter({}, text, 1)
    end = next(number for number, line in enumerate(lines[1:], 1) if line.strip() == "---")
    try:
        fields = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError:
        fields = None
    known = {str(key): value for key, value in fields.items()} if isinstance(fields, dict) else {}
    return FrontMatter(known, "\n".join(lines[end + 1 :]), end + 2)


@dataclass(frozen=True)
class MarkdownPage:
    """A file without what is hidden, its front matter apart."""

    source: str
    roots: Roots
    path: Path
    front: FrontMatter

    @property
    def shown(self) -> str:
        return self.roots.shown(self.path)

    def field(self, name: str) -> str:
        return str(self.front.fields.get(name) or "")

    def lines(self) -> Iterator[MarkdownLine]:
        return lines_of(self.front.body, self.front.first_line)

    def sections(self) -> dict[str, tuple[int, str]]:
        return sections_of(self.front.body, self.front.first_line)

    def origin(self, line: int, id: str = "", day: str = "") -> Provenance:
        return Provenance(self.source, self.shown, line, id, day)

    def malformed(self, problem: str, line: int = 0) -> Malformed:
        return Malformed(self.shown, line or self.front.first_line, problem)


class MarkdownSource(ABC):
    """A source whose files are Markdown: it says what a page holds."""

    name: str

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        text = read_text(roots, path)
        if isinstance(text, Malformed):
            yield text
        else:
            front = split_front_matter(without_hidden(text))
            yield from self.findings(MarkdownPage(self.name, roots, path, front))

    @abstractmethod
    def findings(self, page: MarkdownPage) -> Iterator[Finding]: ...


def without_hidden(text: str) -> str:
    """The text without private parts, comments and what Clew itself wrote; line numbers stay."""
    for pattern in (PRIVATE, _OWN_BLOCK, _COMMENT):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    return text


def lines_of(body: str, first_line: int = 1) -> Iterator[MarkdownLine]:
    """List items and lines of prose under their headings; continued items in one piece, code left out."""
    headings: list[str] = []
    item: MarkdownLine | None = None
    fenced = False
    for number, raw in enumerate(body.split("\n"), first_line):
        if _FENCE.match(raw):
            fenced = not fenced
            continue
        if fenced:
            continue
        heading, found = _HEADING.match(raw), _ITEM.match(raw)
        if item is not None and not heading and not found and raw.startswith((" ", "\t")) and raw.strip():
            item = replace(item, text=f"{item.text} {raw.strip()}")
            continue
        if item is not None:
            yield item
            item = None
        if heading:
            headings = [*headings[: len(heading[1]) - 1], plain(heading[2])]
        elif found:
            indent = len(found[1].expandtabs(4))
            item = MarkdownLine(number, found[3].strip(), tuple(headings), True, indent, found[2] or "")
        elif raw.strip():
            yield MarkdownLine(number, raw.strip(), tuple(headings), False)
    if item is not None:
        yield item


def plain(text: str) -> str:
    """Without the marks of emphasis, which mean nothing outside of Markdown."""
    return " ".join(_EMPHASIS.sub(r"\2", text).split())


def sections_of(body: str, first_line: int = 1) -> dict[str, tuple[int, str]]:
    """The text below each heading, by the heading in small letters, with the line at which it begins."""
    found: dict[str, tuple[int, list[str]]] = {}
    current: list[str] = []
    for number, raw in enumerate(body.split("\n"), first_line):
        heading = _HEADING.match(raw)
        if heading:
            current = []
            found.setdefault(plain(heading[2]).lower(), (number, current))
        else:
            current.append(raw)
    return {name: (number, "\n".join(lines).strip()) for name, (number, lines) in found.items()}
