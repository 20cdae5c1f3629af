"""Exports stay the same to the byte: people keep them under version control, and an update must not change them."""

from __future__ import annotations

from typing import Any

import pytest

from clew.canonical import sha256_hex
from tests.ledger.conftest import Thinker

KEY = "00000000-0000-4000-8000-0000000000b7"


def _node(number: int) -> dict[str, Any]:
    """One of every kind in turn: plain, on a branch, a revision, with what other programs add, awkward texts."""
    branch = "side-1" if number % 11 == 0 else None
    texts = ["a plain thought", "S3|H|S1|a guess", "two\nlines \\ and\r\nmore", "<!-- /thought -->", "é ü 日本 > <"]
    data = {
        "thought": f"{texts[number % 5]} {number}",
        "thoughtNumber": number,
        "totalThoughts": 60,
        "nextThoughtNeeded": number % 13 != 0,
        "timestamp": f"2026-01-{1 + number % 28:02d}T00:{number % 60:02d}:07.{number * 7 % 1000:03d}Z",
        **({"branchId": branch, "branchFromThought": 4} if branch else {}),
        **({"isRevision": True, "revisesThought": number - 3} if number % 8 == 7 else {}),
        **({"agentId": "ann", "type": "H"} if number % 9 == 4 else {}),
        **({"ownField": {"deep": [1, "x"]}} if number % 10 == 6 else {}),
    }
    place = f"{KEY}:{branch}:{number}" if branch else f"{KEY}:{number}"
    before = number - 1 if (number - 1) % 11 else number - 2
    links = {
        "prev": None if number == 1 else f"{KEY}:4" if branch else f"{KEY}:{before}",
        "revisesNode": f"{KEY}:{number - 3}" if "isRevision" in data and (number - 3) % 11 else None,
        "branchOrigin": f"{KEY}:4" if branch else None,
    }
    if "isRevision" in data and links["revisesNode"] is None:
        del data["isRevision"], data["revisesThought"]
    return {"id": place, "data": data, "branchId": branch, **links}


def _session() -> dict[str, Any]:
    times = {"createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-02-01T00:00:00.500Z"}
    session = {"id": KEY, "title": "Every kind", "tags": ["a", "b,c"], **times}
    return {"version": "1.0", "session": session, "nodes": [_node(number) for number in range(1, 61) if number != 11]}


WRITTEN = {
    ("json", True): "5825cc14dd3bab0a",
    ("markdown", True): "616a2af9f48be546",
    ("markdown", False): "3e95175338683b9d",
    ("cipher", True): "40f72056c4aba991",
    ("cipher", False): "c642cbbfbb6fdfb4",
}
"""Digests of what the version of 2026-11-15 wrote."""


@pytest.mark.parametrize(("form", "marks"), WRITTEN)
def test_an_export_is_the_same_to_the_byte(thinker: Thinker, form: str, marks: bool) -> None:
    thinker("session_import", export=_session())
    content = thinker("session_export", sessionId=KEY, format=form, includeMetadata=marks)["content"]
    if form == "json":
        told = thinker.exported(KEY)["exportedAt"]  # the time of the workspace's last write
        content = content.replace(f'"exportedAt":"{told}",', "")
    assert sha256_hex(content, 16) == WRITTEN[form, marks]
