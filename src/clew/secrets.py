"""What a secret looks like; hiding it from every answer, and screening it out of what is kept.

Screening goes further than hiding: prose that names a secret, and strings too random to be words, are masked as well.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from clew.letters import is_no_word

HIDDEN = "<redacted>"

_BEGINS = r"(?:\b|(?<=\\[bfnrt])|(?<=\\u00[01][0-9a-f]))"
"""A word begins, or an escape has ended: a text may hold JSON, where a new line is written as a backslash and `n`."""
_FORMS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    rf"|{_BEGINS}"
    r"(?:(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"  # Slack
    r"|sk-[A-Za-z0-9_-]{16,}|(?:[rsp]k|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}"  # OpenAI, Anthropic, Stripe
    r"|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{20,}"  # Google
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)",  # a signed token (JWT)
    re.DOTALL,
)
# The name may be a part of a longer one (DB_PASSWORD, "api_key"), of at most 40 characters on each side so that a long
# line of word characters is not tried from each of its places; but not the beginning of a word such as tokenizer.
# Quotes have a backslash before them where the text holds JSON, three where that is part of another JSON.
_NAMED = re.compile(
    r"(?P<name>(?<![A-Za-z0-9])[\w-]{0,40}?"
    r"(?P<word>pass(?:word|wd|phrase)|pwd|api[_-]?key|(?:access|private|secret)[_-]?key|secret|token)s?(?![A-Za-z])"
    r"[\w-]{0,40}(?:\\{0,3}[\"'])?\s*[:=]\s*)"
    r"(?P<value>\\{0,3}(?:\"[^\"\n]+\"|'[^'\n]+')|[^\s\"',;&<][^\s\"',;&]*)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    rf"(?P<name>{_BEGINS}[a-z]" r"[a-z0-9+.-]{0,30}://[^\s:/@]*:)(?P<value>[^\s/<]+)(?=@)", re.IGNORECASE
)
_BEARER = re.compile(rf"(?P<name>{_BEGINS}Bearer" r"\s+)(?P<value>[A-Za-z0-9._~+/=-]+)", re.IGNORECASE)
_HEADER = re.compile(r"authorization(?:\\{0,15}[\"']\]?)?\s{0,8}[:=]\s{0,8}(?:\\{0,15}[\"'])?\Z", re.IGNORECASE)
"""What stands before `Bearer` in the header of a request. There whatever follows is a secret, elsewhere it may be a
word of a sentence (`a bearer token`)."""
_LONGEST_HEADER = 64
_BASIC = re.compile(rf"(?P<name>{_BEGINS}Basic" r"\s+)(?P<value>[A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)

# Words that follow a name in a sentence or in an error message, and are no value of it.
_SAID = re.compile(
    r"a|an|any|are|as|but|empty|expected|false|for|given|hidden|if|in|invalid|is|it|longer|missing|must|no|none|not|null"
    r"|of|on|or|out|required|see|set|string|text|that|the|this|to|true|unknown|unset|use|was|with|wrong",
    re.IGNORECASE,
)
_NAMES = ("token", "key", "secret", "passw", "passphrase", "pwd")
_PREFIXES = (*(f"gh{kind}_" for kind in "pousr"), "github_pat_", "glpat-", "npm_", "pypi-", "xapp-", "whsec_", "ya29.")
_CLUES = {
    **dict.fromkeys(
        _NAMES, re.compile(r"[\w-]{0,60}(?:\\{0,3}[\"'])?\s*[:=]\s*(?:\\{0,3}(?:\"[^\"\n]{1,500}|'[^'\n]{1,500})|\S)")
    ),
    **dict.fromkeys(_PREFIXES, re.compile(r"[\w-]{10}")),
    **dict.fromkeys(("akia", "asia", "aiza", "sk-", "k_"), re.compile(r"[\w-]{16}")),
    "bearer": re.compile(r"\s+[\w.~+/=-]"),
    "basic": re.compile(r"\s+[\w+/]{8}"),
    "private key-----": re.compile(""),
    "://": re.compile(r"[^\s:/@]*:[^\s/<]+@"),
    "xox": re.compile(r"[abeoprs]-"),
    "eyj": re.compile(r"[\w-]{8}"),
}
"""Every secret holds one of these in lower case, and after it what is given beside it: of a value its beginning, or in
quotes up to 500 characters. To look for plain words takes a hundredth of the time of the patterns above, which are
tried only around a clue that is confirmed."""
_BEGINS_A_WORD = {"sk-": 0, "k_": 1}
"""Clues that are the end of many names (`task-1`, `task_id`), and how many letters stand before them in a secret."""
_HIDING_NAMES = ("authorization",)
"""Names of fields that hide their text, and are no clue in a text."""
_RUN = 300
"""Characters before a clue at which a pattern may begin: more than any of them allows."""
_LONG = 50_000
"""Characters from which one pass by numpy is cheaper than a search for each clue."""
_TOKEN = re.compile(r"\S*")
_ESCAPE = re.compile(r"\\(?:[bfnrt]|u00[01][0-9a-f])\Z")


def hide_secrets(text: str) -> tuple[str, int]:
    """The text with every secret replaced, and how many there were."""
    return _hide_near(text, _CLUES)


def _hide_near(text: str, clues: Iterable[str]) -> tuple[str, int]:
    parts, at, found = [], 0, 0
    for start, end in _stretches(text, clues):
        hidden, count = hide_everywhere(text[start:end])
        parts += [text[at:start], hidden]
        at, found = end, found + count
    return ("".join([*parts, text[at:]]), found) if found else (text, 0)


def hide_everywhere(text: str) -> tuple[str, int]:
    """The same by trying every pattern at every character, which takes long."""
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


def _stretches(text: str, clues: Iterable[str]) -> list[tuple[int, int]]:
    """The parts that may hold a secret, in order and apart from each other; a private key may take all."""
    lowered = text.lower()
    if len(lowered) != len(text):  # places in one are none in the other (a dotted capital I)
        return [(0, len(text))] if any(clue in lowered for clue in clues) else []
    places = sorted(place for clue in clues for place in _places(lowered, clue))
    if places and "private key-----" in lowered:
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    for place, end in places:
        start, taken = _beginning(text, place), found[-1][1] if found else 0
        if end > taken:  # a secret goes on to the next space
            end = _token_end(text, end)
        if found and start <= taken:
            found[-1] = (found[-1][0], max(taken, end))
        else:
            found.append((start, end))
    return found


def _beginning(text: str, place: int) -> int:
    """Before the name or word that holds a clue, behind a sign that stands in none."""
    earliest = max(0, place - _RUN)
    begins = max(earliest, *(text.rfind(sign, earliest, place) + 1 for sign in ' \n"'))
    header = _header_before(text, place) if text.startswith(("B", "b"), place) else None
    return begins if header is None else min(begins, header.start())


def _header_before(text: str, place: int) -> re.Match[str] | None:
    return _HEADER.search(text, max(0, place - _LONGEST_HEADER), place)


def _token_end(text: str, place: int) -> int:
    found = _TOKEN.match(text, place)
    return found.end() if found is not None else place


def _places(lowered: str, clue: str) -> Iterator[tuple[int, int]]:
    """Where a clue stands with what must follow it, and where that ends."""
    follows, letters = _CLUES[clue], _BEGINS_A_WORD.get(clue)
    place = lowered.find(clue)
    while place >= 0:
        after = follows.match(lowered, place + len(clue))
        if after is not None and (letters is None or _begins(lowered, place - letters)):
            yield place, after.end()
        place = lowered.find(clue, place + 1)


def _begins(text: str, place: int) -> bool:
    before = text[place - 1 : place] if place > 0 else ""
    return place >= 0 and (not (before.isalnum() or before == "_") or bool(_ESCAPE.search(text, place - 6, place)))


def _is_secret(match: re.Match[str]) -> bool:
    value = match["value"].strip("\\\"'")
    if not value or value.startswith(HIDDEN):
        return False
    if match.re is _BASIC:
        return _has_password(value)
    if match.re is _BEARER:
        return _header_before(match.string, match.start()) is not None or _is_token(value.rstrip(".=/"))
    if match.re is _ADDRESS or match["value"].lstrip("\\").startswith(('"', "'")):
        return True
    return _is_named_value(match, match["word"].lower(), value.rstrip(".)"))


_GIVEN = re.compile(r"(?:(?<=\\)(?:[bfnrt]|u00[01][0-9a-f]))?token=", re.IGNORECASE)
"""The whole name, after an escape where the text holds JSON."""
_SHORTEST = 4
"""Letters or digits of a value from which it is hidden whatever it is."""
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}")
"""So many in a row are hardly in any word."""
_CAPITAL_INSIDE = re.compile(r"(?<=[a-z])[A-Z]")


def _is_token(value: str) -> bool:
    """Whether what follows `bearer` in a sentence is no word of it: it has digits, is very long, or looks random."""
    if len(value) < 6:
        return False
    if any(sign.isdigit() for sign in value):
        return True
    longest = max(re.split(r"[._~+/=-]", value), key=len)
    # Letters chosen at random change to capitals at every fourth one, words joined to a name (`accessToken`) at six.
    capitals = len(_CAPITAL_INSIDE.findall(longest))
    return (
        len(longest) >= 20
        or 5 * capitals >= max(len(longest), 10)
        or _CONSONANTS.search(longest.lower()) is not None
        or is_no_word(longest.lower())
    )


def _is_named_value(match: re.Match[str], word: str, value: str) -> bool:
    """A password or key may be anything; a token or secret is no plain word or count (`secret=santa`, `tokens: 12`)."""
    if _SAID.fullmatch(value):
        return False
    if word.startswith(("pass", "pwd")) or "key" in word:
        return True
    plain = value.isdigit() or (value.isalpha() and value.islower())
    return not plain or is_no_word(value) or _is_given(match, value)


def _is_given(match: re.Match[str], value: str) -> bool:
    """Whether a plain value is assigned as programs do it, `token=abcd`: nobody writes a sentence so."""
    if len(value) < _SHORTEST or "token" in value:
        return False
    return _GIVEN.fullmatch(match.string, match.start("name"), match.end("name")) is not None


def _has_password(value: str) -> bool:
    """Whether it decodes to `user:password`, as the header of that name does."""
    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return False


_KEY = re.compile(r"token|api_?key|secret|password|passwd|private_key|authorization|bearer", re.IGNORECASE)


def redact(value: Any, serialized: str) -> Any:
    """`value` with secrets replaced. Most answers hold none, which one look at their JSON tells."""
    lowered = serialized.lower()
    held = _likely_clues(lowered) if len(lowered) > _LONG else [clue for clue in _CLUES if clue in lowered]
    clues = [clue for clue in held if _is_there(lowered, clue)]
    return _walk(value, clues) if clues or any(name in lowered for name in _HIDING_NAMES) else value


_SLOT_BITS = 18
"""Of a quarter of a million slots the thousand windows take so few that hardly another word falls into one."""


class _Window(NamedTuple):
    """Four bytes by which a clue is found in a long text."""

    clue: str
    behind: int
    """From the first of them to the first byte behind the clue."""


_FOREIGN = frozenset(range(0xC2, 0xF5))
"""The first byte of a sign beyond ASCII. It may be a letter or a space, so it is let through where either may stand."""
_WORDLIKE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-") | _FOREIGN
_SPACED = frozenset(b" \t\n\r\\:=") | _FOREIGN
"""What may stand between a name and its value. A backslash: the text is JSON, where it begins a space or a quote."""
_BEHIND = {
    **dict.fromkeys(_CLUES, _WORDLIKE),
    **dict.fromkeys(_NAMES, _WORDLIKE | _SPACED | frozenset(b"\"'")),
    **dict.fromkeys(("bearer", "basic"), _SPACED),
    "private key-----": frozenset(range(0x100)),
    "://": frozenset(range(0x21, 0x7F)) | _FOREIGN,
    "xox": frozenset(b"abeoprs"),
}
"""The bytes that may follow a clue in a secret."""
_VALUE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-.~+/=") | frozenset(range(0x80, 0x100))
_LEAST_VALUE = {"bearer": 1, "basic": 8}


def _likely_clues(lowered: str) -> list[str]:
    """The clues that stand anywhere in a long text with bytes behind them that a secret may have there: one pass."""
    import numpy as np

    table, windows = _windows()
    data = lowered.encode()
    signs = np.frombuffer(data, np.uint8)
    places, words = (np.concatenate(parts) for parts in zip(*_hits(data, table), strict=True))
    found: set[str] = set()
    for value in windows.keys() & np.unique(words).tolist():
        window = windows[value]
        if window.clue not in found and _may_follow(window.clue, signs, places[words == value] + window.behind):
            found.add(window.clue)
    if "@" not in lowered:  # an address without one names no password
        found.discard("://")
    return [clue for clue in _CLUES if clue in found]


def _hits(data: bytes, table: Any) -> Iterator[tuple[Any, Any]]:
    """Where four bytes stand that may be a window, and these as a number, for each way to cut the text by four."""
    import numpy as np

    for offset in range(4):
        words = np.frombuffer(data, "<u4", (len(data) - offset) // 4, offset)
        places = np.flatnonzero(table.take(_slots(words)))
        yield places * 4 + offset, words[places]


def _may_follow(clue: str, signs: Any, behind: Any) -> bool:
    """Whether at any place the bytes behind a clue are such as a secret has."""
    first = signs.take(behind, mode="clip")
    likely = _byte_table(_BEHIND[clue])[first]
    if clue in _NAMES or clue in _LEAST_VALUE:
        # Behind a single space a name has no value (`the key to it`), and the others have one of some length.
        fits = (first != ord(" ")) | _byte_table(_SPACED)[signs.take(behind + 1, mode="clip")]
        likely &= fits | _is_long(signs, behind + 1, _LEAST_VALUE.get(clue))
    return bool(likely.any())


def _is_long(signs: Any, begin: Any, least: int | None) -> Any:
    """Where so many bytes in a row may be parts of a value."""
    if least is None:
        return False
    found = _byte_table(_VALUE)[signs.take(begin, mode="clip")]
    for place in range(1, least):
        found &= _byte_table(_VALUE)[signs.take(begin + place, mode="clip")]
    return found


@cache
def _byte_table(signs: frozenset[int]) -> Any:
    import numpy as np

    table = np.zeros(0x100, np.bool_)
    table[list(signs)] = True
    return table


@cache
def _windows() -> tuple[Any, dict[int, _Window]]:
    """The four bytes of every clue, shorter ones with each byte that may follow, and a table of them by their slots."""
    import numpy as np

    windows: dict[int, _Window] = {}
    for clue, signs in _BEHIND.items():
        for text, behind in _spelled(clue, signs):
            windows[int.from_bytes(text, "little")] = _Window(clue, behind)
    table = np.zeros(1 << _SLOT_BITS, np.bool_)
    table[_slots(np.array(list(windows), np.uint32))] = True
    return table, windows


def _spelled(clue: str, signs: frozenset[int]) -> Iterator[tuple[bytes, int]]:
    if clue == "private key-----":  # its end is a line in Markdown
        yield b"ey--", 7
    elif len(clue) >= 4:
        yield clue[-4:].encode(), 4
    else:
        starts = [f"{letter}{clue}" for letter in "rsp"] if clue == "k_" else [clue]
        yield from ((start.encode() + bytes([sign]), 3) for start in starts for sign in signs)


def _slots(words: Any) -> Any:
    import numpy as np

    return ((words * np.uint32(2_654_435_761)) >> np.uint32(32 - _SLOT_BITS)).astype(np.intp)


def _is_there(lowered: str, clue: str) -> bool:
    """Whether a clue that the text holds stands anywhere as a secret would have it."""
    return clue not in _BEGINS_A_WORD or any(True for _ in _places(lowered, clue))


def redact_text(text: str) -> str:
    return hide_secrets(text)[0]


def _walk(value: Any, clues: list[str]) -> Any:
    """Texts are searched for the clues that their answer holds."""
    if isinstance(value, str):
        return _hide_near(value, clues)[0]
    if isinstance(value, dict):
        return {key: HIDDEN if _secret(key, item) else _walk(item, clues) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, clues) for item in value]
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
