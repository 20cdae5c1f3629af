"""Premises: what rests on a fallen card is suspect, with the way down to it; nothing else is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Caller
from tests.reasoning.thinking import think

NAMES = "ABCDEF"


def doubts(call: Caller, **arguments: object) -> dict[str, list[str]]:
    cards = call("think_query", limit=200, **arguments)["cards"]
    return {card["id"]: card["suspect"]["path"] for card in cards if "suspect" in card}


@pytest.mark.parametrize("status", ["retracted", "superseded", "disproved"])
def test_doubt_follows_support_and_dependence(call: Caller, status: str) -> None:
    think(call, "FACT", "evidence")
    think(call, "CLAIM")
    think(call, "CHOICE", "decision")
    think(call, "APART")
    call("think_link", from_="FACT", rel="supports", to="CLAIM")
    call("think_link", from_="CHOICE", rel="depends_on", to="CLAIM")
    assert doubts(call) == {}
    call("think_set_status", targets="FACT", status=status)
    assert doubts(call) == {"CLAIM": ["CLAIM", "FACT"], "CHOICE": ["CHOICE", "CLAIM", "FACT"]}
    context = {card["id"]: card.get("suspect") for card in call("think_context")["cards"]}
    assert context["CLAIM"] == {"because": f"FACT is {status}", "path": ["CLAIM", "FACT"]}
    assert call("open", id="CLAIM")["suspect"] == context["CLAIM"]
    call("think_set_status", targets="FACT", status="open")
    assert doubts(call) == {}


def test_doubt_follows_the_branch(call: Caller) -> None:
    think(call, "FACT", "evidence")
    think(call, "CLAIM")
    call("think_link", from_="FACT", rel="supports", to="CLAIM")
    call("branch_create", name="b")
    call("think_set_status", targets="FACT", status="retracted", ref="b")
    assert doubts(call, ref="b") == {"CLAIM": ["CLAIM", "FACT"]}
    assert doubts(call, ref="main") == {}
    call("graph_apply", branch="b", ops=[{"op": "edge_delete", "from": "FACT", "rel": "supports", "to": "CLAIM"}])
    assert doubts(call, ref="b") == {}


def test_lint_names_what_rests_on_a_fallen_card(call: Caller) -> None:
    think(call, "FACT", "evidence")
    think(call, "CLAIM")
    call("think_link", from_="FACT", rel="supports", to="CLAIM")
    call("think_set_status", targets="FACT", status="disproved")
    (error,) = call("think_lint")["errors"]
    assert (error["code"], error["path"]) == ("PREMISE_FELL", ["CLAIM", "FACT"])


pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] != pair[1])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    supports=st.lists(pairs, max_size=7),
    depends=st.lists(pairs, max_size=4),
    fallen=st.sets(st.sampled_from(NAMES), max_size=2),
)
def test_the_walk_finds_what_a_plain_search_finds(
    call: Caller, supports: list[tuple[str, str]], depends: list[tuple[str, str]], fallen: set[str]
) -> None:
    for name in NAMES:
        call(
            "graph_apply",
            ops=[
                {
                    "op": "node_upsert",
                    "id": name,
                    "type": "hypothesis",
                    "title": name,
                    "status": "retracted" if name in fallen else "open",
                }
            ],
        )
    edges = [{"from": a, "rel": "supports", "to": b} for a, b in supports] + [
        {"from": a, "rel": "depends_on", "to": b} for a, b in depends
    ]
    for old in call("graph_query")["edges"]:
        call("graph_apply", ops=[{"op": "edge_delete", "from": old["from"], "rel": old["rel"], "to": old["to"]}])
    if edges:
        call("graph_apply", ops=[{"op": "edge_upsert", **edge} for edge in edges])
    rests = {(b, a) for a, b in supports} | set(depends)
    expected = set()
    for name in NAMES:
        seen, queue = {name}, [name]
        while queue:
            at = queue.pop()
            queue += [b for a, b in rests if a == at and b not in seen]
            seen |= {b for a, b in rests if a == at}
        if (seen - {name}) & fallen:
            expected.add(name)
    found = doubts(call)
    assert set(found) == expected
    for name, path in found.items():
        assert path[0] == name and path[-1] in fallen
        assert all(step in rests for step in pairwise(path))
