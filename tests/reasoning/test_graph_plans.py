"""Reads of a large graph go through their indexes on both engines: nothing walks all nodes to find a few."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from clew.app import Clew
from clew.reasoning import graph
from clew.reasoning.branches import Branch, branch_named, create_branch
from clew.registry.context import Context
from clew.registry.session import Session

SIZE = 6_000


class Recorder:
    """Passes everything on and keeps what was read."""

    def __init__(self, tx: Any) -> None:
        self._tx = tx
        self.reads: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def all(self, sql: str, *params: Any) -> Any:
        self.reads.append((sql, params))
        return self._tx.all(sql, *params)

    def plans(self) -> list[str]:
        """How the engine runs each read of nodes and edges."""
        how = "EXPLAIN QUERY PLAN" if self._tx.engine == "sqlite" else "EXPLAIN"
        return [
            "\n".join(str(list(row.values())[-1]) for row in self._tx.all(f"{how} {sql}", *params))
            for sql, params in self.reads
            if re.search(r"FROM (node|edge)\b|FROM node_", sql)
        ]


@pytest.fixture
def ctx(clew: Clew) -> Iterator[Context]:
    with Context(clew.dispatcher, Session(), "ws", None).writing() as bound:
        yield bound


@pytest.fixture
def branch(ctx: Context) -> Branch:
    """Most nodes on main, one of its own; statistics as the engine keeps them in time."""
    main = branch_named(ctx, "main")
    ctx.tx.many(
        "INSERT INTO node (workspace, seq, branch, doc, id, type, status, deleted, ts_ms, tags, folded)"
        " VALUES ('ws', ?, ?, 'graph', ?, ?, ?, 0, 0, '[]', '')",
        [(n, main.id, f"N{n}", f"type{n % 8}", f"status{n % 10}") for n in range(1, SIZE)],
    )
    ctx.tx.many(
        "INSERT INTO node_tag (workspace, branch, doc, tag, seq) VALUES ('ws', ?, 'graph', ?, ?)",
        [(main.id, f"tag{n % 300}", n) for n in range(1, SIZE)],
    )
    ctx.tx.many(
        "INSERT INTO edge (workspace, seq, branch, doc, from_id, rel, to_id, deleted, ts_ms)"
        " VALUES ('ws', ?, ?, 'graph', ?, 'supports', ?, 0, 0)",
        [(SIZE + n, main.id, f"N{n}", f"N{n // 2}") for n in range(1, SIZE)],
    )
    ctx.ws.seq = 2 * SIZE
    made = create_branch(ctx, "x", main)
    graph.put_node(ctx, made, "graph", id="N5", type="type5")
    ctx.tx.run("ANALYZE" if ctx.tx.engine == "postgres" else "SELECT 1")
    return made


READS: dict[str, Any] = {
    "default": {},
    "deep page": {"cursor": SIZE // 2},
    "as of": {"as_of": SIZE // 2},
    "type": {"types": ["type3"]},
    "absent type": {"types": ["nope"]},
    "status": {"status": "status3"},
    "type and status": {"types": ["type3", "type4"], "status": "status4"},
    "tag": {"tags_all": ["tag7"]},
    "two tags": {"tags_all": ["tag7", "tag8"]},
    "any tag": {"tags_any": ["tag7", "tag8"]},
    "ids": {"ids": [f"N{n}" for n in range(20)]},
}


def test_nodes_and_edges_are_read_through_their_indexes(ctx: Context, branch: Branch) -> None:
    plain = ctx.ws.tx
    for filters in READS.values():
        ctx.ws.tx = recorder = Recorder(plain)  # type: ignore[assignment]
        graph.nodes(ctx, branch, "graph", **filters)
        check(recorder)
    ctx.ws.tx = recorder = Recorder(plain)  # type: ignore[assignment]
    graph.edges_among(ctx, branch, "graph", [f"N{n}" for n in range(20)], 200)
    graph.edges_at(ctx, branch, "graph", ["N7", "N8"])
    check(recorder)
    if plain.engine == "sqlite":
        assert not any("edge_order" in plan for plan in recorder.plans())


def check(recorder: Recorder) -> None:
    plans = recorder.plans()
    assert plans
    for plan in plans:
        assert not re.search(r"Seq Scan on (node|edge)|SCAN (node|edge)", plan), plan
