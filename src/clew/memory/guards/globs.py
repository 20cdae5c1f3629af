"""Globs that cannot hang: every character of the text costs the same, whatever the pattern is.

Guards run before each tool call of an agent, on text that the agent wrote, with patterns that anybody may write. A
regular expression can take minutes there. A glob is enough for paths and commands, and all its states fit into the
bits of one number: a step is a shift and a few masks.

In paths `*` stands for anything within a folder, `**` also across folders, `?` for one character. In commands `*`
stands for anything within a word, and alone for any words; a word with blanks is quoted, such as
`psql * -c "*DROP TABLE*"`. In texts `*` stands for anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

LONGEST_PATTERN = 300
LONGEST_TEXT = 20_000
MOST_OPTIONAL = 3
"""Each `**/` may also stand for nothing, which doubles the variants: three of them make eight."""
BREAK = "\x1f"
"""Stands between the words of a command, which may hold blanks themselves."""
_WORDS = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_SIGNS = re.compile(r"\*\*|\*|\?|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern without optional parts. Bit n of a state says that the first n elements have been matched."""

    masks: dict[str, int]
    """Character -> the states from which it leads on."""
    any: int
    """States that every character leads on from: `?`."""
    loops: int
    """States that stay where they are, whatever comes: `**`, and `*` outside of paths."""
    part_loops: int
    """States that stay where they are until the sign between two parts comes: `*` in paths and commands."""
    end: int
    between: str
    """What stands between two parts: a slash between folders, BREAK between words."""

    def matches(self, text: str) -> bool:
        state = 1
        for character in text[:LONGEST_TEXT]:
            stay = state & (self.loops if character == self.between else self.loops | self.part_loops)
            state = ((state & (self.masks.get(character, 0) | self.any)) << 1) | stay
            if not state:
                return False
        return bool(state & self.end)


def _compiled(pattern: str, between: str) -> Glob:
    masks: dict[str, int] = {}
    any_ = loops = part_loops = 0
    bit = 1
    for sign in _SIGNS.findall(pattern):
        if sign == "**" or (sign == "*" and not between):
            loops |= bit
        elif sign == "*":
            part_loops |= bit
        else:
            if sign == "?":
                any_ |= bit
            else:
                masks[sign] = masks.get(sign, 0) | bit
            bit <<= 1
    return Glob(masks, any_, loops, part_loops, bit, between)


def _variants(pattern: str, optional: str, without: str) -> list[str]:
    """The pattern with and without each optional part, of which only the first few count as optional."""
    found = [""]
    parts = pattern.split(optional)
    for number, part in enumerate(parts):
        if number == 0:
            found = [part]
        elif number <= MOST_OPTIONAL:
            found = [before + sign + part for before in found for sign in (optional, without)]
        else:
            found = [before + optional + part for before in found]
    return found


@lru_cache(maxsize=2_000)
def _path_globs(pattern: str) -> tuple[Glob, ...]:
    """A name without a folder is meant anywhere, and a folder means everything in it."""
    bare = pattern.strip().removeprefix("./").rstrip("/")[:LONGEST_PATTERN]
    placed = bare.removeprefix("/") if "/" in bare else f"**/{bare}"
    return tuple(_compiled(variant + below, "/") for variant in _variants(placed, "**/", "") for below in ("", "/**"))


@lru_cache(maxsize=2_000)
def _command_globs(pattern: str) -> tuple[Glob, ...]:
    """A lone `*` between words may stand for no word, and further words may follow."""
    words = ["".join(found) for found in _WORDS.findall(pattern[:LONGEST_PATTERN])]
    line = BREAK.join("**" if word == "*" else word for word in words)
    variants = _variants(line, f"{BREAK}**{BREAK}", BREAK)
    return tuple(_compiled(variant + more, BREAK) for variant in variants for more in ("", f"{BREAK}**"))


@lru_cache(maxsize=2_000)
def _text_glob(pattern: str) -> Glob:
    return _compiled(f"*{pattern.strip()[:LONGEST_PATTERN]}*", "")


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path, given from the root of the project, is meant by a glob."""
    return any(glob.matches(path) for glob in _path_globs(pattern))


def command_matches(pattern: str, words: Sequence[str]) -> bool:
    """Whether a simple command begins as the pattern says, word by word."""
    line = BREAK.join(words)
    return any(glob.matches(line) for glob in _command_globs(pattern))


def text_contains(pattern: str, text: str) -> bool:
    return _text_glob(pattern).matches(text)
