"""Anchors: areas of the system that cards hang on by their tags, over all branches and under all their names."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.reasoning.thinking import a_task, ids, think
from tests.suggestions import run_suggestions


def bootstrap(call: Caller, *names: str, **more: Any) -> dict[str, Any]:
    return call(
        "anchors_bootstrap",
        anchors=[{"id": name, "title": name[2:].title(), "kind": "component", **more} for name in names],
    )


def listed(call: Caller, **arguments: Any) -> list[str]:
    return ids(call("anchors_list", **arguments)["anchors"])


def test_bootstrap_twice_creates_once(call: Caller) -> None:
    assert bootstrap(call, "a:core", "A:Store")["created"] == 2
    again = bootstrap(call, "a:core", "a:store")
    assert (again["created"], again["updated"]) == (0, 2)
    assert listed(call) == ["a:core", "a:store"]


def test_bootstrap_is_all_or_nothing(call: Caller) -> None:
    for bad in ({"id": "a:x", "parent_id": "a:x"}, {"id": "core"}, {"id": "a:x", "aliases": ["a:x"]}):
        anchors = [{"id": "a:ok", "title": "Ok", "kind": "ops"}, {"title": "Bad", "kind": "ops", **bad}]
        assert call.error("anchors_bootstrap", anchors=anchors)["code"] == "INVALID_INPUT"
    twice = [{"id": "a:ok", "title": "Ok", "kind": "ops"}] * 2
    assert call.error("anchors_bootstrap", anchors=twice)["code"] == "INVALID_INPUT"
    assert listed(call) == []


def test_a_canonical_card_registers_its_anchor_and_a_draft_does_not(call: Caller) -> None:
    think(call, "D", "decision", tags=["a:job-queue", "A:Not Valid"])
    think(call, "N", "note", tags=["a:draft-only"])
    (anchor,) = call("anchors_list")["anchors"]
    assert (anchor["id"], anchor["title"], anchor["kind"]) == ("a:job-queue", "Job Queue", "component")
    call("think_pin", targets="N")
    assert listed(call) == ["a:draft-only", "a:job-queue"]


def test_a_snapshot_orders_cards_by_what_they_are_worth(call: Caller) -> None:
    bootstrap(call, "a:core")
    for name, kind in {
        "U": "update",
        "H": "hypothesis",
        "E": "evidence",
        "D1": "decision",
        "D2": "decision",
        "N": "note",
    }.items():
        think(call, name, kind, tags=["a:core"])
    think(call, "P", "question", tags=["a:core", "pinned"])
    found = call("anchor_snapshot", anchor="a:core")
    assert ids(found["cards"]) == ["P", "D2", "D1", "E", "H", "U"]
    assert found["stats"] == {"links_count": 7, "links_has_more": False}
    for drafts in ("include_drafts", "all_lanes"):
        assert ids(call("anchor_snapshot", anchor="a:core", **{drafts: True})["cards"])[-1] == "N"
        assert "N" in ids(call("open", id="a:core", **{drafts: True})["cards"])
    assert len(call("anchor_snapshot", anchor="a:core", limit=2)["cards"]) == 2


def test_cards_are_found_on_every_branch_once(call: Caller) -> None:
    think(call, "D", "decision", tags=["a:core"])
    call("branch_create", name="b")
    call("think_set_status", targets="D", status="accepted", ref="b")
    think(call, "E", "evidence", tags=["a:core"], branch="b")
    (card,) = [card for card in call("anchor_snapshot", anchor="a:core")["cards"] if card["id"] == "D"]
    assert (card["status"], card["branch"]) == ("accepted", "b")
    call("branch_delete", name="b")
    assert ids(call("anchor_snapshot", anchor="a:core")["cards"]) == ["D"]


def test_a_card_that_loses_the_tag_leaves_the_anchor(call: Caller) -> None:
    think(call, "D", "decision", tags=["a:core"])
    call("graph_apply", ops=[{"op": "node_upsert", "id": "D", "type": "decision", "title": "D", "tags": []}])
    assert call("anchor_snapshot", anchor="a:core")["cards"] == []


def test_an_unknown_anchor_comes_with_the_call_that_registers_it(clew: Clew, call: Caller) -> None:
    answer = call.answer("anchor_snapshot", anchor="a:new-area")
    assert answer.envelope["error"]["code"] == "UNKNOWN_ID"
    run_suggestions(clew, answer, call.session)
    assert call("anchor_snapshot", anchor="a:new-area")["anchor"]["title"] == "New Area"


def test_renaming_keeps_cards_relations_and_the_old_name(call: Caller) -> None:
    bootstrap(call, "a:core", aliases=["a:heart"])
    call(
        "anchors_bootstrap",
        anchors=[{"id": "a:api", "title": "Api", "kind": "boundary", "parent_id": "a:core", "depends_on": ["a:heart"]}],
    )
    think(call, "D", "decision", tags=["a:core"])
    done = call("anchors_rename", from_="a:core", to="a:kernel")
    assert done["anchor"]["aliases"] == ["a:core", "a:heart"]
    api = next(anchor for anchor in call("anchors_list")["anchors"] if anchor["id"] == "a:api")
    assert (api["parent_id"], api["depends_on"]) == ("a:kernel", ["a:kernel"])
    for name in ("a:core", "a:heart", "a:kernel"):
        answer = call.answer("anchor_snapshot", anchor=name)
        assert ids(answer.envelope["result"]["cards"]) == ["D"]
        warned = [warning["code"] for warning in answer.envelope["warnings"]]
        assert warned == ([] if name == "a:kernel" else ["ANCHOR_ALIAS_RESOLVED"])
    think(call, "LATER", "decision", tags=["a:core"])
    assert ids(call("anchor_snapshot", anchor="a:kernel")["cards"]) == ["LATER", "D"]
    assert listed(call) == ["a:api", "a:kernel"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"from": "a:none", "to": "a:x"}, "UNKNOWN_ID"),
        ({"from": "a:core", "to": "a:store"}, "INVALID_INPUT"),
        ({"from": "a:core", "to": "a:old"}, "INVALID_INPUT"),
        ({"from": "a:core", "to": "store"}, "INVALID_INPUT"),
    ],
)
def test_a_rename_that_cannot_be_is_refused(clew: Clew, call: Caller, arguments: dict[str, str], code: str) -> None:
    bootstrap(call, "a:core")
    bootstrap(call, "a:store", aliases=["a:old"])
    answer = call.answer("anchors_rename", **arguments)
    assert answer.envelope["error"]["code"] == code
    assert listed(call) == ["a:core", "a:store"]


def test_merging_twice_skips_what_is_merged(call: Caller) -> None:
    bootstrap(call, "a:core", "a:one", "a:two")
    call(
        "anchors_bootstrap",
        anchors=[{"id": "a:api", "title": "Api", "kind": "boundary", "depends_on": ["a:one", "a:core"]}],
    )
    think(call, "D", "decision", tags=["a:two"])
    first = call("anchors_merge", from_=["a:one", "a:two"], into="a:core")
    again = call("anchors_merge", from_=["a:one", "a:two"], into="a:core")
    assert (first["merged"], first["skipped"]) == (["a:one", "a:two"], [])
    assert (again["merged"], again["skipped"]) == ([], ["a:one", "a:two"])
    assert first["anchor"]["aliases"] == ["a:one", "a:two"]
    assert ids(call("anchor_snapshot", anchor="a:core")["cards"]) == ["D"]
    api = next(anchor for anchor in call("anchors_list")["anchors"] if anchor["id"] == "a:api")
    assert api["depends_on"] == ["a:core"]


def test_a_name_belongs_to_one_anchor(clew: Clew, call: Caller) -> None:
    bootstrap(call, "a:core", aliases=["a:heart"])
    for bad in ({"id": "a:heart"}, {"id": "a:x", "aliases": ["a:core"]}, {"id": "a:x", "aliases": ["a:heart"]}):
        answer = call.answer("anchors_bootstrap", anchors=[{"title": "X", "kind": "ops", **bad}])
        assert answer.envelope["error"]["code"] == "INVALID_INPUT"


def test_lint_names_what_is_wrong_with_the_map(call: Caller) -> None:
    call(
        "anchors_bootstrap",
        anchors=[
            {"id": "a:one", "title": "One", "kind": "ops", "parent_id": "a:two"},
            {"id": "a:two", "title": "Two", "kind": "ops", "parent_id": "a:one"},
            {"id": "a:three", "title": "Three", "kind": "ops", "depends_on": ["a:gone", "a:uno"]},
            {"id": "a:four", "title": "Four", "kind": "ops", "aliases": ["a:uno"]},
            {"id": "a:five", "title": "Five", "kind": "ops"},
            {"id": "a:six", "title": "Six", "kind": "ops", "status": "deprecated"},
        ],
    )
    found = [(issue["severity"], issue["code"], issue["anchor"]) for issue in call("anchors_lint")["issues"]]
    assert found == [
        ("error", "PARENT_CYCLE", "a:one"),
        ("error", "UNKNOWN_DEPENDS_ON", "a:three"),
        ("warning", "ORPHAN_ANCHOR", "a:five"),
        ("warning", "RELATION_USES_ALIAS", "a:three"),
    ]
    assert call("anchors_lint", limit=1)["has_more"] is True


def test_export_draws_the_map(call: Caller) -> None:
    bootstrap(call, "a:core")
    call(
        "anchors_bootstrap",
        anchors=[
            {"id": "a:db-x", "title": 'The "DB"', "kind": "data", "parent_id": "a:core", "depends_on": ["a:core"]}
        ],
    )
    assert call.lines("anchors_export") == [
        "export format=mermaid anchors=2",
        "flowchart TD",
        '  A_a_core["a:core\\nCore"]',
        '  A_a_db_x["a:db-x\\nThe &quot;DB&quot;"]',
        "  A_a_core -->|contains| A_a_db_x",
        "  A_a_db_x -->|depends_on| A_a_core",
    ]
    assert (
        call.lines("anchors_export", format="text")[2]
        == "a:db-x | kind=data status=active parent=a:core depends_on=[a:core]"
    )


def test_list_filters(call: Caller) -> None:
    bootstrap(call, "a:core", "a:store")
    call("anchors_bootstrap", anchors=[{"id": "a:old", "title": "CORE of old", "kind": "ops", "status": "deprecated"}])
    assert listed(call, text="Core") == ["a:core", "a:old"]
    assert listed(call, kind="ops") == ["a:old"]
    assert listed(call, status="active") == ["a:core", "a:store"]
    assert call("anchors_list", limit=1)["has_more"] is True


def test_a_note_binds_knowledge_to_an_area(call: Caller) -> None:
    lines = call.lines(
        "macro_anchor_note", anchor="A:Storage", content="One writer.", title="Storage", kind="component"
    )
    assert lines == ["anchor a:storage created | note CARD-1", 'anchor_snapshot anchor="a:storage"']
    made = call(
        "macro_anchor_note", anchor="a:storage", content="WAL is on.", card_type="evidence", pin=True, refs=["db.py"]
    )
    assert made["anchor"]["created"] is False
    assert (made["anchor"]["title"], made["anchor"]["refs"]) == ("Storage", ["db.py"])
    assert made["scope"] == {"branch": "main", "trace_doc": "anchors-trace", "graph_doc": "anchors-graph"}
    found = call("anchor_snapshot", anchor="a:storage")
    (card,) = found["cards"]
    assert (card["type"], card["text"], card["meta"]) == ("evidence", "WAL is on.", {"anchor": "a:storage"})
    assert {"a:storage", "pinned", "v:canon"} <= set(card["tags"])
    assert len(call("anchor_snapshot", anchor="a:storage", include_drafts=True)["cards"]) == 2


@pytest.mark.parametrize("kind", ["hypothesis", "question", "update", "note", "frame"])
def test_a_note_about_an_area_is_a_draft_unless_it_proves_something(call: Caller, kind: str) -> None:
    call("macro_anchor_note", anchor="a:x", content="c", title="X", kind="ops", card_type=kind)
    assert call("anchor_snapshot", anchor="a:x")["cards"] == []
    call("macro_anchor_note", anchor="a:x", content="d", card_type=kind, visibility="canon")
    assert len(call("anchor_snapshot", anchor="a:x")["cards"]) == 1


def test_a_new_anchor_needs_title_and_kind(clew: Clew, call: Caller) -> None:
    answer = call.answer("macro_anchor_note", anchor="a:x", content="c")
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    assert listed(call) == []
    run_suggestions(clew, answer, call.session)
    assert listed(call) == ["a:x"]


def test_a_note_goes_to_the_step_of_the_task_in_focus(call: Caller) -> None:
    arguments = {"anchor": "a:x", "content": "c", "title": "X", "kind": "ops", "step": "focus", "visibility": "canon"}
    answer = call.answer("macro_anchor_note", **arguments)
    assert [warning["code"] for warning in answer.envelope["warnings"]] == ["STEP_CONTEXT_IGNORED"]
    task = a_task(call, "First")
    made = call("macro_anchor_note", **arguments)
    assert made["scope"]["branch"] == f"task/{task}"
    found = call("anchor_snapshot", anchor="a:x")
    assert [item["task"] for item in found["tasks"]] == [task]
    assert any(tag.startswith("step:") for tag in found["cards"][0]["tags"])


def test_lines_never_hold_more_than_they_may(call: Caller) -> None:
    bootstrap(call, *(f"a:area-{number:02}" for number in range(30)))
    lines = call.lines("anchors_list")
    assert lines[0] == "anchors count=30 more=false"
    assert lines[1] == "- a:area-00 kind=component status=active title=Area-00"
    assert len([line for line in lines if line.startswith("- ")]) == 20
    assert [line.split()[0] for line in lines[21:]] == [
        "MORE:",
        "anchor_snapshot",
        "anchors_export",
        "macro_anchor_note",
    ]
    for number in range(12):
        think(call, f"D{number}", "decision", tags=["a:area-00"], title="long words " * 20)
    lines = call.lines("anchor_snapshot", anchor="a:area-00")
    assert lines[0] == "anchor a:area-00 kind=component status=active title=Area-00"
    cards = [line for line in lines if line.startswith("- ")]
    assert len(cards) == 10
    assert all(len(line.partition(": ")[2]) <= 84 for line in cards)
    assert lines[-2].startswith("MORE: 2 cards") and lines[-1].startswith("macro_anchor_note anchor=a:area-00")
    assert all(lines)


def test_open_shows_an_anchor_under_any_of_its_names_and_even_unregistered(clew: Clew, call: Caller) -> None:
    bootstrap(call, "a:core", aliases=["a:old"])
    think(call, "U", "update", tags=["a:old"])
    think(call, "D", "decision", tags=["a:core"])
    for name in ("a:core", "a:old", "A:Core"):
        opened = call("open", id=name)
        assert (opened["kind"], opened["id"], opened["anchor"]["registered"]) == ("anchor", "a:core", True)
        assert ids(opened["cards"]) == ["D", "U"]
    think(call, "N", "note", tags=["a:nowhere"])
    answer = call.answer("open", id="a:nowhere", include_drafts=True)
    opened = answer.envelope["result"]
    assert opened["anchor"]["registered"] is False
    assert ids(opened["cards"]) == ["N"]
    assert [warning["code"] for warning in answer.envelope["warnings"]] == ["ANCHOR_UNREGISTERED"]
    assert listed(call) == ["a:core"], "looking registers nothing"
    run_suggestions(clew, answer, call.session)
    assert call("open", id="a:nowhere")["anchor"]["registered"] is True


@pytest.mark.parametrize("bad", ["core", "a:", "a:-x", "a:" + "x" * 65, "a:x y", "a:x|y", "a:\x01"])
def test_ids_are_checked_everywhere(call: Caller, bad: str) -> None:
    calls: dict[str, dict[str, Any]] = {
        "anchor_snapshot": {"anchor": bad},
        "macro_anchor_note": {"anchor": bad, "content": "c", "title": "T", "kind": "ops"},
        "anchors_rename": {"from": bad, "to": "a:x"},
        "anchors_merge": {"from": [bad], "into": "a:x"},
        "anchors_bootstrap": {"anchors": [{"id": bad, "title": "T", "kind": "ops"}]},
    }
    for name, arguments in calls.items():
        assert call.error(name, **arguments)["code"] in {"INVALID_INPUT", "UNKNOWN_ID"}
