"""Hiding secrets from every answer, and keeping them out of what is stored.

`redact` hides secrets of known formats from an answer, `masked` does so in what a caller sends,
before anything of it is stored. `screened` goes further, for memory that people read: it also masks
prose that names a secret, and strings too random to be words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from clew.secrets.formats import CLUES, WITHOUT_CLUE, Clue
from clew.secrets.search import hide_everywhere, hide_matches, hide_near, hide_secrets, places_of
from clew.secrets.values import HIDDEN

__all__ = ["HIDDEN", "hide_everywhere", "hide_secrets", "masked", "redact", "redact_text", "screened", "shell_safe"]

_KEY = re.compile(
    r"token|api_?key|access_?key|account_?key|secret|password|passwd|passphrase|pwd\b|private_?key|authorization|bearer"
    r"|cookie|credential",
    re.IGNORECASE,
)
"""Names of fields that hide their text."""
_KEYS_WITHOUT_CLUE = ("authorization", "cookie", "bearer", "credential", "apikey")
"""Those of them that are no clue of a text as JSON writes it."""
_LONG = 50_000
"""Characters from which an answer is not searched for secrets that have no clue: what is stored holds none."""
Hide = Callable[[str], tuple[str, int]]


def redact_text(text: str) -> str:
    return hide_secrets(text)[0]


def shell_safe(line: str) -> str:
    """A command without secrets. The placeholder is quoted: bare, a shell would redirect its input and output."""
    parts, quote = re.split(r"(\\.|[\"']|<redacted>)", redact_text(line)), ""
    for at, part in enumerate(parts):
        if part == HIDDEN and not quote:
            parts[at] = f"'{HIDDEN}'"
        elif part in ("'", '"'):
            quote = part if not quote else "" if part == quote else quote
    return "".join(parts)


def redact(value: Any, serialized: str) -> Any:
    """`value` with secrets replaced. Most answers hold none, which one search of their JSON shows."""
    return _hidden(value, serialized, len(serialized) <= _LONG)[0]


def masked(value: Any) -> tuple[Any, int]:
    """What a caller sent without secrets, and how many there were; the same object where there are none."""
    return _hidden(value, value if isinstance(value, str) else _as_json(value), True)


def _hidden(value: Any, text: str, thorough: bool) -> tuple[Any, int]:
    clues = _clues_in(text)
    bare = thorough and WITHOUT_CLUE.search(text) is not None
    if clues is None and not bare:
        return value, 0

    def hide(text: str) -> tuple[str, int]:
        shown, near = hide_near(text, clues or [])
        shown, found = hide_matches(WITHOUT_CLUE, shown) if bare else (shown, 0)
        return shown, near + found

    walk = _Walk(hide)
    shown = walk.of(value)
    return (shown, walk.found) if walk.found else (value, 0)


def _clues_in(text: str) -> list[Clue] | None:
    """The clues that a text holds; None when nothing in it can be a secret."""
    lowered = text.lower()
    held = [clue for clue in CLUES if clue.text in lowered]
    clues = [clue for clue in held if clue.letters_before is None or any(True for _ in places_of(lowered, clue))]
    return clues if clues or any(name in lowered for name in _KEYS_WITHOUT_CLUE) else None


class _Walk:
    """Hides secrets in every text of a JSON value: values, keys, and values whose key names a secret."""

    def __init__(self, hide: Hide) -> None:
        self._hide = hide
        self._keys: dict[str, tuple[str, bool]] = {}
        """Of keys that hold no secret, whether they name one: each row of a list has the same keys."""
        self.found = 0

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            shown, found = self._hide(value)
            self.found += found
            return shown
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, (list, tuple)):
            return [self.of(item) for item in value]
        return value

    def _object(self, value: dict[Any, Any]) -> dict[Any, Any]:
        shown: dict[Any, Any] = {}
        for key, item in value.items():
            name, names_secret = self._key(key) if isinstance(key, str) else (key, False)
            while name in shown:  # two secrets as keys of one object
                name = f"{name}'"
            shown[name] = self._named(item) if names_secret else self.of(item)
        return shown

    def _key(self, key: str) -> tuple[str, bool]:
        known = self._keys.get(key)
        if known is None:
            found = self.found
            known = self.of(key), _KEY.search(key) is not None
            if self.found == found:  # else each one is counted
                self._keys[key] = known
        return known

    def _named(self, value: Any) -> Any:
        """A value whose key names a secret: a text is hidden, a count such as `used_tokens: 12` stays."""
        if isinstance(value, str) and value and value != HIDDEN:
            self.found += 1
            return HIDDEN
        if isinstance(value, list):
            return [self._named(item) for item in value]
        return self.of(value)


# In prose a secret may be named by a verb: `the token is hunter2!`; a plain word after it is no secret.
_NAMED_IN_PROSE = re.compile(
    r"(?P<name>\b[\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)[\w-]*\s+is\s+)"
    r"(?P<value>[\"']?[^\s\"',;<]{6,}[\"']?)",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?<![\w/.-])[A-Za-z0-9+/_=-]{24,}(?![\w/.-])")
_DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAIN = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z0-9]+)*|[0-9]+")


def screened(text: str) -> tuple[str, int]:
    """The text with secrets masked, and how many there were."""
    text, found = hide_secrets(text)
    text, bare = hide_matches(WITHOUT_CLUE, text)
    found += bare

    def hide(match: re.Match[str]) -> str:
        nonlocal found
        name = match.groupdict().get("name") or ""
        value = match.groupdict().get("value") or match.group()
        if value.strip("\"'.").isalpha() if name else not _looks_random(value):
            return match.group()
        found += 1
        return name + HIDDEN

    for pattern in (_NAMED_IN_PROSE, _RANDOM):
        text = pattern.sub(hide, text)
    return text, found


def _looks_random(value: str) -> bool:
    """Mixed letters and digits with the entropy of noise; digests and plain words are not secrets."""
    if _DIGEST.fullmatch(value.lower()) or _PLAIN.fullmatch(value):
        return False
    # Random letters and digits have 4.25 bits at 24 characters and more at each further one; 4.0 misses few of them.
    mixed = any(c.isdigit() for c in value) and any(c.isupper() for c in value) and any(c.islower() for c in value)
    return mixed and entropy(value) >= 4.0


def entropy(value: str) -> float:
    """Bits of information in each character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def _as_json(value: Any) -> str:
    import orjson  # here: hooks hide secrets too, with nothing but the standard library

    return orjson.dumps(value, default=str).decode()
