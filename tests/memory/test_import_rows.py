"""What reading a file in writes stays the same to the byte: search, history and rollback all stand on these rows."""

from __future__ import annotations

from clew.canonical import canonical, sha256_hex
from tests.memory.conftest import Memory

PATH = "decisions/ODD.md"
SAYINGS = (
    "Café isn't open?",
    "[8 May 2023, 13:56] Caroline: Hello there (really?)",
    "Never use PG's pg_dump in CamelCase-Thing.v2",
    "Ends in a question? [note]",
    "BM4X_Thing over users.email, see D-20260101-001 and a:area",
)
BLOCK = """[{id}]
Date: 2026-01-0{day}
Statement: {said}
Status: {status}
Tags: [a, {tag}], speaker:bob
Supersedes: D-20260101-001, D-12
Rationale: one
  two

  - three
Sources:
- see D-20260102-003 (log)
  more
- PLAN-3 and a:thing
Sources: again
Url: https://x.example/Y

prose [not] here
---
[Not-A header

"""
ROWS = {
    "block": "id, file, prefix, status, mark, review_by, text, fields, problems, origin",
    "place": "id, ordinal, at_line, lines, gap, problems",
    "item": "ref, source, kind, doc, event_ts_ms, title, body, tags, status, speaker, review_by, digest",
    "item_terms": "terms",
    "item_link": "relation, target",
}
WRITTEN = {
    "block": "bbd8579a5c2a852b",
    "place": "e4ebd5d55af6db14",
    "item": "cba1837d78f6ecbc",
    "item_terms": "3c9c68e6f3d15220",
    "item_link": "6c19760e66e03d2e",
}
"""Digests of what the version of 2026-11-15 wrote, on either engine."""


def _file() -> str:
    kinds = ("D", "T", "SIG", "FACT", "DIA", "X", "ZZ")
    blocks = [
        BLOCK.format(
            id=f"{kind}-2026010{number % 9 + 1}-{number:03d}",
            day=number % 9 + 1,
            said=said,
            status="archived" if number % 3 else "superseded",
            tag="Ada" if number % 2 else "b c",
        )
        for number, (kind, said) in enumerate((kind, said) for kind in kinds for said in SAYINGS)
    ]
    return "\ufeff[D-20200101-999]\r\nStatement: x\n\n# before [D-1]\n [D-2]\n" + "".join(blocks)


def _rows(memory: Memory, table: str) -> list[str]:
    with memory.context().reading() as ctx:
        found = ctx.tx.all(f"SELECT {ROWS[table]} FROM {table} WHERE workspace = 'ws'")
    return sorted(canonical(row) for row in found)


def test_reading_a_file_in_writes_the_same_rows(memory: Memory) -> None:
    memory.edit(PATH, _file())
    memory("list_proposals")
    assert {table: sha256_hex("\n".join(_rows(memory, table)), 16) for table in ROWS} == WRITTEN
