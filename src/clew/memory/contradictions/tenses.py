"""Whether a sentence tells of another time than now: what held once does not contradict what holds today."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from clew.memory.contradictions.word_order import words_in

_ONCE = words_in("formerly previously originally yesterday ago")
_SPANS = words_in("year month week quarter spring summer autumn fall winter night sprint release season semester")
_YEAR = re.compile(r"(?:19|20)\d\d")
_BEFORE_A_YEAR = words_in("in until till before during summer spring autumn winter early late mid")


def is_dated(words: Sequence[str]) -> bool:
    """`in 2023 we still supported it`, `last winter`, `used to send`, `formerly`: the sentence names its own time."""
    if not _ONCE.isdisjoint(words):
        return True
    return any(_names_a_time(before, word) for before, word in pairwise(words))


def _names_a_time(before: str, word: str) -> bool:
    if before in _BEFORE_A_YEAR and _YEAR.fullmatch(word):
        return True
    return (before == "last" and word in _SPANS) or (before == "used" and word == "to")
