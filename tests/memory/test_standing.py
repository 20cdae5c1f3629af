"""Keeping a record: at once where nothing speaks against it, staged with a reason otherwise, findable either way."""

from __future__ import annotations

from typing import Any

import pytest

from clew.errors import ClewError
from clew.memory import blocks
from clew.memory.durable_records import PREFIXES, Kept, Kind, Record, keep_within, read_ahead
from clew.memory.files.governed_write import governed_transaction
from clew.registry.context import Context
from tests.memory.conftest import Memory


def as_agent(memory: Memory, agent: str | None) -> Context:
    return Context(memory.clew.dispatcher, memory.session, "ws", agent)


def remember(memory: Memory, kind: Kind, text: str, agent: str | None = "codex", **more: Any) -> Kept:
    ctx = as_agent(memory, agent)
    told: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in more.items()}
    odds = read_ahead(ctx, kind, text, ())
    with governed_transaction(ctx) as bound:
        return keep_within(bound, Record(kind, text, **told), odds)


def status_of(memory: Memory, id: str) -> str | None:
    with memory.context().reading() as ctx:
        found = blocks.find(ctx, id)
        return found.status if found else None


def found(memory: Memory, query: str) -> dict[str, str]:
    return {hit["_id"]: hit["status"] for hit in memory("recall", query=query)["results"]}


@pytest.mark.parametrize("kind", PREFIXES)
def test_a_record_is_kept_at_once_in_a_file_a_person_can_read(memory: Memory, kind: Kind) -> None:
    kept = remember(memory, kind, "Errors are one line", why="The user said so", title="Errors", about=["src/cli.py"])
    assert (kept.id, kept.state, kept.written) == (f"{PREFIXES[kind]}-1", "kept", True)
    with memory.context().reading() as ctx:
        block = blocks.get(ctx, kept.id)
    text = memory.read(block.file)
    assert f"[{kept.id}]\n" in text
    assert "Statement: Errors are one line\n" in text
    assert "Author: codex" in text
    assert found(memory, "errors one line")[kept.id] == "active"
    memory.agree()
    assert memory("block_history", block_id=kept.id)["versions"][0]["receipt_ts"] == kept.receipt_ts


def test_what_was_kept_can_be_rolled_back_and_edited_by_hand(memory: Memory) -> None:
    first = remember(memory, "lesson", "Lines have 120 columns")
    second = remember(memory, "lesson", "Lines have 100 columns", replaces=[first.id])
    assert (second.state, status_of(memory, first.id)) == ("kept", "superseded")
    memory("rollback_proposal", receipt_ts=second.receipt_ts)
    assert (status_of(memory, first.id), status_of(memory, second.id)) == ("active", None)
    memory.edit("knowledge/LESSONS.md", memory.read("knowledge/LESSONS.md").replace("120 columns", "88 columns"))
    assert memory("block_history", block_id=first.id)["says"] == "Lines have 88 columns"
    memory.agree()


def test_what_contradicts_is_staged_with_the_reason_and_found_as_proposed(memory: Memory) -> None:
    first = remember(memory, "decision", "Use PostgreSQL for billing")
    second = remember(memory, "decision", "Use MySQL for billing", agent="claude")
    assert second.state == "proposed"
    assert [item.block.id for item in second.contradicts] == [first.id]
    assert first.id in second.reason
    assert found(memory, "mysql billing")[second.id] == "proposed"
    assert memory("list_contradictions")["contradictions"] == 0
    proposal = memory("list_proposals", status="staged")["proposals"][0]
    assert (proposal["proposal_id"], proposal["target"]) == (second.proposal_id, second.id)
    memory("approve_apply", proposal_id=second.proposal_id, dry_run=False)
    assert status_of(memory, second.id) == "active"
    assert memory("list_contradictions")["contradictions"] == 1


def test_a_preference_is_replaced_only_after_review(memory: Memory) -> None:
    first = remember(memory, "preference", "Answer in German", agent="codex")
    second = remember(memory, "preference", "Answer in short sentences", agent="claude", replaces=[first.id])
    assert (second.state, status_of(memory, first.id)) == ("proposed", "active")
    assert second.reason == f"replaces {first.id}, which is a preference, which belongs to the user"
    memory("approve_apply", proposal_id=second.proposal_id, dry_run=False)
    assert (status_of(memory, first.id), status_of(memory, second.id)) == ("superseded", "active")


def test_what_a_person_edited_is_a_persons(memory: Memory) -> None:
    first = remember(memory, "lesson", "Lines have 120 columns")
    path = "knowledge/LESSONS.md"
    memory.edit(path, memory.read(path).replace("Lines have 120 columns", "Lines have 99 columns"))
    second = remember(memory, "lesson", "Lines have 80 columns", replaces=[first.id])
    assert (second.state, second.reason) == ("proposed", f"replaces {first.id}, which is edited by a person")


def test_an_invariant_is_not_replaced_without_review(memory: Memory) -> None:
    text = "[D-9]\nStatus: active\nStatement: Keep logs\nConstraintSignatures:\n- id: CS-1\n  enforcement: invariant\n"
    memory.edit("decisions/DECISIONS.md", text)
    kept = remember(memory, "decision", "Rotate archives", replaces=["D-9"])
    assert kept.state == "proposed"
    assert "invariant" in kept.reason


def test_a_rejected_alternative_speaks_against_itself_being_chosen(memory: Memory) -> None:
    rejected = remember(memory, "rejected", "Use python-dotenv", why="It skips bad lines")
    chosen = remember(memory, "decision", "Use python-dotenv")
    assert [item.block.id for item in chosen.contradicts] == [rejected.id]
    assert chosen.state == "proposed"


def test_the_same_again_is_kept_once_and_nearly_the_same_is_told(memory: Memory) -> None:
    first = remember(memory, "lesson", "The parser loses its place after an empty line")
    again = remember(memory, "lesson", "the parser loses its place after an EMPTY line.")
    assert (again.id, again.written, again.state) == (first.id, False, "kept")
    near = remember(memory, "lesson", "The parser loses its place after an empty header line")
    assert [block.id for block in near.repeats] == [first.id]
    assert near.written


def test_an_agent_approves_no_record_and_a_person_does(memory: Memory) -> None:
    memory("governance", review="all")
    kept = remember(memory, "fact", "The build needs Node 22", agent=None)
    assert (kept.state, kept.reason) == ("proposed", "governance review=all: every record is reviewed")
    given = {"proposal_id": kept.proposal_id, "dry_run": False}
    for agent in (None, "bob"):
        memory.session.agent_id = agent
        refused = memory.clew.dispatcher.call("approve_apply", given, memory.session).envelope["error"]
        assert (refused["code"], refused["details"]["rule"]) == ("NOT_ALLOWED", "person")
    memory("approve_apply", proposal_id=kept.proposal_id, dry_run=False)
    assert status_of(memory, kept.id) == "active"


def test_a_rejected_record_stays_in_its_file_as_rejected_and_does_not_come_back(memory: Memory) -> None:
    remember(memory, "decision", "Use PostgreSQL for billing")
    kept = remember(memory, "decision", "Use MySQL for billing", agent="claude")
    memory("reject_proposal", proposal_id=kept.proposal_id, reason="Too costly")
    assert status_of(memory, kept.id) == "rejected"
    with pytest.raises(ClewError, match="rejected value"):
        remember(memory, "decision", "Use MySQL for billing")


def test_a_person_approves_by_writing_active_into_the_file(memory: Memory) -> None:
    first = remember(memory, "rule", "Lines have 120 columns", agent="codex")
    second = remember(memory, "rule", "Lines have 100 columns", agent="claude", replaces=[first.id])
    path = "knowledge/RULES.md"
    memory.edit(path, memory.read(path).replace("Status: proposed", "Status: active"))
    assert memory("list_proposals", status="staged")["total"] == 0
    assert (status_of(memory, first.id), status_of(memory, second.id)) == ("superseded", "active")
    memory.agree()


def test_ids_are_short_and_never_used_twice(memory: Memory) -> None:
    memory.edit("knowledge/RULES.md", "[R-1]\nStatus: active\nStatement: Written by hand\n")
    ids = [remember(memory, "rule", f"Rule about {word}").id for word in ("anchors", "bridges", "canals")]
    assert ids == ["R-2", "R-3", "R-4"]


def test_a_record_that_no_record_replaces_is_refused(memory: Memory) -> None:
    first = remember(memory, "lesson", "Lines have 120 columns")
    second = remember(memory, "lesson", "Lines have 100 columns", replaces=[first.id])
    with pytest.raises(ClewError, match=f"superseded by {second.id}"):
        remember(memory, "lesson", "Lines have 90 columns", replaces=[first.id])
    with pytest.raises(ClewError, match="must not be empty"):
        remember(memory, "rule", " \n ")


def test_links_of_a_record_are_shown_by_open(memory: Memory) -> None:
    first = remember(memory, "fact", "The build needs Node 22")
    second = remember(memory, "decision", "Pin Node in the image", rests_on=[first.id, "CARD-7"])
    links = {(link["rel"], link["id"]) for link in memory("open", id=second.id)["links"]}
    assert {("rests_on", first.id), ("rests_on", "CARD-7")} <= links
