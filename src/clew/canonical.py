"""One way to write JSON that is compared or stored, and one digest of it: equal values are equal bytes.

`hashlib` is loaded on first use: it brings OpenSSL, and most starts need no digest."""

from __future__ import annotations

from typing import Any

import orjson

Json = dict[str, Any]
"""A JSON object whose names belong to a contract: an answer, a part of one, or the payload of an event."""


def without_none(**fields: Any) -> Json:
    """A part of an answer: those fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def canonical(value: Any) -> str:
    """Compact JSON with sorted keys."""
    return canonical_bytes(value).decode()


def canonical_bytes(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def canonical_or_none(value: Any) -> str | None:
    """For a column that may be empty: an absent value stays NULL instead of becoming the text `null`."""
    return None if value is None else canonical(value)


def digest(text: str | bytes, size: int = 12) -> str:
    """A short fingerprint in hex, two digits for each byte of `size`.

    Twelve bytes tell ten million texts apart with a chance of collision below 10**-14. Fingerprints are stored, so a
    `size` must stay what it is where it is used.
    """
    from hashlib import blake2b

    data = text.encode() if isinstance(text, str) else text
    return blake2b(data, digest_size=size).hexdigest()


def sha256_hex(text: str | bytes, length: int = 64) -> str:
    """The digest that people and other programs compute too (`sha256sum`), cut to `length` hex digits."""
    from hashlib import sha256

    data = text.encode() if isinstance(text, str) else text
    return sha256(data).hexdigest()[:length]
