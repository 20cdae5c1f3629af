"""Reads of a large graph go through their indexes on both engines: nothing walks all nodes to find a few.

Which index it is must not depend on statistics: after a bulk load there are none, and later they are old.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from clew.app import Clew
from clew.reasoning import graph
from clew.reasoning.branches import Branch, branch_named, create_branch
from clew.reasoning.graph.reads import locate
from clew.reasoning.premises import suspects
from clew.reasoning.scope import Scope
from clew.registry.connection import Connection
from clew.registry.context import Context

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

    def batch(self, sql: str, rows: Sequence[Sequence[Any]]) -> Any:
        self.reads += [(sql, tuple(params)) for params in rows]
        return self._tx.batch(sql, rows)

    def one(self, sql: str, *params: Any) -> Any:
        self.reads.append((sql, params))
        return self._tx.one(sql, *params)

    def value(self, sql: str, *params: Any) -> Any:
        self.reads.append((sql, params))
        return self._tx.value(sql, *params)

    def plans(self) -> list[str]:
        """How the engine runs each read of nodes and edges."""
        how = "EXPLAIN QUERY PLAN" if self._tx.engine == "sqlite" else "EXPLAIN (GENERIC_PLAN)"
        return [
            "\n".join(str(list(row.values())[-1]) for row in self._tx.all(f"{how} {sql}", *params))
            for sql, params in self.reads
            if re.search(r"FROM (node|edge|unnest)\b|FROM node_", sql) and not sql.startswith("SELECT count")
        ]


@pytest.fixture
def ctx(clew: Clew) -> Iterator[Context]:
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as bound:
        yield bound


@pytest.fixture
def branch(ctx: Context) -> Branch:
    """Most nodes on main, one of its own."""
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
    return made


READS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("node_order", {}),
    "deep page": ("node_order", {"cursor": SIZE // 2}),
    "as of": ("node_order", {"as_of": SIZE // 2}),
    "type": ("node_type", {"types": ["type3"]}),
    "absent type": ("node_type", {"types": ["nope"]}),
    "status": ("node_status", {"status": "status3"}),
    "type and status": ("node_type_status", {"types": ["type3", "type4"], "status": "status4"}),
    "tag": ("node_tag", {"tags_all": ["tag7"]}),
    "tag and status": ("node_tag", {"tags_all": ["tag7"], "status": "status7"}),
    "two tags": ("node_tag", {"tags_all": ["tag7", "tag8"]}),
    "any tag": ("node_tag", {"tags_any": ["tag7", "tag8"]}),
    "ids": ("node_key", {"ids": [f"N{n}" for n in range(20)]}),
    "ids and type": ("node_key", {"ids": [f"N{n}" for n in range(20)], "types": ["type3"], "status": "status3"}),
}
ENTRANCES = ("node_order", "node_type", "node_status", "node_type_status", "edge_order")


def forget_statistics(ctx: Context) -> None:
    for table in ("node", "node_tag", "edge"):
        ctx.tx.all("SELECT pg_clear_relation_stats('public', ?)", table)
        ctx.tx.all(
            "SELECT pg_clear_attribute_stats('public', CAST(attrelid::regclass AS text), attname, false)"
            " FROM pg_attribute WHERE attrelid = CAST(CAST(? AS text) AS regclass) AND attnum > 0",
            table,
        )


def make_statistics(ctx: Context) -> None:
    ctx.tx.run("ANALYZE node, node_tag, edge")


def delete_most(ctx: Context) -> None:
    for table in ("node", "node_tag", "edge"):
        ctx.tx.run(f"DELETE FROM {table} WHERE seq % 50 > 0")


def test_nodes_and_edges_are_read_through_their_indexes(ctx: Context, branch: Branch) -> None:
    # On PostgreSQL the statistics at the beginning are those of whatever test came before.
    states = [forget_statistics, make_statistics] if ctx.tx.engine == "postgres" else [lambda _: None]
    for bring_about in (*states, delete_most):
        bring_about(ctx)
        check_reads(ctx, branch)


def test_rare_texts_are_looked_up_by_their_versions_however_late(ctx: Context) -> None:
    main = branch_named(ctx, "main")
    late = {"alpha": 10, "bravo": 40_000, "gamma": 3_000_000_000, "delta": 2**40 - 10}
    for name, seq in late.items():
        ctx.ws.seq = seq
        graph.put_node(ctx, main, "graph", id=name, type="note", text=f"here is {name}")
    for name in late:
        assert [node.id for node in graph.nodes(ctx, main, "graph", text=f"is {name}").nodes] == [name]


def check_reads(ctx: Context, branch: Branch) -> None:
    def read(expected: str, how: Callable[..., object], *given: Any, **filters: Any) -> None:
        check_plans(ctx, expected, lambda: how(ctx, branch, "graph", *given, **filters))

    for expected, filters in READS.values():
        read(expected, graph.nodes, **filters)
    read("edge_key", graph.edges_among, [f"N{n}" for n in range(20)], 200)
    read("edge_key", graph.edges_at, ["N7", "N8"], "out")
    read("edge_back", graph.edges_at, ["N7", "N8"], "in")
    check_plans(ctx, "node_key", lambda: graph.node(ctx, branch, "graph", "N7"))
    check_plans(ctx, "node_anywhere", lambda: locate(ctx, "N7"))
    check_plans(ctx, "edge_", lambda: graph.edge(ctx, branch, "graph", ("N7", "supports", "N3")))
    check_plans(ctx, "node_status", lambda: suspects(ctx, Scope(branch), ["N7"]))


def check_plans(ctx: Context, expected: str, read: Callable[[], object]) -> None:
    """Every link of the chain is entered by the index that is made for this read, and by no other."""
    plain = ctx.ws.tx
    ctx.ws.tx = recorder = Recorder(plain)
    read()
    ctx.ws.tx = plain
    plans = recorder.plans()
    assert plans
    for plan in plans:
        used = set(re.findall(r"(?:using|INDEX|Index Scan on) (\w+)", plan))
        assert any(name.removeprefix("sqlite_autoindex_").startswith(expected) for name in used), plan
        assert not used & ({*ENTRANCES} - {expected}), plan
        assert not re.search(r"Seq Scan on (node|edge)|SCAN (node|edge)", plan), plan
