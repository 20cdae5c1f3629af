"""What a secret looks like; hiding it from every answer, and screening it out of what is kept.

Screening goes further than hiding: prose that names a secret, and strings too random to be words, are masked as well.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections import Counter
from typing import Any

HIDDEN = "<redacted>"

_FORMS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}"  # Slack
    r"|\bsk-[A-Za-z0-9_-]{16,}|\b(?:[rsp]k|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}"  # OpenAI, Anthropic, Stripe
    r"|\bAIza[0-9A-Za-z_-]{30,}|\bya29\.[0-9A-Za-z_-]{20,}"  # Google
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # a signed token (JWT)
    re.DOTALL,
)
# The name may be a part of a longer one (DB_PASSWORD, "api_key"), of at most 40 characters on each side so that a long
# line of word characters is not tried from each of its places; but not the beginning of a word such as tokenizer.
_NAMED = re.compile(
    r"(?P<name>(?<![A-Za-z0-9])[\w-]{0,40}?"
    r"(?P<word>pass(?:word|wd|phrase)|pwd|api[_-]?key|(?:access|private|secret)[_-]?key|secret|token)s?(?![A-Za-z])"
    r"[\w-]{0,40}[\"']?\s*[:=]\s*)"
    r"(?P<value>\"[^\"\n]+\"|'[^'\n]+'|[^\s\"',;&<][^\s\"',;&]*)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?P<name>\b[a-z][a-z0-9+.-]{0,30}://[^\s:/@]*:)(?P<value>[^\s/<]+)(?=@)", re.IGNORECASE)
_BEARER = re.compile(r"(?P<name>\bBearer\s+)(?P<value>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE)
_BASIC = re.compile(r"(?P<name>\bBasic\s+)(?P<value>[A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)

# Words that follow a name in a sentence or in an error message, and are no value of it.
_SAID = re.compile(
    r"a|an|any|are|as|but|empty|expected|false|for|given|hidden|if|in|invalid|is|it|longer|missing|must|no|none|not|null"
    r"|of|on|or|out|required|see|set|string|text|that|the|this|to|true|unknown|unset|use|was|with|wrong",
    re.IGNORECASE,
)
SUSPICIOUS = (
    *("token", "key", "secret", "pass", "pwd", "private", "authorization", "bearer", "basic", "://"),
    *("akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "pypi-", "xox", "xapp-"),
    *("k_live_", "k_test_", "whsec_", "aiza", "ya29.", "eyj"),
)
"""Every text that holds a secret holds one of these in lower case. `sk-` is counted apart: `task-` holds it too."""


def hide_secrets(text: str) -> tuple[str, int]:
    """The text with every secret replaced, and how many there were."""
    found = 0

    def hide(match: re.Match[str]) -> str:
        nonlocal found
        parts = match.groupdict()
        if parts and not _is_secret(match):
            return match.group()
        found += 1
        return (parts.get("name") or "") + HIDDEN

    for pattern in (_FORMS, _ADDRESS, _BEARER, _BASIC, _NAMED):
        text = pattern.sub(hide, text)
    return text, found


def _is_secret(match: re.Match[str]) -> bool:
    value = match["value"].strip("\"'")
    if not value or value.startswith(HIDDEN):
        return False
    if match.re is _BASIC:
        return _has_password(value)
    if match.re is _BEARER:
        return not value.isalpha() or len(value) >= 20
    if match.re is _ADDRESS or match["value"] != value:
        return True
    return _is_named_value(match["word"].lower(), value.rstrip(".)"))


def _is_named_value(word: str, value: str) -> bool:
    """A password may be anything; a token or secret is no plain word or count (`secret=santa`, `tokens: 12`)."""
    if _SAID.fullmatch(value):
        return False
    return (
        word.startswith(("pass", "pwd"))
        or "key" in word
        or not (value.isdigit() or (value.isalpha() and value.islower()))
    )


def _has_password(value: str) -> bool:
    """Whether it decodes to `user:password`, as the header of that name does."""
    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return False


_KEY = re.compile(r"token|api_?key|secret|password|passwd|private_key|authorization|bearer", re.IGNORECASE)


def redact(value: Any, serialized: str) -> Any:
    """`value` with secrets replaced. Most answers hold none, which one look at their JSON tells."""
    # Plain searches: a pattern of alternatives takes a millisecond for every 12 kB, these a hundredth of that.
    return _walk(value) if _is_suspicious(serialized.lower()) else value


def _is_suspicious(lowered: str) -> bool:
    """Ids of tasks hold `sk-` too, and nearly every answer holds such ids."""
    return any(word in lowered for word in SUSPICIOUS) or lowered.count("sk-") > lowered.count("task-")


def redact_text(text: str) -> str:
    return hide_secrets(text)[0] if _is_suspicious(text.lower()) else text


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
