"""Cuts a text into the pieces of words that the model knows, the way its ancestor BERT was taught to read.

Case and accents go; each punctuation mark is a piece; of a word the longest known beginning is a piece, then the
longest known beginning of the rest. Pieces within a word begin with `##`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

LONGEST_WORD = 100
"""Characters. What is longer is no word, and looking for its pieces takes time."""
UNKNOWN, BEGIN, END = "[UNK]", "[CLS]", "[SEP]"


def pieces(text: str, known: Mapping[str, int]) -> list[int]:
    return [number for word in _words(text) for number in _cut(word, known)]


def is_readable(found: Sequence[int], known: Mapping[str, int]) -> bool:
    """Whether the model knows the letters of a text: of more than two in three pieces."""
    return 3 * found.count(known[UNKNOWN]) < len(found)


def _words(text: str) -> Iterator[str]:
    for part in _plain(text).split():
        start = 0
        for at, character in enumerate(part):
            if _stands_alone(character):
                if start < at:
                    yield part[start:at]
                yield character
                start = at + 1
        if start < len(part):
            yield part[start:]


def _plain(text: str) -> str:
    """Lower case without accents and control characters."""
    if text.isascii() and text.isprintable():
        return text.lower()
    spread = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in spread if c in "\t\n\r" or unicodedata.category(c) not in ("Mn", "Cc", "Cf"))


def _stands_alone(character: str) -> bool:
    # Every sign of ASCII counts as punctuation, as it did when the model was made.
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character).startswith("P") or _is_ideograph(character)


def _is_ideograph(character: str) -> bool:
    """These are written without blanks between words."""
    return "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff"


def _cut(word: str, known: Mapping[str, int]) -> list[int]:
    found: list[int] = []
    start = 0 if len(word) <= LONGEST_WORD else len(word)
    while start < len(word):
        mark = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if mark + word[start:end] in known), 0)
        if not end:
            break
        found.append(known[mark + word[start:end]])
        start = end
    return found if found and start >= len(word) else [known[UNKNOWN]]
