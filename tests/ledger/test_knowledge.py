"""The knowledge zone: patterns and scratchpad notes."""

from __future__ import annotations

from tests.ledger.conftest import Thinker

PATTERN = {"title": "Stale statistics", "description": "Plans go wrong after an upgrade.", "content": "Run ANALYZE."}


def test_a_pattern_is_created_changed_found_and_removed(thinker: Thinker) -> None:
    made = thinker.do("knowledge", subOperation="create_pattern", **PATTERN, tags=["Database"])["pattern"]
    assert made["id"] == "stale-statistics"
    assert thinker.do("knowledge", args={"action": "get_pattern", "id": made["id"]})["pattern"] == made
    changed = thinker("knowledge_update_pattern", id=made["id"], content="Run VACUUM ANALYZE.")["pattern"]
    assert changed["title"] == made["title"]
    assert thinker("knowledge_list_patterns", search="vacuum", tags=["database"])["count"] == 1
    assert thinker("knowledge_list_patterns", tags=["database", "other"])["count"] == 0
    assert thinker("knowledge_list_tags")["tags"] == [{"name": "Database", "patterns": 1}]
    thinker("knowledge_delete_pattern", id=made["id"])
    assert thinker("knowledge_list_patterns", search="vacuum")["count"] == 0
    assert thinker("knowledge_stats") == {"patterns": 0, "scratchpad": 0, "earlierVersions": 2}


def test_titles_may_repeat_and_ids_may_not(thinker: Thinker) -> None:
    ids = [thinker("knowledge_create_pattern", **PATTERN)["pattern"]["id"] for _ in range(3)]
    assert ids == ["stale-statistics", "stale-statistics-2", "stale-statistics-3"]
    assert thinker.error("knowledge_create_pattern", **PATTERN, id="stale-statistics")["code"] == "CONFLICT"
    assert thinker.error("knowledge_create_pattern", **PATTERN, id="../x")["code"] == "INVALID_INPUT"
    assert thinker.error("knowledge_create_pattern", title="only")["code"] == "INVALID_INPUT"


def test_an_unchanged_update_writes_nothing(thinker: Thinker) -> None:
    thinker("knowledge_create_pattern", **PATTERN)
    thinker("knowledge_update_pattern", id="stale-statistics", title="Stale statistics")
    assert thinker("knowledge_stats")["earlierVersions"] == 0


def test_patterns_are_listed_in_pages(thinker: Thinker) -> None:
    for number in range(5):
        thinker("knowledge_create_pattern", **{**PATTERN, "title": f"P{number}"})
    first = thinker("knowledge_list_patterns", limit=2, sortBy="title", sortOrder="asc")
    assert ([item["title"] for item in first["patterns"]], first["total"], first["hasMore"]) == (["P0", "P1"], 5, True)
    last = thinker("knowledge_list_patterns", limit=2, offset=4, sortBy="title", sortOrder="asc")
    assert ([item["title"] for item in last["patterns"]], last["hasMore"]) == (["P4"], False)


def test_a_scratchpad_note_is_shared_and_grows(thinker: Thinker) -> None:
    thinker("knowledge_write_scratchpad", title="Search latency", content="Ask the DBA.")
    grown = thinker("knowledge_write_scratchpad", id="search-latency", content="Answered.", append=True)["note"]
    assert grown["content"] == "Ask the DBA.\n\nAnswered."
    assert thinker("knowledge_list_scratchpad", search="DBA")["notes"][0]["id"] == "search-latency"
    assert thinker("knowledge_read_scratchpad", id="search-latency")["note"] == grown
    thinker("knowledge_delete_scratchpad", id="search-latency")
    assert thinker.error("knowledge_read_scratchpad", id="search-latency")["code"] == "UNKNOWN_ID"
    assert thinker("knowledge_list_scratchpad")["count"] == 0
