"""Secrets are screened on the way in: known shapes, named values, and strings too random to be words."""

from __future__ import annotations

import math
import re
from collections import Counter

MASK = "<redacted>"

_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\bsk-[A-Za-z0-9_-]{16,}|\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|\bAIza[0-9A-Za-z_-]{30,}|\bya29\.[0-9A-Za-z_-]{20,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    re.DOTALL,
)
_NAMED = re.compile(
    r"(?P<name>\b[\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)[\w-]*\s*"
    r"(?:=|:|\bis\b)\s*)(?P<value>[\"']?[^\s\"',;]{6,}[\"']?)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?P<name>\b[a-z][a-z0-9+.-]*://[^\s:/@]+:)(?P<value>[^\s@/]+)(?=@)")
_BEARER = re.compile(r"(?P<name>\bBearer\s+)(?P<value>[A-Za-z0-9._~+/=-]{8,})")
_RANDOM = re.compile(r"(?<![\w/.-])[A-Za-z0-9+/_=-]{24,}(?![\w/.-])")
_DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAIN = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z0-9]+)*|[0-9]+")


def screened(text: str) -> tuple[str, int]:
    """The text with secrets masked, and how many there were."""
    found = 0

    def hide(match: re.Match[str]) -> str:
        nonlocal found
        name = match.groupdict().get("name") or ""
        value = match.groupdict().get("value") or match.group()
        if value.startswith(MASK) or (name and _a_word(name, value)):
            return match.group()
        found += 1
        return name + MASK

    for pattern in (_SHAPES, _ADDRESS, _BEARER, _NAMED):
        text = pattern.sub(hide, text)
    text = _RANDOM.sub(lambda match: hide(match) if _looks_random(match.group()) else match.group(), text)
    return text, found


def _a_word(name: str, value: str) -> bool:
    """`the token is stored in Redis` names no secret; `token is hunter2!` does."""
    return not name.rstrip().endswith(("=", ":")) and value.strip("\"'.").isalpha()


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
