"""A normal form of statements: two with the same meaning in other words, order or spelling share one mark.

Case, punctuation, accents, inflection, filler words and a few spelling variants are ignored. Word order
matters only where it carries the meaning (`prefer A over B`). Negation always counts.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain

from clew.canonical import sha256_hex
from clew.index.terms import fold, stem

MOST_CHARS = 20_000
"""Maximum length of a statement in a call. A file may contain longer ones, which are identified by their beginning."""
_WORD = re.compile(r"[^\W_]+(?:[.'’_+#-]+[^\W_]+)*[+#]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILLER = _words(
    """
    a an the this that these those it its is are be been was were will would shall should can could may might must
    do does did has have had we our us you your i my they their of for to in on at by with as and or so please just
    very really also always ever all any some let lets going forward
    """
)
NEGATIVE = _words(
    """
    not no never none neither nor without don't doesn't didn't won't can't cannot shouldn't mustn't isn't aren't wasn't
    stop avoid forbid prohibit ban
    """
)
_ORDERED = frozenset({"over", "than", "instead", "rather", "before", "after", "from", "into", "against", "until"})
_SPELLINGS = {
    "db": "database",
    "dbs": "database",
    "postgres": "postgresql",
    "pg": "postgresql",
    "psql": "postgresql",
    "k8s": "kubernetes",
    "js": "javascript",
    "ts": "typescript",
    "py": "python",
    "auth": "authentication",
    "config": "configuration",
    "repo": "repository",
    "env": "environment",
    "utilize": "use",
    "utilise": "use",
    "adopt": "use",
    "employ": "use",
}


def normal_words(statement: str) -> list[str]:
    """The words that carry the meaning, in order."""
    text = fold(unicodedata.normalize("NFKC", statement[:MOST_CHARS])).replace("’", "'")
    return list(chain.from_iterable(map(_chunk_words, text.split())))


@lru_cache(maxsize=20_000)
def _chunk_words(chunk: str) -> tuple[str, ...]:
    """The words in text without spaces; cached, because no word contains a space and most chunks repeat."""
    return tuple(normal for word in _WORD.findall(chunk) if (normal := _normal(word)) is not None)


def _normal(word: str) -> str | None:
    """None for a filler."""
    if word in NEGATIVE:
        return "!"
    return None if word in FILLER else stem(_SPELLINGS.get(word, word).replace("'", ""))


def mark(statement: str) -> str:
    words = normal_words(statement)
    if not any(word != "!" for word in words):
        words = [" ".join(statement.split()).casefold()]  # `never` and `no` have no other word to compare
    if not _ORDERED.intersection(words):
        words = sorted(set(words))
    return sha256_hex(" ".join(words), 24)


def says_the_same(one: str, other: str) -> bool:
    """Whether keeping only one of two statements loses nothing: the same words in the same order, with
    the same symbols between them. `parser calls merge` and `merge calls parser` share a mark, and so do
    `a != b` and `a == b`."""
    # A combining accent and a precomposed letter look alike and are typed alike.
    one, other = unicodedata.normalize("NFC", one), unicodedata.normalize("NFC", other)
    return mark(one) == mark(other) and normal_words(one) == normal_words(other) and _signs(one) == _signs(other)


def _signs(statement: str) -> list[str]:
    return [sign for sign in statement if not (sign.isalnum() or sign.isspace() or sign in _PUNCTUATION)]


_PUNCTUATION = frozenset(".,;:?!'’\"“”`()-_")
"""Punctuation that carries no meaning."""


def content_hash(statement: str) -> str:
    """The dossier's hash of a signal: lowercase, whitespace collapsed."""
    return sha256_hex(" ".join(statement.lower().split()), 16)
