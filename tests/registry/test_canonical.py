"""Equal values are equal bytes, and digests that are stored never change their form."""

import hashlib

from clew.canonical import canonical, canonical_bytes, canonical_or_none, digest, sha256_hex


def test_the_order_of_keys_does_not_show() -> None:
    assert canonical({"b": [1, {"d": 2, "c": "ü"}], "a": None}) == '{"a":null,"b":[1,{"c":"ü","d":2}]}'
    assert canonical_bytes({"b": 1, "a": 2}) == canonical({"a": 2, "b": 1}).encode()


def test_an_absent_value_stays_absent() -> None:
    assert canonical_or_none(None) is None
    assert canonical_or_none({}) == "{}"


def test_digests_are_those_of_the_algorithms() -> None:
    assert digest("walrus") == digest(b"walrus") == hashlib.blake2b(b"walrus", digest_size=12).hexdigest()
    assert len(digest("walrus", 16)) == 32
    assert sha256_hex("walrus") == hashlib.sha256(b"walrus").hexdigest()
    assert sha256_hex("walrus", 16) == sha256_hex("walrus")[:16]
