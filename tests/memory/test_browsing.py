"""Looking at blocks: lists by kind, status and words; a block's versions with who and what made them."""

from __future__ import annotations

from tests.memory.conftest import Memory


def ids(memory: Memory, **arguments: object) -> list[str]:
    return [block["block_id"] for block in memory("list_blocks", **arguments)["blocks"]]


def test_blocks_are_listed_by_kind_status_and_words(memory: Memory) -> None:
    redis, _ = memory.decide("Use Redis for sessions")
    kafka, _ = memory.decide("Use Kafka for events", supersedes=redis)
    shed, _ = memory.decide("Paint the shed", block_type="task")
    assert set(ids(memory)) == {redis, kafka, shed}
    assert ids(memory, kind="task") == [shed]
    assert ids(memory, kind="decision", status="superseded") == [redis]
    assert ids(memory, words="KAFKA use") == [kafka]
    assert ids(memory, words="kafka redis") == []
    assert any(id.startswith("SIG-") for id in ids(memory, kind="any"))


def test_blocks_are_paged_and_counted(memory: Memory) -> None:
    for thing in ("Redis", "Kafka", "Envoy"):
        memory.decide(f"Use {thing}")
    first = memory("list_blocks", limit=2)
    assert (first["total"], first["next_offset"], first["statuses"]) == (3, 2, {"active": 3})
    rest = memory("list_blocks", limit=2, offset=2)
    assert rest["next_offset"] is None
    assert len({block["block_id"] for block in first["blocks"] + rest["blocks"]}) == 3


def test_overdue_blocks_are_listed_alone(memory: Memory) -> None:
    late, _ = memory.decide("Use Redis", review_by="2023-01-31")
    memory.decide("Use Kafka", review_by="2099-01-31")
    assert ids(memory, overdue=True) == [late]
    assert memory("list_blocks", overdue=True)["blocks"][0]["review_due"] is True


def test_history_shows_each_version_with_its_proposal_receipt_and_diff(memory: Memory) -> None:
    block, receipt = memory.decide("Use Redis", rationale="It is fast")
    change = {"op": "update_field", "target": block, "field": "Rationale", "value": "It is simple"}
    proposal = memory("propose_edit", ops=[change], rationale="Speed was not the reason")["proposal_id"]
    second = memory("approve_apply", proposal_id=proposal, dry_run=False)["receipt_ts"]
    found = memory("block_history", block_id=block)
    assert (found["kind"], found["status"], found["says"]) == ("decision", "active", "Use Redis")
    newest, oldest = found["versions"]
    assert (newest["version"], newest["cause"], newest["receipt_ts"]) == (2, proposal, second)
    assert (oldest["version"], oldest["receipt_ts"]) == (1, receipt)
    assert "-Rationale: It is fast" in newest["diff"] and "+Rationale: It is simple" in newest["diff"]
    assert "+Statement: Use Redis" in oldest["diff"]


def test_history_survives_removal_and_says_that_it_was_rolled_back(memory: Memory) -> None:
    block, receipt = memory.decide("Use Redis")
    memory("rollback_proposal", receipt_ts=receipt)
    found = memory("block_history", block_id=block)
    assert found["status"] == "removed"
    assert found["versions"][0]["removed"] and found["versions"][1]["rolled_back"]


def test_an_edit_by_hand_is_a_version_of_its_own(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis")
    path = "decisions/DECISIONS.md"
    memory.edit(path, memory.read(path).replace("Use Redis", "Use Valkey"))
    newest = memory("block_history", block_id=block)["versions"][0]
    assert newest["origin"] == "edit" and newest["cause"] is None
    assert "+Statement: Use Valkey" in newest["diff"]


def test_an_unknown_block_says_where_to_look(memory: Memory) -> None:
    error = memory.error("block_history", block_id="D-20200101-001")
    assert error["code"] == "UNKNOWN_ID"
    assert memory.error("block_history", block_id="not an id")["code"] == "INVALID_INPUT"


def test_open_and_block_history_tell_the_same_of_each_version(memory: Memory) -> None:
    path = "decisions/DECISIONS.md"
    block, _ = memory.decide("Use component 0")
    for number in range(3):
        memory.edit(path, memory.read(path).replace(f"component {number}", f"component {number + 1}"))
        memory("list_proposals")
    found, opened = memory("block_history", block_id=block, limit=3), memory("open", id=block, limit=3)
    shared = ("seq", "ts", "agent", "origin", "cause")
    assert [[version[key] for key in shared] for version in found["versions"]] == [
        [version[key] for key in shared] for version in opened["history"]
    ]
    assert [version["version"] for version in found["versions"]] == [opened["versions"] - age for age in range(3)]
    assert (found["versions_total"], found["truncated"]) == (opened["versions"], True)
    assert (found["status"], found["line"], found["text"]) == (
        opened["status"],
        opened["block"]["line"],
        opened["block"]["text"],
    )


def test_a_page_behind_a_place_misses_and_repeats_nothing_while_blocks_are_added(memory: Memory) -> None:
    known = [memory.decide(f"Use component {number}")[0] for number in range(5)]
    first = memory("list_blocks", limit=2)
    memory.decide("Use one more")
    rest = memory("list_blocks", limit=10, after=first["next_after"])
    assert rest["next_after"] is None
    assert [block["block_id"] for block in first["blocks"] + rest["blocks"]] == known[::-1]
    assert memory.error("list_blocks", after="somewhere")["code"] == "INVALID_INPUT"


def test_a_list_that_is_cut_leads_on_from_what_it_shows(memory: Memory) -> None:
    known = [memory.decide(f"Use component {number} for {'everything ' * 10}")[0] for number in range(5)]
    cut = memory("list_blocks", max_chars=1_500)
    shown = [block["block_id"] for block in cut["blocks"]]
    assert 0 < len(shown) < len(known)
    rest = memory("list_blocks", after=cut["next_after"])
    assert shown + [block["block_id"] for block in rest["blocks"]] == known[::-1]


def test_words_are_found_in_whatever_case_and_alphabet(memory: Memory) -> None:
    street, _ = memory.decide("Die STRASSE nach Äußerstes 100%_fertig")
    for words in ("strasse", "Äußerstes", "äußerstes", "100%_fertig"):
        assert ids(memory, words=words) == [street], words
    assert ids(memory, words="100x_fertig") == []
