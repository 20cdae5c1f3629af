"""Graph views: the newest version in a branch's view wins, whatever its history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clew.app import Clew
from clew.reasoning import graph
from clew.reasoning.branches import Branch, branch_named, create_branch
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.store.database import Transaction


def found(tx: Transaction, word: str) -> list[str]:
    sql = "SELECT ref FROM item JOIN item_terms ON item_terms.id = item.id WHERE terms LIKE ? ORDER BY ref"
    return [row["ref"] for row in tx.all(sql, f"%{word}%")]


@pytest.fixture
def ctx(clew: Clew) -> Iterator[Context]:
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as bound:
        yield bound


@pytest.fixture
def main(ctx: Context) -> Branch:
    return branch_named(ctx, "main")


def ids(ctx: Context, branch: Branch, **filters: object) -> list[str]:
    return [node.id for node in graph.nodes(ctx, branch, "graph", **filters).nodes]  # type: ignore[arg-type]


def test_the_newest_version_of_a_node_is_shown_once(ctx: Context, main: Branch) -> None:
    graph.put_node(ctx, main, "graph", id="A", type="note", text="old")
    graph.put_node(ctx, main, "graph", id="B", type="note")
    newest = graph.put_node(ctx, main, "graph", id="A", type="note", text="new")
    assert graph.node(ctx, main, "graph", "A") == newest
    assert ids(ctx, main) == ["A", "B"]


def test_a_branch_keeps_its_snapshot_while_the_base_moves_on(ctx: Context, main: Branch) -> None:
    graph.put_node(ctx, main, "graph", id="A", type="note", text="old")
    branch = create_branch(ctx, "x", main)
    graph.put_node(ctx, main, "graph", id="A", type="note", text="new")
    graph.put_node(ctx, main, "graph", id="B", type="note")
    shown = graph.nodes(ctx, branch, "graph").nodes
    assert [(node.id, node.text) for node in shown] == [("A", "old")]


def test_a_deletion_on_a_branch_hides_the_inherited_node_and_its_edges_there_only(ctx: Context, main: Branch) -> None:
    graph.put_node(ctx, main, "graph", id="A", type="note")
    graph.put_node(ctx, main, "graph", id="B", type="note")
    graph.put_edge(ctx, main, "graph", "A", "supports", "B")
    branch = create_branch(ctx, "x", main)
    _, edges = graph.drop_node(ctx, branch, "graph", "A")
    assert [edge.key for edge in edges] == [("A", "supports", "B")]
    assert ids(ctx, branch) == ["B"]
    assert ids(ctx, branch, include_deleted=True) == ["A", "B"]
    assert graph.edges_at(ctx, branch, "graph", ["B"]) == []
    assert ids(ctx, main) == ["B", "A"]
    assert len(graph.edges_among(ctx, main, "graph", ["A", "B"], 10)) == 1


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"types": ["test"]}, ["C"]),
        ({"types": ["test", "note"], "status": "open"}, ["C", "A"]),
        ({"status": "done"}, ["B"]),
        ({"tags_all": ["x", "y"]}, ["B"]),
        ({"tags_any": ["y", "z"]}, ["C", "B"]),
        ({"text": "ÄPFEL"}, ["B"]),
        ({"ids": ["C", "A", "nope"]}, ["C", "A"]),
        ({"ids": []}, []),
        ({"types": []}, []),
        ({"tags_any": ["y", "z"], "types": ["note"], "status": "done", "text": "und"}, ["B"]),
    ],
)
def test_filters_narrow_the_view(ctx: Context, main: Branch, filters: dict[str, object], expected: list[str]) -> None:
    graph.put_node(ctx, main, "graph", id="A", type="note", status="open", tags=["x"])
    graph.put_node(ctx, main, "graph", id="B", type="note", status="done", tags=["X", "y"], text="Äpfel und Birnen")
    branch = create_branch(ctx, "b", main)
    graph.put_node(ctx, branch, "graph", id="C", type="test", status="open", tags=["z"])
    assert ids(ctx, branch, **filters) == expected


def test_as_of_shows_the_state_after_that_seq(ctx: Context, main: Branch) -> None:
    first = graph.put_node(ctx, main, "graph", id="A", type="note", text="1")
    graph.put_node(ctx, main, "graph", id="A", type="note", text="2")
    graph.drop_node(ctx, main, "graph", "A")
    assert graph.nodes(ctx, main, "graph", as_of=first.last_seq).nodes == [first]
    assert ids(ctx, main) == []


def test_a_card_is_found_as_its_newest_live_version_on_any_branch(ctx: Context, main: Branch) -> None:
    graph.put_node(ctx, main, "graph", id="CARD-1", type="note", text="alpha")
    branch = create_branch(ctx, "x", main)
    graph.put_node(ctx, branch, "graph", id="CARD-1", type="note", text="beta")
    assert found(ctx.tx, "beta") == ["CARD-1"]
    graph.drop_node(ctx, branch, "graph", "CARD-1")
    assert found(ctx.tx, "beta") == []
    assert found(ctx.tx, "alpha") == ["CARD-1"]
    graph.drop_node(ctx, main, "graph", "CARD-1")
    assert found(ctx.tx, "alpha") == []
