"""SQL conditions with the same meaning on both engines: texts that contain a word, and positions in a list."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_WILD = re.compile(r"([\\%_])")


def pattern(text: str) -> str:
    r"""A pattern for `LIKE ? ESCAPE '\'`: texts that contain this one."""
    return "%{}%".format(_WILD.sub(r"\\\1", text))


def holding(column: str, word: str) -> tuple[str, list[str]]:
    """The condition that a text contains a word, case-insensitively."""
    # Both engines fold the case of ASCII only; for any other letter each of its spellings is searched.
    ways = {word.lower()} if word.isascii() else {word.lower(), word.upper(), word.capitalize()}
    condition = " OR ".join(rf"lower({column}) LIKE ? ESCAPE '\'" for _ in ways)
    return f"({condition})", [pattern(_ascii_lower(way)) for way in sorted(ways)]


def _ascii_lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


class Position(NamedTuple):
    """A position (cursor) in a list, last changed first; records changed together are in the order of their ids."""

    seq: int
    id: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.id}"

    def behind(self, id_column: str) -> tuple[str, list[Any]]:
        """The condition for every record after this one."""
        # The first comparison alone is a range of an index; the second one only separates records of the same seq.
        return f"seq <= ? AND (seq < ? OR {id_column} > ?)", [self.seq, self.seq, self.id]
