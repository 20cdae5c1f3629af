"""Blocks of governed memory: proposed, applied, edited by hand, each found in the next call, where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Caller

BLOCK = """[{id}]
Date: 2026-02-13
Status: {status}
Statement: {statement}
Tags: database, storage
"""


@pytest.fixture
def folder(call: Caller, engine: str, tmp_path: Path) -> Path:
    if engine == "postgres":
        pytest.skip("the files of memory lie beside the SQLite store")
    return tmp_path / "home" / "workspaces" / "ws" / "memory"


def write(folder: Path, *blocks: str) -> None:
    path = folder / "decisions" / "DECISIONS.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# Decisions\n\n" + "\n---\n\n".join(blocks), encoding="utf-8")


def decision(number: int, statement: str, status: str = "active") -> str:
    return BLOCK.format(id=f"D-20260213-{number:03d}", status=status, statement=statement)


def test_a_proposal_is_found_by_its_words(call: Caller) -> None:
    call("propose_update", block_type="decision", statement="Use Redis for session caching", rationale="speed")
    hit = call("recall", query="redis session cache")["results"][0]
    assert "Redis" in hit["excerpt"]
    assert hit["source"] == "block"


def test_a_block_written_by_hand_is_found_where_it_stands(call: Caller, folder: Path) -> None:
    write(folder, decision(1, "Use PostgreSQL for storage"), decision(2, "Keep invoices for ten years"))
    hit = call("recall", query="invoices")["results"][0]
    assert (hit["_id"], hit["type"], hit["status"]) == ("D-20260213-002", "decision", "active")
    assert (hit["file"], hit["tags"]) == ("decisions/DECISIONS.md", "database, storage")
    text = (folder / "decisions" / "DECISIONS.md").read_text(encoding="utf-8").splitlines()
    assert text[hit["line"] - 1] == "[D-20260213-002]"


def test_a_hand_edit_is_found_and_the_old_words_are_not(call: Caller, folder: Path) -> None:
    write(folder, decision(1, "Use PostgreSQL for storage"))
    assert call("recall", query="postgresql")["count"] == 1
    write(folder, decision(1, "Use CockroachDB for storage"))
    assert call("recall", query="cockroachdb")["count"] == 1
    assert call("recall", query="postgresql")["count"] == 0


def test_superseded_blocks_sink_and_active_only_hides_them(call: Caller, folder: Path) -> None:
    write(
        folder,
        decision(1, "Use MySQL for the order storage", "superseded"),
        decision(2, "Use SQLite for the order storage"),
    )
    hits = call("recall", query="order storage")["results"]
    assert [hit["_id"] for hit in hits] == ["D-20260213-002", "D-20260213-001"]
    assert hits[1]["status"] == "superseded"
    only = call("recall", query="order storage", active_only=True)["results"]
    assert [hit["_id"] for hit in only] == ["D-20260213-002"]


def test_a_question_for_history_keeps_superseded_blocks_in_their_place(call: Caller, folder: Path) -> None:
    write(
        folder,
        decision(1, "Use MySQL for orders because of MySQL skills", "superseded"),
        decision(2, "Use SQLite for orders"),
    )
    for query in ("why did we previously use MySQL for orders", "the history of MySQL for orders"):
        assert call("recall", query=query)["results"][0]["_id"] == "D-20260213-001"
    assert call("recall", query="why MySQL for orders")["results"][0]["_id"] == "D-20260213-002"


def test_what_replaced_a_block_answers_in_its_place_and_shows_it(call: Caller, folder: Path) -> None:
    new = decision(2, "Everything lies in one SQLite file").replace("Tags:", "Supersedes: D-20260213-001\nTags:")
    write(
        folder,
        decision(1, "Use MySQL for the order storage", "superseded"),
        new,
        decision(3, "The order of the storage boxes is by colour"),
    )
    hits = call("recall", query="do we still use MySQL for the order storage?")["results"]
    assert hits[0]["_id"] == "D-20260213-002"
    assert [old["_id"] for old in hits[0]["replaces"]] == ["D-20260213-001"]
    assert "MySQL" in hits[0]["replaces"][0]["excerpt"]
    assert "D-20260213-001" not in [hit["_id"] for hit in hits]


def test_a_changed_kernel_changes_the_order(call: Caller, folder: Path) -> None:
    write(folder, decision(1, "Storage is PostgreSQL"), decision(2, "Say storage"))
    call("recall", query="storage")
    kernel = folder / "mind" / "rerank.mind"
    before = call("recall", query="storage", explain=True)["results"][0]["score"]
    kernel.parent.mkdir(parents=True, exist_ok=True)
    kernel.write_text("[weights]\nwindow = 20\n", encoding="utf-8")
    assert call("recall", query="storage", explain=True)["results"][0]["score"] > before + 1


def test_both_sides_of_a_contradiction_stand_together(call: Caller, folder: Path) -> None:
    blocks = [decision(number, f"Sessions live for {number} hours in the cache") for number in range(2, 8)]
    other = decision(9, "Logins never expire")
    blocks[0] = blocks[0].replace("Tags:", "Contradicts: D-20260213-009\nTags:")
    write(folder, *blocks, other)
    shown = [hit["_id"] for hit in call("recall", query="sessions live 2 hours cache", limit=2)["results"]]
    assert shown == ["D-20260213-002", "D-20260213-009"]
