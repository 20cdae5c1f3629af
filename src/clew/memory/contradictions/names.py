"""Named things, such as `SQLite`, `time.time()` or `python-dotenv`.

If one statement rejects something by its name and another builds on it, the two may contradict each
other however differently they are worded. That is too weak to block a record; its author is warned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.index.terms import stem

REJECTED = "Never: "
"""The prefix that `detection.statement_as` adds to the statement of a rejected alternative."""
_END = re.compile(r"[;,:!?]$|\.$")
_TRIMMED = "\"'`()[]{}<>;,:!?."
_VERSION = re.compile(r"(?<=[a-z])[-_.]?v?\d+(?:\.\d+)*$")
_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}|[a-zA-Z]\d|[\w)][._/][a-zA-Z(]")
_REFUSED = re.compile(
    r"(?:(?:not|never|no longer|cannot|don't) (?:even |ever )?(?:use|using|adopt|rely on|depend on|call|take)"
    r"|instead of|rather than|avoid|stop using)(?: (?:the|a|an|any))?$"
)
"""Words before a name that is rejected; other negations say little about the thing itself."""
_REACH = 5
_DENIAL = frozenset({"not", "never", "no", "nor", "without", "don't", "cannot", "instead", "rather", "avoid", "drop"})
"""A name after one of these is nothing that the statement builds on."""
_ABOUT = frozenset({"for", "in", "on", "at", "within", "during", "as"})
_SMALL = frozenset(
    {"a", "an", "the", "our", "its", "their", "this", "that", "these", "any", "all", "every", "each", "of"}
)


def lookup_words(statement: str) -> frozenset[str]:
    """Keys by which a name is found in another spelling, without its version: `sqlite3`, `SQLite`."""
    return frozenset(stem(_named(word)) for word in statement.split() if any(map(str.isdigit, word)))


class Naming:
    """A statement with the names it builds on and those it rejects; a rejected alternative rejects each
    of its names."""

    def __init__(self, statement: str) -> None:
        self._rejects = statement.startswith(REJECTED)
        self._words = statement.removeprefix(REJECTED).split()
        self._said = {_named(word) for at, word in enumerate(self._words) if not _DENIAL & {*_before(self._words, at)}}
        self._refused = {_named(word): at for at, word in enumerate(self._words) if self._is_refused(at)}

    def refusal(self, statement: str) -> str | None:
        """What one of two statements rejects by name and the other builds on, in words; None if there is nothing."""
        other = Naming(statement)
        found = self._refuses(other) or other._refuses(self)
        return f"{found} is refused by one of them" if found is not None else None

    def _refuses(self, other: Naming) -> str | None:
        if other._rejects:
            return None
        shared = self._refused.keys() & other._said
        return next((name for name in sorted(shared) if self._rejects or self._meets(name, other)), None)

    def _is_refused(self, at: int) -> bool:
        bare = self._words[at].strip(_TRIMMED)
        if len(bare) < 2 or not self._is_name(at, bare):
            return False
        return self._rejects or _is_denied(self._words, at)

    def _is_name(self, at: int, bare: str) -> bool:
        """Whether a word has the form of a name; in rejected alternatives also a capitalized first word
        on its own: `Redis for sessions`."""
        if _INNER.search(bare) or (bare[0].isupper() and at > 0 and not self._words[at - 1].endswith((".", ":"))):
            return True
        alone = _END.search(self._words[0]) or len(self._words) == 1 or _bare(self._words[1]) in _ABOUT
        return self._rejects and at == 0 and bool((alone and bare[0].isupper()) or "-" in bare)

    def _meets(self, name: str, other: Naming) -> bool:
        """Whether the other statement is about the purpose for which the name is rejected: `no Redis
        for sessions` does not exclude one for queues."""
        at = self._refused[name]
        behind = list(map(_bare, self._words[at + 1 :]))
        if not behind or _END.search(self._words[at]) or behind[0] not in _ABOUT:
            return True
        said = {stem(word) for word in other._said}
        return any(stem(word) in said for word in behind[1:] if word not in _SMALL)


def _is_denied(words: Sequence[str], at: int) -> bool:
    return _REFUSED.search(" ".join(_before(words, at))) is not None


def _before(words: Sequence[str], at: int) -> list[str]:
    """The words before a position, back to the start of its clause."""
    found: list[str] = []
    for word in reversed(words[max(0, at - _REACH) : at]):
        if _END.search(word):
            break
        found.insert(0, _bare(word))
    return found


def _bare(word: str) -> str:
    return word.strip(_TRIMMED).casefold()


def _named(word: str) -> str:
    """A name normalized for comparison: without brackets and version."""
    return _VERSION.sub("", _bare(word))
