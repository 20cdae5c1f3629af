"""Cards: one write for node, trace entry and edges; the same card again changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.app import Clew
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.catalogue import catalogue
from tests.conftest import Caller
from tests.reasoning.thinking import a_task, ids, think
from tests.suggestions import run_suggestions


def test_a_card_is_a_node_and_a_trace_entry(call: Caller) -> None:
    made = call("think_card", card={"type": "hypothesis", "title": "Stale cache", "text": "why"}, supports=[])
    assert made["card_id"] == "CARD-1"
    assert made["inserted"] is True
    assert made["graph_applied"] == {"nodes_upserted": 1, "edges_upserted": 0}
    assert made["trace_ref"] == f"trace@{made['trace_seq']}"
    assert made["graph_ref"] == f"graph@{made['last_seq']}"
    (entry,) = call("show", doc_kind="trace")["entries"]
    assert (entry["format"], entry["title"], entry["content"]) == ("think_card", "Stale cache", "why")
    (node,) = call("graph_query")["nodes"]
    assert (node["id"], node["status"], node["tags"]) == ("CARD-1", "open", ["lane:shared", "v:canon"])


def test_the_same_card_again_writes_nothing(call: Caller) -> None:
    think(call, "H")
    card = {"id": "T", "type": "test", "title": "Run it", "tags": ["x"]}
    first = call("think_card", card=card, supports=["H"])
    events = call("status")["last_doc_entry"]
    again = call("think_card", card=card, supports=["H"])
    assert (first["inserted"], again["inserted"]) == (True, False)
    assert again["trace_seq"] == first["trace_seq"]
    assert again["graph_applied"] == {"nodes_upserted": 0, "edges_upserted": 0}
    assert call("status")["last_doc_entry"] == events


def test_a_repeat_is_a_no_op_even_after_a_pin_or_another_status(call: Caller) -> None:
    card = {"id": "H", "type": "hypothesis", "title": "It holds"}
    call("think_card", card=card)
    call("think_pin", targets="H")
    call("think_set_status", targets="H", status="accepted")
    assert call("think_card", card=card)["inserted"] is False
    (shown,) = call("think_query", ids="H")["cards"]
    assert shown["status"] == "accepted"
    assert "pinned" in shown["tags"]
    read_back = {key: shown[key] for key in ("id", "type", "title", "text", "status", "tags", "meta")}
    assert call("think_card", card=read_back)["inserted"] is False


def test_the_same_id_with_other_content_is_refused_with_a_way_out(clew: Clew, call: Caller) -> None:
    think(call, "H")
    think(call, "T", "test")
    answer = call.answer("think_card", card={"id": "T", "type": "test", "title": "other"})
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    run_suggestions(clew, answer, call.session)
    answer = call.answer("think_card", card={"id": "T", "type": "test", "title": "test T"}, supports=["H"])
    assert answer.envelope["suggestions"][0]["target"] == "think_link"
    run_suggestions(clew, answer, call.session)
    assert call("think_card", card={"id": "T", "type": "test", "title": "test T"}, supports=["H"])["inserted"] is False


@pytest.mark.parametrize("writer", ["think_card", "graph_apply"])
def test_a_trace_that_does_not_know_a_node_never_overwrites_it(clew: Clew, call: Caller, writer: str) -> None:
    decision = {"type": "decision", "title": "Use WAL"}
    if writer == "think_card":
        call("think_card", card={"id": "D1", **decision})
    else:
        call("graph_apply", ops=[{"op": "node_upsert", "id": "D1", "status": "open", **decision}])
    other = {"id": "D1", "type": "note", "title": "Something else"}
    answer = call.answer("think_card", card=other, trace_doc="other")
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    assert "other content" in answer.envelope["error"]["message"]
    run_suggestions(clew, answer, call.session)
    (card,) = call("think_query", ids=["D1"])["cards"]
    assert (card["type"], card["title"]) == ("decision", "Use WAL")
    assert call("show", doc="other")["entries"] == []


def test_the_same_card_may_stand_in_another_trace(call: Caller) -> None:
    card = {"id": "D1", "type": "decision", "title": "Use WAL"}
    call("think_card", card=card)
    again = call("think_card", card=card, trace_doc="other")
    assert again["inserted"] and again["graph_applied"]["nodes_upserted"] == 0
    assert len(call("show", doc="other")["entries"]) == 1


@pytest.mark.parametrize("name", ["think_card", *(f"think_add_{kind}" for kind in CARD_TYPES)])
def test_what_makes_another_card_each_time_is_not_announced_as_idempotent(call: Caller, name: str) -> None:
    """Clients repeat idempotent tools by themselves."""
    entry = catalogue().find(name)
    assert entry is not None
    first, second = (call(name, card={"title": "Again"})["card_id"] for _ in range(2))
    assert first != second and not entry.idempotent


def test_a_branch_knows_the_cards_it_inherits(call: Caller) -> None:
    card = {"id": "H", "type": "hypothesis", "title": "T"}
    call("think_card", card=card)
    call("branch_create", name="what-if")
    assert call("think_card", card=card, branch="what-if")["inserted"] is False
    call("think_set_status", targets="H", status="closed", ref="what-if")
    assert call("think_query", ids="H")["cards"][0]["status"] == "open"
    assert call("think_query", ids="H", ref="what-if")["cards"][0]["status"] == "closed"


@pytest.mark.parametrize("kind", CARD_TYPES)
def test_visibility_is_written_where_the_card_names_none(call: Caller, kind: str) -> None:
    call(f"think_add_{kind}", card={"id": "C", "title": "T", "type": "note"})
    (node,) = call("graph_query", ids=["C"])["nodes"]
    drafts = {"note", "frame"}
    assert node["type"] == kind
    assert node["tags"] == ["lane:shared", "v:draft" if kind in drafts else "v:canon"]


def test_an_explicit_visibility_is_kept(call: Caller) -> None:
    think(call, "D", "decision", tags=["v:draft"])
    assert call("think_query", include_drafts=True)["cards"][0]["tags"] == ["lane:shared", "v:draft"]
    assert call("think_query")["cards"] == []


def test_ids_that_were_taken_by_hand_are_not_given_again(call: Caller) -> None:
    think(call, "CARD-1")
    assert call("think_card", card="a note")["card_id"] == "CARD-2"


def test_edges_may_point_to_cards_that_come_later(call: Caller) -> None:
    think(call, "T", "test", supports=["H"])
    think(call, "H")
    edges = call("graph_query")["edges"]
    assert [(edge["from"], edge["rel"], edge["to"]) for edge in edges] == [("T", "supports", "H")]


def test_nothing_is_kept_of_a_card_that_is_refused(call: Caller) -> None:
    error = call.error("think_card", card={"id": "H", "title": "T"}, supports=["H"])
    assert error["code"] == "INVALID_INPUT"
    assert call("show", doc_kind="trace")["entries"] == []
    assert call("graph_query")["nodes"] == []


def test_edges_written_into_the_card_are_pointed_out(call: Caller) -> None:
    answer = call.answer("think_card", card="title: T\nsupports: CARD-9")
    assert [warning["code"] for warning in answer.envelope["warnings"]] == ["EDGES_IN_CARD"]


def test_compact_answers_hold_ids_only(call: Caller) -> None:
    made = call("think_card", card="a note", verbosity="compact")
    assert set(made) == {"card_id", "inserted", "trace_ref"}


def test_a_template_shows_every_field_and_is_refused_as_it_is(clew: Clew, call: Caller) -> None:
    for kind in CARD_TYPES:
        template = call("think_template", type=kind)["template"]
        assert set(template) == {"id", "type", "title", "text", "status", "tags", "meta"}
        answer = call.answer("think_card", card=template)
        assert not answer.ok and "form that nobody filled in" in answer.envelope["error"]["message"]
        run_suggestions(clew, answer, call.session)
        call("think_card", card={**template, "title": "Mine", "text": "In my own words.", "meta": {}})
    for name, form in (("think_card", {"card": "CMD: <fill: x>"}), ("think_pipeline", {"frame": "< FILL in"})):
        assert call.error(name, **form)["code"] == "INVALID_INPUT"
    answer = call.answer("think_template", type="idea")
    assert answer.envelope["error"]["details"]["supported_types"] == list(CARD_TYPES)
    run_suggestions(clew, answer, call.session)


def test_a_pipeline_links_each_stage_to_the_one_before(call: Caller) -> None:
    made = call(
        "think_pipeline",
        frame="Imports are slow",
        hypothesis={"title": "One commit for each row"},
        evidence="CMD: make bench\nRESULT: 40x",
        decision="title: Batch them\ntext: because of the commits",
        status={"decision": "accepted"},
        note_decision=True,
    )
    stages = {card["stage"]: card["card_id"] for card in made["cards"]}
    edges = {(edge["from"], edge["to"]) for edge in call("graph_query")["edges"]}
    assert list(stages) == ["frame", "hypothesis", "evidence", "decision"]
    assert edges == {
        (stages["hypothesis"], stages["frame"]),
        (stages["evidence"], stages["hypothesis"]),
        (stages["decision"], stages["evidence"]),
    }
    assert call("think_query", types="decision")["cards"][0]["status"] == "accepted"
    (note,) = call("show", doc_kind="notes")["entries"]
    assert (note["seq"], note["title"]) == (made["decision_note"]["seq"], "Decision")
    assert note["content"] == "Batch them\nbecause of the commits"


@pytest.mark.parametrize(
    "arguments", [{}, {"frame": "F", "status": {"test": "open"}}, {"frame": "F", "status": {"x": "y"}}]
)
def test_a_pipeline_needs_a_stage_and_statuses_of_its_stages(call: Caller, arguments: dict[str, object]) -> None:
    assert call.error("think_pipeline", **arguments)["code"] == "INVALID_INPUT"
    assert call("show", doc_kind="trace")["entries"] == []


def test_a_step_scopes_a_card_and_what_is_read(call: Caller) -> None:
    task = a_task(call, "First", "Second")
    think(call, "H", step="focus")
    think(call, "OTHER", target=task)
    (card,) = call("think_query", step="focus")["cards"]
    step = card["meta"]["step"]
    assert card["id"] == "H"
    assert step["task_id"] == task and step["path"] == "s:0"
    assert f"step:{step['step_id'].lower()}" in card["tags"]
    assert ids(call("think_query", step=step["step_id"])["cards"]) == ["H"]
    assert ids(call("think_query", step="s:0")["cards"]) == ["H"]
    assert call("think_query", step="s:1")["cards"] == []


@pytest.mark.parametrize("step", ["s:9", "STEP-0000FFFF", "first"])
def test_a_step_that_is_not_there_is_a_typed_error(clew: Clew, call: Caller, step: str) -> None:
    a_task(call, "First")
    answer = call.answer("think_card", card="x", step=step)
    assert answer.envelope["error"]["code"] in {"UNKNOWN_ID", "INVALID_INPUT"}
    run_suggestions(clew, answer, call.session)


def test_a_step_needs_a_task(call: Caller) -> None:
    assert call.error("think_card", card="x", step="focus")["code"] == "INVALID_INPUT"
    a_task(call, "First")
    assert call.error("think_card", card="x", step="focus", branch="main")["code"] == "INVALID_INPUT"


def test_a_card_is_found_by_search_as_soon_as_it_is_written(clew: Clew, call: Caller) -> None:
    think(call, "H", text="the vacuum never runs")
    with clew.database.read() as tx:
        rows = tx.all("SELECT ref, source, kind, status FROM item WHERE workspace = ?", "ws")
    assert rows == [{"ref": "H", "source": "card", "kind": "hypothesis", "status": "open"}]


@pytest.mark.parametrize("engine", ["sqlite"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(CARD_TYPES),
    title=st.text(min_size=1, max_size=30),
    tags=st.lists(st.sampled_from(["a", "b", "v:canon", "v:draft", "pinned"]), max_size=3),
    meta=st.dictionaries(st.text(max_size=5), st.integers(-5, 5), max_size=3),
    acts=st.lists(st.sampled_from(["pin", "unpin", "close", "same"]), max_size=4),
)
def test_repeating_a_card_never_writes(
    call: Caller, engine: str, kind: str, title: str, tags: list[str], meta: dict[str, int], acts: list[str]
) -> None:
    made = call.answer("think_card", card={"type": kind, "title": title, "tags": tags, "meta": meta})
    if not made.ok:  # a title of blanks or control characters
        assert made.envelope["error"]["code"] == "INVALID_INPUT"
        return
    card = {"id": made.envelope["result"]["card_id"], "type": kind, "title": title, "tags": tags, "meta": meta}
    for act in acts:
        if act == "close":
            call("think_set_status", targets=card["id"], status="closed")
        elif act != "same":
            call("think_pin", targets=card["id"], pinned=act == "pin")
        before = call("status")["last_doc_entry"]
        assert call("think_card", card=card)["inserted"] is False
        assert call("status")["last_doc_entry"] == before
