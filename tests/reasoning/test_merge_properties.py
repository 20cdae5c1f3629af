"""graph_merge over random histories: nothing lost, nothing twice, decisions are final."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Caller
from tests.reasoning.history import NODES, START, VALUES, Play

quick = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

# Branch 0 is main, 1 and 2 start from it.
_node, _value = st.sampled_from(NODES), st.sampled_from(VALUES)


def _steps(*branches: int, most: int = 8, least: int = 0) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    where = st.sampled_from(branches)
    step = st.one_of(
        st.tuples(st.just("put"), where, _node, _value),
        st.tuples(st.just("put"), where, _node, _value),
        st.tuples(st.just("drop"), where, _node),
        st.tuples(st.just("edge"), where, _node, _node),
        st.tuples(st.just("unedge"), where, _node, _node),
    )
    return st.lists(step, min_size=least, max_size=most)


def _merge(play: Play, branch: int, limit: int = 200, **more: Any) -> dict[str, Any]:
    """All pages of one merge, added up."""
    total: dict[str, Any] = {"merged": 0, "skipped": 0, "conflicts_created": 0, "conflicts": []}
    cursor = None
    while True:
        page = play.run("graph_merge", from_=play.name(branch), limit=limit, cursor=cursor, **more)
        for name in total:
            total[name] += page[name]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            return total


def _graph(play: Play, branch: int) -> tuple[Any, Any]:
    return sorted(play.shown_nodes(branch)), sorted(play.shown_edges(branch))


@quick
@given(after=_steps(0, 1, most=14, least=4), limit=st.sampled_from((1, 2, 200)))
def test_a_merge_loses_nothing_and_repeating_it_changes_nothing(call: Caller, after: list[Any], limit: int) -> None:
    play = Play(call, [*START, *after])
    base = play.model.bases[1]
    assert base is not None
    ours, theirs, common = (
        play.model.node_states(0),
        play.model.node_states(1),
        play.model.node_states(0, base[1]),
    )
    planned = _merge(play, 1, dry_run=True)
    assert _graph(play, 0)[0] == sorted(play.model.live_nodes(0))
    first = _merge(play, 1, limit)
    assert {name: planned[name] for name in ("merged", "skipped", "conflicts_created")} == {
        name: first[name] for name in ("merged", "skipped", "conflicts_created")
    }
    assert [item["conflict_id"] for item in planned["conflicts"]] == [
        item["conflict_id"] for item in first["conflicts"]
    ]
    disputed = {item["key"] for item in first["conflicts"] if item["kind"] == "node"}
    shown = dict(play.shown_nodes(0))
    for key in NODES:
        wanted = theirs.get(key, (0, None))[1]
        if key in disputed or wanted == common.get(key, (0, None))[1]:
            wanted = ours.get(key, (0, None))[1]  # disputed, or not changed by the branch: main keeps its own
        assert shown.get(key) == wanted
    if not first["conflicts"]:
        assert play.run("graph_validate", branch="main", doc="graph")["ok"]
    state = _graph(play, 0)
    again = _merge(play, 1, limit)
    assert (again["merged"], again["conflicts_created"]) == (0, 0)
    assert _graph(play, 0) == state


@quick
@given(
    after=_steps(0, 1, most=14, least=4),
    later=_steps(0, least=2),
    choices=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_a_resolved_conflict_never_returns(
    call: Caller, after: list[Any], later: list[Any], choices: list[bool]
) -> None:
    play = Play(call, [*START, *after])
    found = _merge(play, 1)["conflicts"]
    for conflict, take in zip(found, choices * len(found), strict=False):
        resolution = "use_from" if take else "use_into"
        play.run("graph_conflict_resolve", conflict_id=conflict["conflict_id"], resolution=resolution)
    assert play.run("graph_conflicts", into="main")["conflicts"] == []
    assert _merge(play, 1)["conflicts"] == []
    # Whatever the destination does afterwards, a branch that stands still has nothing new to dispute.
    _follow(play)
    for step in later:
        getattr(play, step[0])(*step[1:])
    result = _merge(play, 1)
    assert (result["merged"], result["conflicts"]) == (0, [])


def _follow(play: Play) -> None:
    """Tell the model what main holds after the merge, so that it can go on from there."""
    seq = 10**9
    play.model.nodes = [(seq, 0, key, text) for key, text in reversed(play.shown_nodes(0))]
    play.model.edges = [(seq, 0, key, True) for key in play.shown_edges(0)]


@quick
@given(after=_steps(0, 1, 2, most=14, least=4))
def test_the_order_of_independent_merges_does_not_matter(call: Caller, after: list[Any]) -> None:
    history = [*START, ("branch", 0), *after]
    one, other = Play(call, history), Play(call, history)
    first = [_merge(one, 1), _merge(one, 2)]
    second = [_merge(other, 2), _merge(other, 1)]
    if not any(result["conflicts"] for result in first + second):
        assert _graph(one, 0) == _graph(other, 0)
        assert sum(result["merged"] for result in first) == sum(result["merged"] for result in second)


@quick
@given(rounds=st.lists(_steps(0, 1, most=6, least=2), min_size=2, max_size=4))
def test_merging_after_every_few_changes_ends_where_the_branch_does(call: Caller, rounds: list[Any]) -> None:
    """With every conflict decided for the branch, what the branch holds is what main holds."""
    play = Play(call, START)
    for steps in rounds:
        for step in steps:
            if step[1] == 1:
                getattr(play, step[0])(*step[1:])
        for conflict in _merge(play, 1)["conflicts"]:
            play.run("graph_conflict_resolve", conflict_id=conflict["conflict_id"], resolution="use_from")
    _merge(play, 1)
    assert _graph(play, 0) == _graph(play, 1)
