"""Views, diffs and as-of over random branch histories, against a model that looks at everything."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Caller
from tests.reasoning.history import VALUES, Play, histories

quick = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@quick
@given(steps=histories())
def test_every_branch_shows_what_the_model_shows(call: Caller, steps: list[tuple[Any, ...]]) -> None:
    play = Play(call, steps)
    for branch in range(len(play.model.bases)):
        assert play.shown_nodes(branch) == play.model.live_nodes(branch)
        assert play.shown_edges(branch) == play.model.live_edges(branch)
        notes = play.run("show", branch=play.name(branch), doc_kind="notes", limit=200)["entries"]
        assert [note["content"] for note in notes] == [row[2] for row in play.model.visible(play.model.notes, branch)]


@quick
@given(steps=histories(), data=st.data())
def test_any_past_seq_shows_the_state_of_then(call: Caller, steps: list[tuple[Any, ...]], data: st.DataObject) -> None:
    play = Play(call, steps)
    branch = data.draw(st.integers(0, len(play.model.bases) - 1))
    seqs = sorted({0, *(row[0] for row in play.model.nodes)})
    seq = data.draw(st.sampled_from(seqs))
    assert play.shown_nodes(branch, as_of=seq) == play.model.live_nodes(branch, seq)


@quick
@given(steps=histories(), data=st.data())
def test_filters_and_pages_agree_with_the_whole_view(
    call: Caller, steps: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    play = Play(call, steps)
    branch = data.draw(st.integers(0, len(play.model.bases) - 1))
    value = data.draw(st.sampled_from(VALUES))
    whole = play.model.live_nodes(branch)
    same = [pair for pair in whole if pair[1] == value]
    assert play.shown_nodes(branch, tags_all=[value]) == same
    assert play.shown_nodes(branch, text=value.upper()) == [pair for pair in whole if value in pair[1]]
    assert play.shown_nodes(branch, tags_any=[value, "two"], types=["note"]) == [
        pair for pair in whole if pair[1] in (value, "two")
    ]
    assert play.shown_nodes(branch, status="a") == [pair for pair in whole if pair[0] == "A"]
    paged, cursor = [], None
    while True:
        page = play.run("graph_query", branch=play.name(branch), doc="graph", limit=1, cursor=cursor)
        paged += [(node["id"], node["text"]) for node in page["nodes"]]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    assert paged == whole


@quick
@given(steps=histories(), data=st.data())
def test_diffs_are_what_one_view_has_and_the_other_has_not(
    call: Caller, steps: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    play = Play(call, steps)
    count = len(play.model.bases)
    base, other = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    names = {"from_": play.name(base), "to": play.name(other)}
    hidden = play.model.visible(play.model.notes, base)
    added = [row[2] for row in play.model.visible(play.model.notes, other) if row not in hidden]
    assert [note["content"] for note in play.run("diff", **names, limit=200)["entries"]] == added
    assert _graph_changes(play, names) == _expected_changes(play, base, other)


def _graph_changes(play: Play, names: dict[str, str]) -> list[tuple[Any, Any]]:
    """All changes, page by page."""
    found, cursor = [], None
    while True:
        page = play.run("graph_diff", **names, limit=3, cursor=cursor)
        for change in page["changes"]:
            state = None if change["to"]["deleted"] else change["to"].get("text", True)
            key = change["id"] if change["kind"] == "node" else tuple(change["key"].values())
            found.append((key, state))
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            return sorted(found, key=str)


def _expected_changes(play: Play, base: int, other: int) -> list[tuple[Any, Any]]:
    model = play.model
    found: list[tuple[Any, Any]] = []
    before = model.node_states(base)
    for key, (_, value) in model.node_states(other).items():
        if before.get(key, (0, None))[1] != value:
            found.append((key, value))
    edges = model.edge_states(base)
    for name, (_, there) in model.edge_states(other).items():
        if edges.get(name, (0, False))[1] != there:
            found.append((name, True if there else None))
    return sorted(found, key=str)


@quick
@given(steps=histories(), data=st.data())
def test_a_larger_budget_never_shows_less(call: Caller, steps: list[tuple[Any, ...]], data: st.DataObject) -> None:
    play = Play(call, steps)
    branch = data.draw(st.integers(0, len(play.model.bases) - 1))
    limits = sorted(data.draw(st.lists(st.integers(0, 4000), min_size=2, max_size=4)))
    for name in ("graph_query", "show", "graph_validate"):
        more = {"doc_kind": "notes"} if name == "show" else {"doc": "graph"}
        shown = []
        for limit in limits:
            first = call.answer(name, workspace=play.workspace, branch=play.name(branch), max_chars=limit, **more)
            again = call.answer(name, workspace=play.workspace, branch=play.name(branch), max_chars=limit, **more)
            assert first.text == again.text
            budget = first.envelope["result"]["budget"]
            assert budget["used_chars"] <= budget["max_chars"] == max(limit, 2)
            shown.append(len(first.envelope["result"].get("nodes", first.envelope["result"].get("entries", []))))
            _check_edges(first.envelope["result"])
        assert shown == sorted(shown)


def _check_edges(result: dict[str, Any]) -> None:
    ids = {node["id"] for node in result.get("nodes", [])}
    assert all(edge["from"] in ids and edge["to"] in ids for edge in result.get("edges", []))
