"""Finds copies of a text in other texts: verbatim, wrapped over lines, inside JSON, or truncated at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

ERASED = "[erased]"
SHORTEST_TEXT, FEWEST_WORDS = 16, 3
"""Shorter texts are too unspecific to be searched for in other records: they would match where nothing was copied."""
SHORTEST_CUT = 24
_HEAD = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_FIELD = re.compile(r"^[A-Z]\w{1,30}:\s+")
_MARGIN = "\"'`*_#->([{<)]}>.,;:!?…"
_CUT = ("…", "...")
_NO_TEXT = frozenset({"status", "kind", "type", "id", "file", "path", "origin", "grade", "intent"})
"""Keys of generated values: erasing a record with the title `done` does not erase the status of others."""


def leaves(value: Any) -> Iterator[str]:
    """Every text of a stored value; JSON is parsed."""
    if isinstance(value, str):
        inner = _json(value)
        if inner is None:
            yield value
        else:
            yield from leaves(inner)
    elif isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)


def emptied(value: Any) -> Any:
    """The value with every text removed; JSON keeps its structure."""
    if isinstance(value, str):
        inner = _json(value)
        if inner is None:
            return ERASED if value else value
        return orjson.dumps(emptied(inner)).decode()
    if isinstance(value, dict):
        return {name: emptied(part) for name, part in value.items()}
    return [emptied(part) for part in value] if isinstance(value, list) else value


def _json(value: str) -> Any | None:
    if not value.startswith(("{", "[", '"')):
        return None
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict | list | str) else None


class Redactor:
    """Removes some texts from others. `exact` are short ones that are removed wherever they are a whole value."""

    def __init__(self, texts: Iterable[str], always: Iterable[str] = ()) -> None:
        given = list(texts)
        self._exact = {text.strip() for text in given if text.strip()}
        pieces = {piece for text in given for piece in _pieces(text)}
        words = {tuple(text.split()) for text in always if text.strip()}
        words |= {tuple(trimmed) for piece in pieces if (trimmed := _trimmed(piece))}
        # The longest first, so that removing a sentence of a text does not break up the text itself.
        self._texts = [_SoughtText(found) for found in sorted(words, key=lambda one: -sum(map(len, one)))]

    @property
    def probes(self) -> list[str] | None:
        """A plain word of each text; every copy contains at least one of them; None if a text has none."""
        found = [text.probe for text in self._texts]
        return None if any(probe is None for probe in found) else sorted({probe for probe in found if probe})

    def without(self, value: str, own: bool = False) -> str:
        """The value without the texts. If it is the record's `own`, a short text that is a whole value too."""
        inner = _json(value)
        if inner is not None:
            cleaned = self._walk(inner, own)
            return value if cleaned == inner else orjson.dumps(cleaned).decode()
        if own and value.strip() in self._exact:
            return ERASED
        for text in self._texts:
            value = text.removed(value)
        return value

    def _walk(self, value: Any, own: bool) -> Any:
        if isinstance(value, str):
            return self.without(value, own)
        if isinstance(value, dict):
            return {self.without(name): self._walk(part, own and name not in _NO_TEXT) for name, part in value.items()}
        return [self._walk(part, own) for part in value] if isinstance(value, list) else value

    def found_in(self, value: str) -> bool:
        return self.without(value) != value


def _pieces(text: str) -> Iterator[str]:
    """The text, its lines and its sentences, because titles and previews are made from them."""
    yield text
    for part in _SENTENCE.split(text):
        yield _FIELD.sub("", part)


def _trimmed(piece: str) -> list[str]:
    """The words of a piece that is long enough to be specific, without surrounding punctuation."""
    words = piece.strip().strip(_MARGIN).split()
    return words if len(words) >= FEWEST_WORDS and sum(map(len, words)) >= SHORTEST_TEXT else []


class _SoughtText:
    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        head = r"\s+".join(re.escape(word) for word in words[:_HEAD])
        rest = "".join(rf"\s+{re.escape(word)}" for word in words[_HEAD:])
        self._head = re.compile(head, re.IGNORECASE)
        self._whole = re.compile(head + rest, re.IGNORECASE)
        plain = [found for word in words[:_HEAD] for found in re.findall(r"[A-Za-z0-9]{3,}", word)]
        self.probe = max(plain, key=len).lower() if plain else None

    def removed(self, value: str) -> str:
        if self._head.search(value) is None:
            return value
        return self._without_beginnings(self._whole.sub(_lines_kept, value))

    def _without_beginnings(self, value: str) -> str:
        """Without truncated copies: the text up to an ellipsis, or to the end of the value."""
        place = 0
        while (found := self._head.search(value, place)) is not None:
            end = self._end(value, found.end())
            is_cut = end == len(value) or value.startswith(_CUT, end)
            if end - found.start() >= SHORTEST_CUT and is_cut:
                value = value[: found.start()] + ERASED + value[end:]
                end = found.start() + len(ERASED)
            place = end
        return value

    def _end(self, value: str, place: int) -> int:
        """How far the copy continues from the third word of the text; its last word may be truncated too."""
        for word in self._words[_HEAD:]:
            space = re.compile(r"\s+").match(value, place)
            if space is None:
                return place
            at = space.end()
            same = 0
            while same < len(word) and value[at + same : at + same + 1].lower() == word[same].lower():
                same += 1
            if same < len(word):
                return at + same if same else place
            place = at + same
        return place


def _lines_kept(found: re.Match[str]) -> str:
    """Keep the number of lines, because positions in files are line numbers."""
    return "\n".join(ERASED for _ in found.group().split("\n"))
