"""Stores that exchange their memory come to say the same, whatever arrives twice, late or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TickingClock
from tests.sync.stores import Store, stores


@pytest.fixture
def two(database_flags: dict[str, Any], tmp_path: Path, clock: TickingClock) -> Iterator[list[Store]]:
    with stores(2, database_flags, tmp_path / "stores", clock) as opened:
        yield opened


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return tmp_path / "remote"


def settle(opened: list[Store], remote: Path) -> list[dict[str, Any]]:
    """Exchange until nothing is left to say."""
    for _ in range(4):
        results = [store.exchange(remote) for store in opened]
        if not any(result["captured"] or result["received"] or result["sent"] for result in results):
            return results
    raise AssertionError(f"never comes to rest: {results}")


def test_records_arrive_under_names_that_are_free(two: list[Store], remote: Path) -> None:
    one, other = two
    mine, theirs = one.remember("Retry with jitter"), other.remember("Speak AMQP to the relay")
    assert mine == theirs
    results = settle(two, remote)
    assert results[0]["digest"] == results[1]["digest"]
    assert results[0]["problems"] == []
    assert sorted(one.statements().values()) == sorted(other.statements().values())
    assert one.statements()[mine] == "active: Retry with jitter"
    assert other.statements()[mine] == "active: Speak AMQP to the relay"
    assert "Retry with jitter" in str(other("recall", query="retry jitter"))


def test_a_second_exchange_changes_nothing(two: list[Store], remote: Path) -> None:
    two[0].remember("Retry with jitter")
    settle(two, remote)
    files = sorted(remote.rglob("*"))
    assert two[1].exchange(remote)["received"] == 0
    assert sorted(remote.rglob("*")) == files


def test_a_record_that_replaces_another_names_it_as_its_store_does(two: list[Store], remote: Path) -> None:
    one, other = two
    other.remember("Something of its own")
    old = one.remember("Retry at once")
    new = one.remember("Retry with jitter", replaces=[old])
    settle(two, remote)
    held = other.statements()
    (there,) = [id for id, said in held.items() if said == "active: Retry with jitter"]
    (gone,) = [id for id, said in held.items() if said == "superseded: Retry at once"]
    assert (there, gone) != (new, old)
    assert gone in str(other("open", id=there))


def test_different_fields_are_merged(two: list[Store], remote: Path) -> None:
    one, other = two
    id = one.remember("Retry with jitter", why="A herd woke up")
    settle(two, remote)
    one("edit_record", id=id, why="All clients woke at once")
    other("edit_record", id=id, review_by="2027-01-01")
    results = settle(two, remote)
    assert [result["conflicts"] for result in results] == [[], []]
    for store in two:
        shown = str(store("open", id=id))
        assert "All clients woke at once" in shown and "2027-01-01" in shown


def test_two_answers_become_a_dispute_that_a_person_ends_everywhere(two: list[Store], remote: Path) -> None:
    one, other = two
    id = one.remember("Retry five times")
    settle(two, remote)
    one("edit_record", id=id, statement="Retry six times")
    other("edit_record", id=id, statement="Retry seven times")
    for store in two * 2:
        store.exchange(remote)
    assert one.statements()[id] == other.statements()[id] == "active: Retry seven times"
    for store in two:
        assert len([item for item in store("inbox_list")["items"] if "six" in str(item)]) == 1
    (proposal,) = one("list_proposals", status="staged")["proposals"]
    one("approve_apply", proposal_id=proposal["proposal_id"], dry_run=False)
    settle(two, remote)
    assert other.statements()[id] == one.statements()[id] == "active: Retry six times"
    assert not [item for item in other("inbox_list")["items"] if "six" in str(item)]


def test_a_rejected_side_is_rejected_everywhere(two: list[Store], remote: Path) -> None:
    one, other = two
    id = one.remember("Retry five times")
    settle(two, remote)
    one("edit_record", id=id, statement="Retry six times")
    other("edit_record", id=id, statement="Retry seven times")
    settle(two, remote)
    (proposal,) = other("list_proposals", status="staged")["proposals"]
    other("reject_proposal", proposal_id=proposal["proposal_id"], reason="seven is right")
    settle(two, remote)
    assert one.statements()[id] == "active: Retry seven times"
    assert one("list_proposals", status="staged")["proposals"] == []


def test_statements_that_contradict_meet_in_the_inbox(two: list[Store], remote: Path) -> None:
    one, other = two
    one.remember("The relay retries 5 times", kind="fact")
    other.remember("The relay retries 10 times", kind="fact")
    settle(two, remote)
    for store in two:
        store("scan")
        assert store("list_contradictions")["contradictions"]


def test_a_retraction_arrives(two: list[Store], remote: Path) -> None:
    one, other = two
    id = one.remember("Retry at once")
    settle(two, remote)
    one("retract", id=id, why="it makes a herd")
    settle(two, remote)
    assert not other.statements()[id].startswith("active")


def test_an_erasure_arrives_and_empties_the_remote(two: list[Store], remote: Path) -> None:
    one, other = two
    id = one.remember("The launch code is swordfish and nobody may know", kind="fact")
    settle(two, remote)
    one("erase", id=id, dry_run=False)
    results = settle(two, remote)
    assert results[0]["digest"] == results[1]["digest"]
    with other.clew.database.read() as tx:
        for table in ("block", "sync_change"):
            assert not [row for row in tx.all(f"SELECT * FROM {table}") if "swordfish" in str(dict(row))]
    assert "swordfish" not in str([_unpacked(path) for path in remote.rglob("*.clew")])


def _unpacked(path: Path) -> str:
    from clew.sync.bundle_format import unpack

    return str(unpack(path.read_bytes()))


def test_a_damaged_bundle_is_named_and_the_rest_taken_in(two: list[Store], remote: Path) -> None:
    one, other = two
    one.remember("Retry with jitter")
    one.exchange(remote)
    one.remember("Speak AMQP to the relay")
    one.exchange(remote)
    first, _ = sorted(remote.rglob("*.clew"))
    kept = first.read_bytes()
    first.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    result = other.exchange(remote)
    assert result["received"] == 0 and first.name in result["problems"][0]
    first.write_bytes(kept)
    assert other.exchange(remote)["received"] == 2


def test_a_bundle_that_names_a_folder_elsewhere_is_refused(two: list[Store], tmp_path: Path) -> None:
    from clew.sync.bundle_format import pack

    path = tmp_path / "evil.clew"
    path.write_bytes(pack("../../x", "", []))
    assert two[0].error("import_bundle", path=str(path))["code"] == "INVALID_INPUT"
