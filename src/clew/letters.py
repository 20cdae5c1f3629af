"""How surprising a row of letters is in English: what was chosen at random is far more so than a word."""

from __future__ import annotations

from itertools import pairwise

_FIRST = ord("a")
_BITS = tuple(
    tuple(int(sign, 16) for sign in row)
    for row in (
        "44345455577546548434565a88",  # at the beginning
        "b54497595a6353b5b343667858",  # after a
        "36783a9838a37838c35749ca6a",  # after b
        "3a6a3bd34d44ab2a94635bab6d",  # after c
        "4686286928957748a448477c6c",  # after d
        "474356687a945385823486667a",  # after e
        "3abb34ab2ba38b3ab4644b9b6b",  # after f
        "388828543bb57448a3484aaa79",  # after g
        "27a729a93ac7783995645c9c5c",  # after h
        "5645455cac745235953485e7b7",  # after i
        "28882888486888278858287888",  # after j
        "47b7167739858556b6356b7b6b",  # after k
        "3875288b3d737837da55579b4b",  # after l
        "259a29aa3aa74833a9585aaa8c",  # after m
        "4843362849678658a833669a79",  # after n
        "5655866969644245c354455779",  # after o
        "389839854c938934c3545c9a6c",  # after p
        "88877888888488888868077888",  # after q
        "3765286a3c675637b534568e5a",  # after r
        "494838a43d66675479424a6d6b",  # after s
        "386829a42bc67848d3455c8c59",  # after t
        "5555475c5b944274b3339ab888",  # after u
        "3b9b1b992bb99b49b89b7bbb7b",  # after v
        "277729b43b95943bb4489bbb8b",  # after w
        "47372795399759629993797769",  # after x
        "454537784a844443a5347868a8",  # after y
        "47881877388577388858588854",  # after z
    )
)
"""How many bits each letter, a to z, is worth: at the beginning of a word, then after a, after b, ... Counted over the
12,000 words of Clew's documentation and vocabulary."""
_SURPRISING = 5.4
"""Bits for each letter from which it is hardly a word: 3 words of 1,000 that were not counted, and 83 to 96 of 100 rows
of 6 to 16 letters chosen at random."""
_FEWEST = 6
"""Fewer letters are not conclusive."""


def is_no_word(text: str) -> bool:
    """Whether small letters make up what is hardly a word of English."""
    if len(text) < _FEWEST or not (text.isascii() and text.isalpha() and text.islower()):
        return False
    places = [ord(letter) - _FIRST for letter in text]
    bits = _BITS[0][places[0]] + sum(_BITS[one + 1][next] for one, next in pairwise(places))
    return bits >= _SURPRISING * len(text)
