"""record_list, record_around, area_heat: what is kept, as lists, as a neighbourhood, and by area."""

from __future__ import annotations

from typing import Any

from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.records.test_view import decided


def ids(found: dict[str, Any]) -> list[str]:
    return [item["id"] for item in found["records"]]


def cards(call: Caller, *ops: dict[str, Any]) -> None:
    call("graph_apply", branch="main", ops=[{"op": "node_upsert", "status": "open", **op} for op in ops])


def link(call: Caller, start: str, rel: str, end: str) -> None:
    call("graph_apply", branch="main", ops=[{"op": "edge_upsert", "from": start, "rel": rel, "to": end}])


def test_a_list_holds_blocks_cards_and_notes_and_counts_them(call: Caller) -> None:
    _, block = decided(call, "Sails are white")
    cards(call, {"id": "H-sail", "type": "hypothesis", "title": "Red sails tear"})
    note = call("notes_commit", content="The sailmaker is ill")["entry"]["seq"]
    found = call("record_list")
    assert set(ids(found)) == {block, "H-sail", f"notes@{note}"}, "knowledge, without signals and proposals"
    assert ids(found)[0] == f"notes@{note}", "what changed last comes first"
    assert {"decision": 1, "hypothesis": 1, "note": 1}.items() <= found["kinds"].items()
    assert ids(call("record_list", kind="decision")) == [block]
    assert ids(call("record_list", words="sails red")) == ["H-sail"]
    assert ids(call("record_list", status="open")) == ["H-sail"]
    call("tasks_create", title="Mend the sails")
    assert call("record_list")["total"] == 3 and call("record_list", kind="any")["total"] == 4


def test_a_list_is_narrowed_by_author_and_by_area_with_what_lies_inside(call: Caller) -> None:
    call("anchors_bootstrap", anchors=[
        {"id": "a:hull", "title": "Hull", "kind": "component"},
        {"id": "a:keel", "title": "Keel", "kind": "component", "parent_id": "a:hull", "refs": ["src/keel.py"]},
    ])  # fmt: skip
    cards(call, {"id": "K1", "type": "note", "title": "The keel is oak", "tags": ["a:keel"]})
    cards(call, {"id": "K2", "type": "note", "title": "Bolts", "text": "src/keel.py counts them"})
    cards(call, {"id": "K3", "type": "note", "title": "Elsewhere"})
    mine = call("think_card", agent_id="ada", card={"type": "question", "title": "How deep?", "tags": ["a:hull"]})
    assert set(ids(call("record_list", area="a:hull"))) == {"K1", "K2", mine["card_id"]}
    assert set(ids(call("record_list", area="a:keel"))) == {"K1", "K2"}
    assert call("record_list", area="a:nowhere")["total"] == 0


def test_authors_are_counted_as_the_list_shows_them_and_of_what_was_approved_the_proposer(call: Caller) -> None:
    def by(agent: str, name: str, /, **arguments: Any) -> dict[str, Any]:
        call.session = Connection(toolset="full", agent_id=agent)
        return call(name, **arguments)

    for number in range(3):
        by("codex", "remember", kind="lesson", text=f"Pier {number} has {number * 7} bollards")
    fact = by("claude-code", "remember", kind="fact", text="The ferry is white")["id"]
    by("codex", "retract", id=fact, why="It was painted")
    by("mute", "start_new", title="Thoughts are no records of what is known")
    made = by("codex", "propose_update", block_type="decision", statement="Ring at noon")
    call("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    found = call("record_list", count_authors=True)
    counted = found["written"]
    assert counted == {"codex": 4, "claude-code": 1, "@ines": 1}
    for name, records in counted.items():
        asked = call("record_list", author=name, count_authors=True)
        assert asked["total"] == records and asked["written"] == counted, "who is chosen narrows the list, not who is"
    assert call("record_list", kind="fact", count_authors=True)["written"] == {"claude-code": 1, "codex": 1}
    rows = {item["title"]: item["authors"] for item in found["records"]}
    assert rows["Ring at noon"] == ["codex", "@ines"] and rows["The ferry is white"] == ["claude-code", "codex"]


def test_pages_follow_each_other_and_status_counts_ignore_the_chosen_status(call: Caller) -> None:
    cards(call, *({"id": f"P{n}", "type": "note", "title": f"Page {n}"} for n in range(7)))
    first = call("record_list", limit=3)
    rest = call("record_list", limit=10, offset=first["next_offset"])
    assert len({*ids(first), *ids(rest)}) == 7 and rest["next_offset"] is None
    closed = call("record_list", status="closed")
    assert closed["total"] == 0 and closed["statuses"] == {"open": 7}
    cut = call("record_list", max_chars=1200)
    assert cut["truncated"] and cut["next_offset"] == len(cut["records"])
    behind = call("record_list", limit=10, after=cut["next_after"])
    assert ids(cut) + ids(behind) == ids(call("record_list")) and behind["next_after"] is None


def test_a_neighbourhood_is_bounded_and_says_what_hangs_beyond_it(call: Caller) -> None:
    cards(call, *({"id": f"N{n}", "type": "note", "title": f"Note {n}"} for n in range(6)))
    for start, end in (("N1", "N0"), ("N2", "N1"), ("N3", "N2"), ("N0", "N4"), ("N5", "N3")):
        link(call, start, "supports", end)
    found = call("record_around", id="N0", depth=2)
    nodes = {node["id"]: node for node in found["nodes"]}
    assert {id: node["steps"] for id, node in nodes.items()} == {"N0": 0, "N1": 1, "N4": 1, "N2": 2}
    assert nodes["N2"]["hidden"] == 1 and found["left_out"] == 1 and nodes["N0"]["kind"] == "note"
    assert {"from": "N1", "rel": "supports", "to": "N0"} in found["edges"]
    wider = call("record_around", id="N0", depth=2, expand=["N2"])
    assert "N3" in {node["id"] for node in wider["nodes"]}
    small = call("record_around", id="N0", depth=3, limit=2)
    assert len(small["nodes"]) == 2 and small["left_out"] > 0
    assert call.error("record_around", id="D-20200101-999")["code"] == "UNKNOWN_ID"


def test_a_neighbourhood_crosses_stores(call: Caller) -> None:
    cards(call, {"id": "E-rust", "type": "evidence", "title": "Plain chains rust in a year"})
    block = call("remember", kind="decision", text="Anchors are galvanised", rests_on=["E-rust"])["id"]
    found = call("record_around", id="E-rust", depth=1)
    assert {node["id"]: node["kind"] for node in found["nodes"]} == {"E-rust": "evidence", block: "decision"}
    assert found["edges"] == [{"from": block, "rel": "rests_on", "to": "E-rust"}]


def test_areas_say_how_much_is_known_and_what_is_open(call: Caller) -> None:
    call("anchors_bootstrap", anchors=[
        {"id": "a:port", "title": "Port", "kind": "component"},
        {"id": "a:dock", "title": "Dock", "kind": "component", "parent_id": "a:port", "refs": ["src/dock"]},
        {"id": "a:fog", "title": "Fog", "kind": "component"},
    ])  # fmt: skip
    cards(
        call,
        {"id": "Q1", "type": "question", "title": "How many berths?", "tags": ["a:dock"]},
        {"id": "D1", "type": "note", "title": "Fenders", "text": "src/dock/fender.py knows them"},
        {"id": "D2", "type": "note", "title": "Old", "status": "closed", "tags": ["a:port"]},
    )
    found = call("area_heat")
    areas = {area["id"]: area for area in found["areas"]}
    assert (areas["a:dock"]["holds"], areas["a:dock"]["open"]) == (2, 1), "its files count too"
    assert (areas["a:port"]["records"], areas["a:port"]["holds"], areas["a:port"]["own"]) == (3, 2, 0)
    assert areas["a:fog"]["records"] == 0 and areas["a:fog"]["newest_ms"] is None
    assert [file["path"] for file in found["files"]] == ["src/dock/fender.py"]
