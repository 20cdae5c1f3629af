"""A normal form of statements: two that say the same in other words, order or spelling share one mark.

Case, punctuation, accents, inflection, filler words and a few spellings make no difference. Word order makes one only
where it carries the meaning (`prefer A over B`). Negation always counts.
"""

from __future__ import annotations

import re
import unicodedata

from clew.canonical import sha256_hex
from clew.index.terms import fold, stem

MOST_CHARS = 20_000
"""As long as a statement from a call may be. A file may hold longer ones, whose beginning tells them apart."""
_WORD = re.compile(r"[^\W_]+(?:[.'’_+#-]+[^\W_]+)*[+#]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLER = _words(
    """
    a an the this that these those it its is are be been was were will would shall should can could may might must
    do does did has have had we our us you your i my they their of for to in on at by with as and or so please just
    very really also always ever all any some let lets going forward
    """
)
_NEGATIVE = _words(
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
    found = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", statement[:MOST_CHARS])):
        word = fold(match.group()).replace("’", "'")
        if word in _NEGATIVE:
            found.append("!")
        elif word not in _FILLER:
            found.append(stem(_SPELLINGS.get(word, word).replace("'", "")))
    return found


def mark(statement: str) -> str:
    words = normal_words(statement) or [" ".join(statement.split()).casefold()]
    if not _ORDERED.intersection(words):
        words = sorted(set(words))
    return sha256_hex(" ".join(words), 24)


def content_hash(statement: str) -> str:
    """The dossier's hash of a signal: lower case, white space collapsed."""
    return sha256_hex(" ".join(statement.lower().split()), 16)
