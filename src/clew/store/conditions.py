"""Conditions of statements that mean the same on both engines: texts that hold a word, and places in a list."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_WILD = re.compile(r"([\\%_])")


def pattern(text: str) -> str:
    r"""A pattern for `LIKE ? ESCAPE '\'`: texts that hold this one."""
    return "%{}%".format(_WILD.sub(r"\\\1", text))


def holding(column: str, word: str) -> tuple[str, list[str]]:
    """The condition that a text holds a word, whatever its case."""
    # Both engines fold the case of ASCII only; another letter is looked for in the ways in which it is written.
    ways = {word.lower()} if word.isascii() else {word.lower(), word.upper(), word.capitalize()}
    condition = " OR ".join(rf"lower({column}) LIKE ? ESCAPE '\'" for _ in ways)
    return f"({condition})", [pattern(_ascii_lower(way)) for way in sorted(ways)]


def _ascii_lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


class Position(NamedTuple):
    """A record in a list, the one changed last first; records changed together are in the order of their ids."""

    seq: int
    id: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.id}"

    def behind(self, id_column: str) -> tuple[str, list[Any]]:
        """The condition that holds for every record behind this one."""
        # The first comparison alone is a range of an index; the second one only separates records of the same seq.
        return f"seq <= ? AND (seq < ? OR {id_column} > ?)", [self.seq, self.seq, self.id]
