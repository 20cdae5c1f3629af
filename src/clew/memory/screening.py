"""Secrets are screened on the way in: known shapes, named values, and strings too random to be words."""

from __future__ import annotations

import math
import re
from collections import Counter

from clew.secrets import HIDDEN, hide_secrets

# In prose a secret may be named by a verb: `the token is hunter2!`; a plain word after it is no secret.
_SAID = re.compile(
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

    def hide(match: re.Match[str]) -> str:
        nonlocal found
        name = match.groupdict().get("name") or ""
        value = match.groupdict().get("value") or match.group()
        if value.strip("\"'.").isalpha() if name else not _looks_random(value):
            return match.group()
        found += 1
        return name + HIDDEN

    for pattern in (_SAID, _RANDOM):
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
