"""Secrets are never shown: applied to every answer, whatever it holds."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "<redacted>"
_KEY = re.compile(r"token|api_?key|secret|password|private_key|authorization|bearer", re.IGNORECASE)
_TEXT = re.compile(
    r"(?P<pair>\b(?:token|api_?key|secret|password)\s*=\s*)(?!<redacted>)[^\s&;,'\"]+"
    r"|(?P<bearer>\bBearer\s+)(?!<redacted>)[A-Za-z0-9._~+/=-]{6,}"
    r"|\b(?:ghp_|github_pat_|sk-)[A-Za-z0-9_-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SUSPECT = (
    "token",
    "apikey",
    "api_key",
    "secret",
    "password",
    "private",
    "authorization",
    "bearer",
    "ghp_",
    "github_pat_",
)


def redact(value: Any, serialized: str) -> Any:
    """`value` with secrets replaced. Most answers hold none, which one look at their JSON tells."""
    # Plain searches: a pattern of alternatives takes a millisecond for every 12 kB, these a hundredth of that.
    lowered = serialized.lower()
    return _walk(value) if any(word in lowered for word in _SUSPECT) or _has_key(lowered) else value


def _has_key(lowered: str) -> bool:
    """A key that begins with `sk-`; ids of tasks hold these letters too, and nearly every answer holds such ids."""
    return lowered.count("sk-") > lowered.count("task-")


def redact_text(text: str) -> str:
    return _TEXT.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    return (match.group("pair") or match.group("bearer") or "") + HIDDEN


def _walk(value: Any) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {key: HIDDEN if _secret(key, item) else _walk(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item) for item in value]
    return value


def _secret(key: str, value: Any) -> bool:
    """A key that names a secret hides a text; counts such as `used_tokens: 12` stay."""
    return isinstance(value, str) and bool(value) and bool(_KEY.search(key))
