"""Whether a value in the position of a secret is one, or a placeholder, an expression of code or a word."""

from __future__ import annotations

import re
from base64 import b64decode

from clew.letters import is_no_word
from clew.secrets.formats import (
    ADDRESS,
    BASIC,
    BEARER,
    COOKIES,
    ELEMENT,
    HEADER,
    IN_COMMANDS,
    NAMED,
    OPTIONS,
    SQL,
    WEBHOOKS,
)

HIDDEN = "<redacted>"

# Words that follow a name in a sentence, an error message or a declaration, and are no value of it.
_WORD = re.compile(
    r"a|an|and|any|are|array|as|at|await|be|before|bool|boolean|but|by|bytes|char|default|empty|expected|false|field|float"
    r"|for|from|given|hidden|if|in|input|int|integer|invalid|is|it|lambda|longer|missing|must|new|nil|no|none|not|null"
    r"|number|object|of|on|optional|or|out|print|required|return|see|self|set|str|string|text|that|the|this|to|true"
    r"|undefined|unknown|unset|use|value|void|was|with|wrong|yield",
    re.IGNORECASE,
)
# Words that follow an option in a sentence about it.
_ABOUT = re.compile(
    r"after|again|also|and|argument|can|does|env|file|first|flag|has|have|here|may|only|option|parameter|should|so|switch"
    r"|then|there|they|variable|we|when|where|which|while|who|will|would|you",
    re.IGNORECASE,
)
_NAME = re.compile(r"pass|pwd|token|secret|credential|key", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z_]*")
_DOTTED = re.compile(r"[A-Za-z_]+(?:\??\.[A-Za-z_]+)+")
_CALL = re.compile(r"\*{0,2}[A-Za-z_][\w.]*[(\[{]")
_FILLER = re.compile(r"[xX]{3,}|[*.•_#?-]+|\.\.\.\S*|…")
_TEMPLATE = re.compile(r"\$(?:\{|\(|[A-Z_][A-Z0-9_]*\W*$|[a-z_]+\W*$)|[{<(\[]|%[\w({]|\*|\\[SsWwDdb]")
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|some|any)[\w-]*(?:pass|pwd|token|secret|credential|key)[\w-]*"
    r"|change[-_]?me|placeholder|redacted|example",
    re.IGNORECASE,
)
_COUNT = re.compile(r"[\d_.,/+-]+[kKmM%]?")
_DESCRIBES = re.compile(
    r"[_-]?(?:urls?|uri|endpoint|files?|path|dir|name|ids?|type|env|header|variables?|vars?|fields?|length|len|counts?"
    r"|limit|ttl|expir\w*|budget|usage|estimated?|needed|required|prefix|regex|pattern|policy|version|label|title|index"
    r"|store|manager|provider|helper|class|function|method|param\w*|args?|options?)(?:_\w*)?",
    re.IGNORECASE,
)
"""The rest of a name that describes a secret: `token_type`, `password_file`."""
_SENTENCE_WORDS = 5
_SHORTEST = 4
"""Characters of a value from which it is hidden whatever it is."""
_CLOSING = ")]}\\"
"""What closes something around a bare value, or begins an escaped quote."""
_ASSIGNED = re.compile(r"(?:(?<=\\)(?:[bfnrt]|u00[01][0-9a-f]))?token=", re.IGNORECASE)
"""The whole name, after an escape where the text holds JSON."""
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}")
"""So many in a row are hardly in any word."""
_CAPITAL_INSIDE = re.compile(r"(?<=[a-z])[A-Z]")


def secret_span(match: re.Match[str]) -> tuple[int, int] | None:
    """The part of a match of one of the formats that must be hidden; None where it is no secret after all."""
    parts = match.groupdict()
    group = next((name for name in ("value", "inner", "deep", "signature") if parts.get(name) is not None), None)
    if group is None:
        return match.span()
    value, start = parts[group], match.start(group)
    if match.re in (NAMED, OPTIONS, IN_COMMANDS) and group == "value":
        value = value.rstrip(_CLOSING)
    if value.startswith(HIDDEN) or not _CHECKS[match.re](match, value):
        return None
    return start, start + len(value)


def _is_named_value(match: re.Match[str], value: str) -> bool:
    if _DESCRIBES.fullmatch(match["rest"] or "") or is_placeholder(value):
        return False
    if match["value"] is None:
        return not _is_description(match, value)
    if is_code(value):
        return False
    return _is_likely(match, value.rstrip(".)]}:!"))


def _is_likely(match: re.Match[str], value: str) -> bool:
    """A password or key may be anything; a token or secret is no plain word or count (`secret=santa`, `tokens: 12`)."""
    word = match["word"].lower()
    plural = match.string[match.end("word") : match.end("word") + 1].lower() == "s"
    if not value or _WORD.fullmatch(value) or (plural and _COUNT.fullmatch(value)):
        return False
    if (word.startswith(("pass", "pwd")) and word != "pass") or "key" in word:
        return any(character.isalnum() for character in value)
    plain = _COUNT.fullmatch(value) is not None or (value.replace("_", "").isalpha() and value.islower())
    return not plain or is_no_word(value) or _is_assigned(match, value)


def _is_assigned(match: re.Match[str], value: str) -> bool:
    """Whether a plain value is assigned as programs do it, `token=abcd`: sentences are not written that way."""
    if len(value) < _SHORTEST or "_" in value or "token" in value:
        return False
    return _ASSIGNED.fullmatch(match.string, match.start("name"), match.end("name")) is not None


def _is_description(match: re.Match[str], value: str) -> bool:
    """Whether a quoted value is a sentence about the secret, a type or another name."""
    if _WORD.fullmatch(value) or value.startswith((",", ")", "]", "}", ";")):  # the quote closed what was before it
        return True
    if re.fullmatch(r"[A-Za-z_-]+", value) and (_NAME.search(value) or match["word"].lower() == "credential"):
        return True
    words = value.split()
    return len(words) > _SENTENCE_WORDS or (len(words) > 2 and value.endswith((".", ":", "?")))


def _is_option_value(match: re.Match[str], value: str) -> bool:
    if is_placeholder(value) or is_code(value):
        return False
    plain = value.rstrip(".:)!?")
    if match["quote"] is not None:
        return not _WORD.fullmatch(value)
    if not plain or _WORD.fullmatch(plain) or _ABOUT.fullmatch(plain) or plain.startswith(("/", "~")):
        return False
    word = match["word"].lower()
    return word.startswith(("pass", "pwd")) or not plain.isalpha() or not plain.islower() or is_no_word(plain)


def _is_command_value(match: re.Match[str], value: str) -> bool:
    return not is_placeholder(value) and not value.isdigit() and not is_code(value)


def _is_no_name(match: re.Match[str], value: str) -> bool:
    return not is_placeholder(value) and not (_IDENTIFIER.fullmatch(value) and _NAME.search(value))


def _is_bearer(match: re.Match[str], value: str) -> bool:
    return is_token(value.rstrip(".=/"))


def _has_password(match: re.Match[str], value: str) -> bool:
    """Whether it decodes to `user:password`, as the header of that name does."""
    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return False


def _is_given(match: re.Match[str], value: str) -> bool:
    return not is_placeholder(value)


_CHECKS = {
    NAMED: _is_named_value,
    ELEMENT: _is_named_value,
    OPTIONS: _is_option_value,
    IN_COMMANDS: _is_command_value,
    HEADER: _is_no_name,
    ADDRESS: _is_no_name,
    BEARER: _is_bearer,
    BASIC: _has_password,
    **dict.fromkeys((COOKIES, SQL, WEBHOOKS), _is_given),
}


def is_placeholder(value: str) -> bool:
    """`$TOKEN`, `<token>`, `{{ token }}`, `xxxx`, `your-api-key`."""
    if not value or value.startswith(HIDDEN) or _TEMPLATE.match(value) or _FILLER.fullmatch(value):
        return True
    bare = value.rstrip(".,;:)]}'\"")
    return _PLACEHOLDER.fullmatch(bare) is not None


def is_code(value: str) -> bool:
    """A call, an attribute, a type, or a variable that is named after what it holds."""
    if _CALL.match(value):
        return True
    bare = value.rstrip(".,;:)]}?!")
    if _DOTTED.fullmatch(bare):
        return True
    if _IDENTIFIER.fullmatch(bare) and _NAME.search(bare):
        return True
    head = re.match(r"[A-Za-z_]+(?=[)\]}.])", value)
    return head is not None and (_WORD.fullmatch(head.group()) or _NAME.search(head.group())) is not None


def is_token(value: str) -> bool:
    """Whether what follows `bearer` in a sentence is no word of it: it has digits, is very long, or looks random."""
    if len(value) < 6:
        return False
    if any(character.isdigit() for character in value):
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
